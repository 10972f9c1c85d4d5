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
	soakFor     = flag.Duration("soak.for", 0, "how long TestSoak makes faults, which it does not without; its seed is the variable SEED")
	soakServers = flag.Int("soak.servers", 1, "how many servers TestSoak uses: 1, or 3 or 5, which are a cluster")
	soakAccess  = flag.String("soak.access", "", "who may do what on the servers of TestSoak: keys, or open; drawn if it is empty")
)

// Run after run comes to the exact total under a random mixture of faults, beside other runs of the same
// server that come, stop and die, and beside a hostile client. When the faults stop, the last run and all
// others complete too, except those that were cancelled. scripts/soak runs it.
func TestSoak(t *testing.T) {
	if *soakFor == 0 {
		t.Skip("takes minutes: scripts/soak runs it")
	}
	s := startSoak(t)
	// On a slow machine there are few turns, and not every fault is possible at first.
	for deadline := time.Now().Add(*soakFor); time.Now().Before(deadline) || len(s.struck) == 0; {
		s.fault()
		s.hostile.attack()
		elapse(t, time.Duration(s.rng.IntN(1000))*time.Millisecond)
		if s.coordinator.HasEnded() {
			s.next()
		}
		s.checkRivals()
		s.checkWorkers()
	}
	t.Logf("exact runs by the end of %v of faults: %d, and %d rivals", *soakFor, s.runs, s.exactRivals)
	t.Logf("faults: %s", tally(s.struck))
	t.Logf("messages of a hostile client, with %s: %s", s.accessText(), tally(s.hostile.sent))
	t.Logf("of them denied: %s", tally(s.hostile.deniedByKind()))
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
	s.endWatch()
	t.Logf("exact runs in all: %d, and %d rivals; the last ended %v after the faults",
		s.runs, s.exactRivals, time.Since(healed).Round(time.Second/10))
}

// soak is a cluster, its main run, and its faults so far.
type soak struct {
	soakRun
	cluster     *servers // nil with one server
	keys        *cluster // of the servers, or nil if they are open to everybody
	hostile     *hostile
	watcher     *clitest.Process // of the main run
	away        *node            // of the cluster, that was killed; or nil
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
	slot    int // its key
}

func startSoak(t *testing.T) *soak {
	t.Helper()
	s := &soak{struck: make(map[string]int)}
	s.soakRun = newSoakRun(scene{t: t, address: testkit.Address(t), store: t.TempDir()}, testkit.Rand(t))
	s.makeKeys()
	if *soakServers > 1 {
		s.cluster = startServers(t, *soakServers, s.serverFlags...)
		s.server.url = s.cluster.url
		s.flags = []string{"--replicas", fmt.Sprint(*soakServers)}
	} else {
		s.restartServer()
	}
	s.connect = s.as("coordinator")
	s.view = inspect(t, s.url(), s.userOptions("coordinator")...)
	s.heard = listen(t, s.view)
	for slot := range soakWorkers {
		s.workers = append(s.workers, s.worker(slot))
	}
	s.hostile = startHostile(s)
	s.begin()
	return s
}

// soakWorkers is how many workers count at once.
const soakWorkers = 3

// worker starts a worker with the key of that slot.
func (s *soak) worker(slot int, args ...string) *soakWorker {
	s.t.Helper()
	flags := slices.Concat([]string{"--threads", "1"}, s.as(workerName(slot)), args)
	return &soakWorker{Process: start(s.t, "worker", flags...), slot: slot}
}

// begin starts a coordinator on a new main run. Where workers have keys, two of them must agree on each
// task of every other run.
func (s *soak) begin() {
	s.t.Helper()
	s.endWatch()
	flags, side := []string{"--depth", "3"}, 14+s.rng.IntN(3)
	if s.keys != nil && s.rng.IntN(2) == 0 {
		flags, side = append(flags, "--redundancy", "2"), side-1
	}
	s.count(side, flags...)
	s.awaitRun()
	s.watch()
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
	case s.hostile.hasEnded(&s.soakRun):
		s.begin()
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
	s.hostile.leave()
	s.worker(soakWorkers, "--kernel", "auto")
	s.checkRivals()
	s.resumeRivals()
}

// tally lists how often each of some things happened.
func tally(counts map[string]int) string {
	var list []string
	sum := 0
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		list = append(list, fmt.Sprintf("%s %d", name, counts[name]))
		sum += counts[name]
	}
	return fmt.Sprintf("%d: %s", sum, strings.Join(list, ", "))
}
