//go:build unix

package main_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

var soakFor = flag.Duration("soak.for", 10*time.Second, "how long TestSoak makes faults; its seed is the variable SEED")

// Run after run comes to the exact total under a random mixture of faults. When they
// stop, the last run ends too.
func TestSoak(t *testing.T) {
	t.Parallel()
	s := startSoak(t)
	for deadline := time.Now().Add(*soakFor); time.Now().Before(deadline); {
		s.fault()
		elapse(t, time.Duration(s.rng.IntN(1000))*time.Millisecond)
		if s.ended() {
			s.judge()
		}
	}
	t.Logf("%d runs were exact by the end of %v of faults: %s", s.runs, *soakFor, s.tally())
	if len(s.struck) == 0 {
		t.Error("no fault struck")
	}
	s.calm()
	for runs, resumed := s.runs, 0; s.runs == runs; resumed++ {
		if resumed > 3 {
			t.Fatalf("the last run was incomplete %d times without faults", resumed)
		}
		select {
		case <-s.coordinator.ended:
			s.judge()
		case <-time.After(3 * patience):
			t.Fatal("the last run does not end")
		}
	}
	s.coordinator.kill() // that of a run more
	t.Logf("%d runs were exact", s.runs)
}

// soak is a cluster, and what was done to it.
type soak struct {
	scene
	rng     *rand.Rand
	workers []*soakWorker
	heard   func() []*nats.Msg
	results []*nats.Msg // of all runs
	n       int         // side of the board
	args    []string    // of count
	struck  map[string]int
	runs    int // that were exact
}

type soakWorker struct {
	*process
	stopped bool
}

func startSoak(t *testing.T) *soak {
	t.Helper()
	s := &soak{rng: seeded(t), struck: make(map[string]int)}
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
	return &soakWorker{process: startWorker(s.t, s.server.url)}
}

// begin starts a coordinator on a new run.
func (s *soak) begin() {
	s.t.Helper()
	s.n = 14 + s.rng.IntN(3)
	s.args = []string{fmt.Sprint(s.n), "--depth", "3", "--nats", s.server.url}
	s.coordinator = startCount(s.t, s.args...)
	s.settle()
}

// goOn starts another coordinator on the run, by one of the two ways.
func (s *soak) goOn() {
	s.t.Helper()
	data := s.coordinator.data()
	args := append([]string{"count"}, s.args...)
	if s.run != "" && s.rng.IntN(2) == 0 {
		args = []string{"resume", s.run, "--nats", s.server.url}
	}
	s.coordinator = start(s.t, "coordinator", append(args, "--data", data)...)
}

// settle waits until the coordinator has its run, or has ended.
func (s *soak) settle() {
	s.t.Helper()
	for deadline := time.After(patience); ; {
		grown := s.coordinator.log.grown()
		if s.coordinator.lines(counting) > 0 {
			s.run = s.coordinator.await(counting)
			return
		}
		select {
		case <-grown:
		case <-s.coordinator.ended:
			return
		case <-deadline:
			s.t.Fatalf("the coordinator has not begun after %v", patience)
		}
	}
}

func (s *soak) ended() bool {
	select {
	case <-s.coordinator.ended:
		return true
	default:
		return false
	}
}

// judge checks how the coordinator ended, and goes on: with the run if it is incomplete,
// else with another.
func (s *soak) judge() {
	s.t.Helper()
	switch code := s.coordinator.cmd.ProcessState.ExitCode(); code {
	case 0:
		s.coordinator.expectTotal(known(s.n))
		s.runs++
		s.run = ""
		s.begin()
	case 4:
		if out := s.coordinator.stdout.String(); out != "" || s.coordinator.lines(`"exit":4,.*the run is incomplete`) != 1 {
			s.t.Fatalf("an incomplete run printed %q, and said why in %d lines", out, s.coordinator.lines(`"exit":4`))
		}
		s.struck["incomplete run"]++
		s.goOn()
		s.settle()
	default:
		s.t.Fatalf("a coordinator ended with exit code %d", code)
	}
}

// calm ends all faults that last, and lets the run be finished soon.
func (s *soak) calm() {
	s.t.Helper()
	for _, w := range s.workers {
		w.signal(syscall.SIGCONT)
	}
	startWorker(s.t, s.server.url, "--kernel", "auto")
}

// fault does one thing to the cluster.
func (s *soak) fault() {
	s.t.Helper()
	faults := []struct {
		name   string
		weight int
		do     func() (struck bool)
	}{
		{"worker killed", 4, s.killWorker},
		{"worker stopped or let go", 4, s.stopWorker},
		{"coordinator killed", 4, s.killCoordinator},
		{"server killed", 2, func() bool { return s.killServer(false) }},
		{"server killed, store wiped", 1, func() bool { return s.killServer(true) }},
		{"deleted NQ_TASKS", 1, s.remove(func(ctx context.Context) error { return s.view.js.DeleteStream(ctx, "NQ_TASKS") })},
		{"deleted NQ_RESULTS", 1, s.remove(func(ctx context.Context) error { return s.view.js.DeleteStream(ctx, "NQ_RESULTS") })},
		{"deleted consumer", 1, s.remove(func(ctx context.Context) error { return s.view.js.DeleteConsumer(ctx, "NQ_TASKS", "workers") })},
		{"deleted bucket", 1, s.remove(func(ctx context.Context) error { return s.view.js.DeleteKeyValue(ctx, "nq_runs") })},
		{"garbage", 2, s.litter},
		{"results repeated", 2, s.repeat},
	}
	sum := 0
	for _, f := range faults {
		sum += f.weight
	}
	pick := s.rng.IntN(sum)
	for _, f := range faults {
		if pick -= f.weight; pick < 0 {
			if f.do() {
				s.struck[f.name]++
			}
			return
		}
	}
}

func (s *soak) killWorker() bool {
	s.t.Helper()
	i := s.rng.IntN(len(s.workers))
	s.workers[i].kill()
	s.workers[i] = s.worker()
	return true
}

func (s *soak) stopWorker() bool {
	s.t.Helper()
	w := s.workers[s.rng.IntN(len(s.workers))]
	if w.stopped {
		w.signal(syscall.SIGCONT)
	} else {
		w.signal(syscall.SIGSTOP)
	}
	w.stopped = !w.stopped
	return true
}

// killCoordinator kills the coordinator, and its successors too, perhaps: in the middle
// of their start. What is accepted never becomes less.
func (s *soak) killCoordinator() bool {
	s.t.Helper()
	var before uint64
	for {
		_ = s.coordinator.cmd.Process.Kill() // it may have ended by itself
		<-s.coordinator.ended
		if s.coordinator.cmd.ProcessState.ExitCode() >= 0 {
			return false // it is judged as it ended
		}
		if s.run != "" {
			now := s.accepted()
			if now < before {
				s.t.Errorf("%d tasks were accepted, then %d", before, now)
			}
			before = now
		}
		s.goOn()
		if s.rng.IntN(3) > 0 {
			s.settle()
			return true
		}
		elapse(s.t, time.Duration(s.rng.IntN(200))*time.Millisecond)
	}
}

func (s *soak) killServer(wiped bool) bool {
	s.t.Helper()
	s.server.kill()
	if wiped {
		s.wipe()
	}
	elapse(s.t, time.Duration(s.rng.IntN(500))*time.Millisecond)
	s.restartServer()
	return true
}

// remove deletes something on the server, where it is there.
func (s *soak) remove(remove func(ctx context.Context) error) func() bool {
	return func() bool {
		ctx, cancel := context.WithTimeout(s.t.Context(), time.Second)
		defer cancel()
		return remove(ctx) == nil
	}
}

// litter publishes what can't be read.
func (s *soak) litter() bool {
	garbage := make([]byte, s.rng.IntN(200))
	for i := range garbage {
		garbage[i] = byte(s.rng.Uint32())
	}
	for _, subject := range []string{"nq.task.", "nq.result.", "nq.hb.", "nq.ctl."} {
		if s.view.conn.Publish(subject+"n14-garbage", garbage) != nil || s.run != "" && s.view.conn.Publish(subject+s.run, garbage) != nil {
			return false
		}
	}
	return true
}

// repeat publishes some results again that this run and others had.
func (s *soak) repeat() bool {
	if !s.view.conn.IsConnected() {
		return false
	}
	for _, m := range s.heard() {
		if strings.HasPrefix(m.Subject, "nq.result.") {
			s.results = append(s.results, m)
		}
	}
	if len(s.results) == 0 {
		return false
	}
	for range 100 {
		m := s.results[s.rng.IntN(len(s.results))]
		if s.view.conn.Publish(m.Subject, m.Data) != nil {
			return false
		}
	}
	return true
}

// tally says how often each fault struck.
func (s *soak) tally() string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(s.struck)) {
		list = append(list, fmt.Sprintf("%s %d", name, s.struck[name]))
	}
	return strings.Join(list, ", ")
}
