//go:build unix

package main_test

import (
	"fmt"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"nqueens/pkg/cli/clitest"
	"nqueens/pkg/ledger"
	"nqueens/pkg/testkit"
)

// The tasks of workers that are killed one after another go to other workers.
func TestTotalIsExactAfterManyWorkersAreKilled(t *testing.T) {
	long(t)
	const braked = 1
	deaths := 3
	if testkit.Full() {
		deaths = 12
	}
	rng := testkit.Rand(t)
	s := startScene(t, "17", "--depth", "3")
	release := brake(t, join(t, s.server.url), s.run) // it can't end before the last death
	workers := []*clitest.Process{startWorker(t, s.server.url), startWorker(t, s.server.url)}
	for range deaths {
		s.progress(1 + rng.IntN(30))
		s.view.eventually("both workers hold tasks, or the killed ones do", func() bool { _, held := s.view.tasks(); return held >= braked+len(workers) })
		i := rng.IntN(len(workers))
		workers[i].Kill()
		workers[i] = startWorker(t, s.server.url)
	}
	release()
	for _, worker := range workers { // the rest would take them long
		worker.Await(`"(worker starts)"`)
		worker.Signal(syscall.SIGTERM)
		worker.ExpectExit(0)
	}
	startWorker(t, s.server.url, "--kernel", "auto")
	s.coordinator.ExpectTotal(known(17))
}

// A coordinator that is killed many times in one run, at random moments, loses nothing that
// it has accepted, and comes to the exact total: with a separate server, and with the
// embedded one, which dies with it.
func TestKilledCoordinatorLosesNothingAccepted(t *testing.T) {
	long(t)
	for _, embedded := range testkit.Sample(t, 1, []bool{false, true}) {
		t.Run(fmt.Sprintf("embedded server %v", embedded), func(t *testing.T) {
			t.Parallel()
			if embedded {
				address := testkit.Address(t)
				killCoordinators(t, "nats://"+address, "--workers", "0", "--listen", address)
				return
			}
			server := startServer(t)
			killCoordinators(t, server.url, "--nats", server.url)
		})
	}
}

func killCoordinators(t *testing.T, url string, flags ...string) {
	deaths := 5
	if testkit.Full() {
		deaths = 20
	}
	rng := testkit.Rand(t)
	count := append([]string{"14", "--depth", "4", "--symmetry", "none"}, flags...)
	coordinator := startCount(t, count...)
	data := coordinator.Flag("--data")
	run := coordinator.Await(counting)
	s := scene{t: t, coordinator: coordinator, run: run, view: inspect(t, url)}
	work := startGated(t, url, 1)
	var before uint64
	grown := 0
	for death := range deaths {
		work.during(func() {
			if death%2 == 0 || rng.IntN(2) == 0 {
				s.coordinator.Await(counting)
				s.progress(1 + rng.IntN(20))
				s.awaitAccepted(before)
			} else {
				elapse(t, time.Duration(rng.IntN(500))*time.Millisecond) // it may not have the run yet
			}
			s.coordinator.Kill()
		})
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
	work.open()
	s.coordinator.ExpectTotal(known(14))
	if runs, err := filepath.Glob(filepath.Join(data, "*", ledger.File)); err != nil || len(runs) != 1 {
		t.Errorf("the ledgers are %q (error %v), want one", runs, err)
	}
}

// The total is exact after the server is killed and started again, with its store or
// without it.
func TestTotalIsExactAfterTheServerIsKilled(t *testing.T) {
	long(t)
	t.Run("store kept", func(t *testing.T) {
		t.Parallel()
		rng := testkit.Rand(t)
		s := startScene(t, "14", "--depth", "4")
		work := startGated(t, s.server.url, 2)
		for range 3 {
			work.during(func() { s.progress(1 + rng.IntN(50)) })
			s.server.Kill()
			s.restartServer()
		}
		s.coordinator.Await(`(reconnected)`)
		work.open()
		s.coordinator.ExpectTotal(known(14))
	})
	t.Run("store wiped", func(t *testing.T) {
		t.Parallel()
		rng := testkit.Rand(t)
		s := startScene(t, "14", "--depth", "3")
		work := startGated(t, s.server.url, 2)
		work.during(func() { s.progress(50 + rng.IntN(50)) })
		s.view.eventually("tasks wait in the queue", func() bool { waiting, _ := s.view.tasks(); return waiting > 0 })
		done := s.done()
		s.server.Kill()
		s.wipe()
		s.restartServer()
		left := -1
		s.view.eventually("the streams are there again", func() bool { left = s.done(); return left >= 0 })
		if left >= done {
			t.Errorf("the server has %d results, after %d before it lost its store", left, done)
		}
		work.open()
		s.coordinator.ExpectTotal(known(14))
		if s.coordinator.Field("run ended", "republished") == 0 {
			t.Error("no task was published again, although the queue was lost")
		}
	})
}
