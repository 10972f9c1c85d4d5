//go:build unix

package main_test

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"nqueens/pkg/cli/clitest"
	"nqueens/pkg/testkit"

	"github.com/nats-io/nats.go"
)

var (
	soakFor     = flag.Duration("soak.for", 10*time.Second, "how long TestSoak makes faults; its seed is the variable SEED")
	soakServers = flag.Int("soak.servers", 1, "how many servers TestSoak uses: 1, or 3 or 5, which are a cluster")
)

// Run after run comes to the exact total under a random mixture of faults, and beside other
// runs of the same server that come, stop and die. When the faults stop, the last run and all
// others complete too, except those that were cancelled.
func TestSoak(t *testing.T) {
	long(t)
	s := startSoak(t)
	for deadline := time.Now().Add(*soakFor); time.Now().Before(deadline); {
		s.fault()
		elapse(t, time.Duration(s.rng.IntN(1000))*time.Millisecond)
		if s.coordinator.HasEnded() {
			s.next()
		}
		s.checkRivals()
	}
	t.Logf("exact runs by the end of %v of faults: %d, and %d rivals; faults: %s", *soakFor, s.runs, s.exactRivals, s.tally())
	if len(s.struck) == 0 {
		t.Error("no fault struck")
	}
	healed := time.Now()
	s.heal()
	for runs, resumed := s.runs, 0; s.runs == runs; resumed++ {
		if resumed > 3 {
			t.Fatalf("the last run was incomplete %d times without faults", resumed)
		}
		s.coordinator.AwaitEndOr("its end", func() bool { return false })
		s.next()
	}
	s.coordinator.Kill() // it has started another run
	s.endRivals()
	t.Logf("exact runs in all: %d, and %d rivals; the last ended %v after the faults",
		s.runs, s.exactRivals, time.Since(healed).Round(time.Second/10))
}

// soak is a cluster, its main run, and its faults so far.
type soak struct {
	soakRun
	cluster     *servers // nil with one server
	away        *node    // of the cluster, that was killed; or nil
	workers     []*soakWorker
	rivals      []*rival // that are not over
	heard       func() []*nats.Msg
	results     []*nats.Msg    // of all runs
	struck      map[string]int // by name of the fault
	runs        int            // that were exact, without rivals
	exactRivals int
}

type soakWorker struct {
	*clitest.Process
	stopped bool
}

func startSoak(t *testing.T) *soak {
	t.Helper()
	s := &soak{struck: make(map[string]int)}
	s.soakRun = newSoakRun(scene{t: t, address: testkit.Address(t), store: t.TempDir()}, testkit.Rand(t))
	if *soakServers > 1 {
		s.cluster = startServers(t, *soakServers)
		s.server.url = s.cluster.url
		s.flags = []string{"--replicas", fmt.Sprint(*soakServers)}
	} else {
		s.restartServer()
	}
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

// begin starts a coordinator on a new main run.
func (s *soak) begin() {
	s.t.Helper()
	s.count(14+s.rng.IntN(3), "--depth", "3")
	s.awaitRun()
}

// next checks how the coordinator ended, and starts another: of the same run if that is
// incomplete, else of a new one.
func (s *soak) next() {
	s.t.Helper()
	switch code := s.coordinator.ExitCode(); {
	case code == 0:
		s.coordinator.ExpectTotal(known(s.n))
		s.runs++
		s.begin()
	case s.couldNotStart():
		s.restartNode()
		s.resume()
		s.awaitRun()
	case code == 4:
		s.expectIncomplete()
		s.struck["incomplete run"]++
		s.resume()
		s.awaitRun()
	default:
		s.t.Fatalf("a coordinator ended with exit code %d", code)
	}
}

// heal ends all faults that last, and speeds the runs up.
func (s *soak) heal() {
	s.t.Helper()
	s.restartNode()
	for _, w := range s.workers {
		w.Signal(syscall.SIGCONT)
	}
	startWorker(s.t, s.server.url, "--kernel", "auto")
	s.checkRivals()
	s.resumeRivals()
}

// tally lists how often each fault struck.
func (s *soak) tally() string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(s.struck)) {
		list = append(list, fmt.Sprintf("%s %d", name, s.struck[name]))
	}
	return strings.Join(list, ", ")
}
