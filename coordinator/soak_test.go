//go:build unix

package main_test

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"nqueens/pkg/cli/clitest"
	"nqueens/pkg/testkit"

	"github.com/nats-io/nats.go"
)

var soakFor = flag.Duration("soak.for", 10*time.Second, "how long TestSoak makes faults; its seed is the variable SEED")

// Run after run comes to the exact total under a random mixture of faults. When the faults
// stop, the last run completes too.
func TestSoak(t *testing.T) {
	long(t)
	s := startSoak(t)
	for deadline := time.Now().Add(*soakFor); time.Now().Before(deadline); {
		s.fault()
		elapse(t, time.Duration(s.rng.IntN(1000))*time.Millisecond)
		if s.coordinator.HasEnded() {
			s.next()
		}
	}
	t.Logf("exact runs by the end of %v of faults: %d; faults: %s", *soakFor, s.runs, s.tally())
	if len(s.struck) == 0 {
		t.Error("no fault struck")
	}
	s.heal()
	for runs, resumed := s.runs, 0; s.runs == runs; resumed++ {
		if resumed > 3 {
			t.Fatalf("the last run was incomplete %d times without faults", resumed)
		}
		s.coordinator.AwaitEndOr("its end", func() bool { return false })
		s.next()
	}
	s.coordinator.Kill() // it has started another run
	t.Logf("exact runs in all: %d", s.runs)
}

// soak is a cluster and its faults so far.
type soak struct {
	scene
	rng     *rand.Rand
	workers []*soakWorker
	heard   func() []*nats.Msg
	results []*nats.Msg    // of all runs
	n       int            // side of the board
	args    []string       // of count
	struck  map[string]int // by name of the fault
	runs    int            // that were exact
}

type soakWorker struct {
	*clitest.Process
	stopped bool
}

func startSoak(t *testing.T) *soak {
	t.Helper()
	s := &soak{rng: testkit.Rand(t), struck: make(map[string]int)}
	s.scene = scene{t: t, address: freeAddress(t), store: t.TempDir()}
	s.restartServer()
	s.view = inspect(t, s.server.url)
	s.heard = listen(t, s.view)
	for range 3 {
		s.workers = append(s.workers, s.worker())
	}
	s.begin()
	return s
}

func (s *soak) worker() *soakWorker {
	s.t.Helper()
	return &soakWorker{Process: startWorker(s.t, s.server.url)}
}

// begin starts a coordinator on a new run.
func (s *soak) begin() {
	s.t.Helper()
	s.n = 14 + s.rng.IntN(3)
	s.args = []string{fmt.Sprint(s.n), "--depth", "3", "--nats", s.server.url}
	s.coordinator = startCount(s.t, s.args...)
	s.awaitRun()
}

// resume starts another coordinator of the run, by count or by resume.
func (s *soak) resume() {
	s.t.Helper()
	data := s.coordinator.Flag("--data")
	args := append([]string{"count"}, s.args...)
	if s.run != "" && s.rng.IntN(2) == 0 {
		args = []string{"resume", s.run, "--nats", s.server.url}
	}
	s.coordinator = start(s.t, "coordinator", append(args, "--data", data)...)
}

// awaitRun waits until the coordinator has its run, or has ended.
func (s *soak) awaitRun() {
	s.t.Helper()
	if s.coordinator.AwaitEndOr(counting, func() bool { return s.coordinator.Lines(counting) > 0 }) {
		s.run = s.coordinator.Await(counting)
	}
}

// next checks how the coordinator ended, and starts another: of the same run if that is
// incomplete, else of a new one.
func (s *soak) next() {
	s.t.Helper()
	switch code := s.coordinator.ExitCode(); code {
	case 0:
		s.coordinator.ExpectTotal(known(s.n))
		s.runs++
		s.run = ""
		s.begin()
	case 4:
		if out := s.coordinator.Stdout(); out != "" || s.coordinator.Lines(`"exit":4,.*the run is incomplete`) != 1 {
			s.t.Fatalf("an incomplete run printed %q, and has %d lines of exit 4", out, s.coordinator.Lines(`"exit":4`))
		}
		s.struck["incomplete run"]++
		s.resume()
		s.awaitRun()
	default:
		s.t.Fatalf("a coordinator ended with exit code %d", code)
	}
}

// heal ends all faults that last, and speeds the run up.
func (s *soak) heal() {
	s.t.Helper()
	for _, w := range s.workers {
		w.Signal(syscall.SIGCONT)
	}
	startWorker(s.t, s.server.url, "--kernel", "auto")
}

// tally lists how often each fault struck.
func (s *soak) tally() string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(s.struck)) {
		list = append(list, fmt.Sprintf("%s %d", name, s.struck[name]))
	}
	return strings.Join(list, ", ")
}
