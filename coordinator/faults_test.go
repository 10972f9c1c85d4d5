//go:build unix

package main_test

import (
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"nqueens/pkg/cli/clitest"
	"nqueens/pkg/ledger"
	"nqueens/pkg/testkit"
)

// Workers that are killed again and again, in the middle of tasks, cost time, and
// nothing else.
func TestWorkersKilledAgainAndAgain(t *testing.T) {
	t.Parallel()
	const tasks, deaths = 1118, 12
	rng := testkit.Rand(t)
	s := startScene(t, "16", "--depth", "3")
	workers := []*clitest.Process{startWorker(t, s.server.url), startWorker(t, s.server.url)}
	for range deaths {
		s.progress(1 + rng.IntN(30))
		i := rng.IntN(len(workers))
		workers[i].Kill()
		workers[i] = startWorker(t, s.server.url)
	}
	if done := s.done(); done >= tasks {
		t.Errorf("%d of %d tasks were done when the last worker was killed", done, tasks)
	}
	if _, held := s.view.tasks(); held < deaths/2 {
		t.Errorf("%d tasks are held, although %d workers were killed with tasks in their hands", held, deaths)
	}
	startWorker(t, s.server.url, "--kernel", "auto")
	s.coordinator.ExpectTotal(known(16))
}

// A coordinator that is killed twenty times in one run, at any moment, loses nothing
// that it has accepted, and comes to the exact total: with a server that goes on, and
// with its own, which dies with it.
func TestCoordinatorKilledTwentyTimes(t *testing.T) {
	t.Parallel()
	t.Run("outside server", func(t *testing.T) {
		t.Parallel()
		server := startServer(t)
		killTwentyTimes(t, server.url, "--nats", server.url)
	})
	t.Run("embedded server", func(t *testing.T) {
		t.Parallel()
		address := freeAddress(t)
		killTwentyTimes(t, "nats://"+address, "--workers", "0", "--listen", address)
	})
}

func killTwentyTimes(t *testing.T, url string, flags ...string) {
	const deaths = 20
	rng := testkit.Rand(t)
	count := append([]string{"16", "--depth", "3", "--symmetry", "none"}, flags...)
	coordinator := startCount(t, count...)
	data := coordinator.Flag("--data")
	run := coordinator.Await(counting)
	worker := startWorker(t, url)
	s := scene{t: t, coordinator: coordinator, run: run, view: inspect(t, url)}
	var before uint64
	grown := 0
	for range deaths {
		if rng.IntN(4) > 0 {
			s.coordinator.Await(counting)
			s.progress(1 + rng.IntN(20))
		} else {
			elapse(t, time.Duration(rng.IntN(500))*time.Millisecond) // it may not have the run yet
		}
		s.coordinator.Kill()
		now := s.accepted()
		if now < before {
			t.Errorf("%d tasks were accepted, then %d", before, now)
		}
		if now > before {
			grown++
		}
		before = now
		args := append([]string{"resume", run}, flags...)
		if rng.IntN(2) == 0 {
			args = append([]string{"count"}, count...)
		}
		s.coordinator = start(t, "coordinator", append(args, "--data", data)...)
	}
	if grown < deaths/3 {
		t.Errorf("of %d coordinators, %d accepted results before they were killed: it shows too little", deaths, grown)
	}
	s.coordinator.Await(counting)
	if got := s.coordinator.Field("counting", "done"); uint64(got) != before {
		t.Errorf("the last coordinator begins with %d tasks, want %d", got, before)
	}
	worker.Kill()
	startWorker(t, url, "--kernel", "auto", "--threads", "2")
	s.coordinator.ExpectTotal(known(16))
	if runs, err := filepath.Glob(filepath.Join(data, "*", ledger.File)); err != nil || len(runs) != 1 {
		t.Errorf("the ledgers are %q (error %v), want one", runs, err)
	}
}

// A server that is killed and started again costs time, and nothing else, whether it
// still has its store or not.
func TestKilledServer(t *testing.T) {
	t.Parallel()
	t.Run("store kept", func(t *testing.T) {
		t.Parallel()
		const tasks = 1118
		rng := testkit.Rand(t)
		s := startScene(t, "16", "--depth", "3")
		startWorker(t, s.server.url, "--threads", "2")
		for range 3 {
			if done := s.progress(1 + rng.IntN(100)); done >= tasks {
				t.Fatal("the run was too fast for the server to be killed in the middle")
			}
			s.server.Kill()
			s.restartServer()
		}
		s.coordinator.Await(`(reconnected)`)
		s.coordinator.ExpectTotal(known(16))
	})
	t.Run("store wiped", func(t *testing.T) {
		t.Parallel()
		rng := testkit.Rand(t)
		s := startScene(t, "15", "--depth", "3")
		startWorker(t, s.server.url, "--threads", "2")
		done := s.progress(100 + rng.IntN(100))
		s.server.Kill()
		s.wipe()
		s.restartServer()
		left := -1
		s.view.eventually("the streams are there again", func() bool { left = s.done(); return left >= 0 })
		if left >= done {
			t.Errorf("the server has %d results, after %d before it lost its store", left, done)
		}
		s.coordinator.ExpectTotal(known(15))
		if s.coordinator.Field("run ended", "repeated") == 0 {
			t.Error("no task was published again, although the queue was lost")
		}
	})
}

// When the server and the coordinator die, or all there is, the run goes on with what
// was accepted, and with the store or without it comes to the exact total.
func TestEverythingKilled(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ workers, wiped bool }{
		"server and coordinator":            {},
		"everything":                        {workers: true},
		"everything, and the store is lost": {workers: true, wiped: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const tasks = 1118
			rng := testkit.Rand(t)
			s := startScene(t, "16", "--depth", "3")
			workers := []*clitest.Process{startWorker(t, s.server.url), startWorker(t, s.server.url)}
			if done := s.progress(100 + rng.IntN(200)); done >= tasks {
				t.Fatal("the run was too fast to be killed in the middle")
			}
			victims := []*clitest.Process{s.server.Process, s.coordinator}
			if c.workers {
				victims = append(victims, workers...)
			}
			shuffle(rng, victims)
			for _, p := range victims {
				p.Kill()
			}
			accepted := s.accepted()
			if accepted == 0 {
				t.Error("nothing was accepted before: it shows too little")
			}
			if c.wiped {
				s.wipe()
			}
			s.restartServer()
			s.resume()
			if got := s.coordinator.Field("counting", "done"); uint64(got) != accepted {
				t.Errorf("the coordinator goes on with %d tasks, want %d", got, accepted)
			}
			startWorker(t, s.server.url, "--kernel", "auto")
			s.coordinator.ExpectTotal(known(16))
		})
	}
}

func shuffle[T any](rng *rand.Rand, list []T) {
	rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
}
