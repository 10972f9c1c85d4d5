package agreement_test

import (
	"testing"
	"time"

	"nqueens/pkg/coordinator/agreement"
	"nqueens/pkg/coordinator/memledger"
	"nqueens/pkg/run"
)

// scenario plays an Agreement with a ledger in memory by single events.
type scenario struct{ *life }

// newScenario begins a run. Where the config says nothing, its redundancy is 1 and its patience 30 seconds.
func newScenario(t *testing.T, tasks uint64, c agreement.Config) *scenario {
	c.Manifest = lifeManifest(tasks)
	c.Redundancy = max(c.Redundancy, 1)
	if c.Patience == 0 {
		c.Patience = 30 * time.Second
	}
	y := &life{t: t, now: time.Unix(0, 0), cfg: c, queue: make(map[uint64]bool), dead: make(map[uint64]bool)}
	y.l, y.a = memledger.New(int(tasks), c.Redundancy), agreement.New(c)
	return &scenario{y}
}

// connects connects these voters, and no others.
func (s *scenario) connects(voters ...string) {
	s.workers = nil
	for _, v := range voters {
		s.workers = append(s.workers, worker{key: v, admitted: true, connected: true})
	}
	s.connect()
	s.carryOut()
}

// counts has a voter report a task with a count that is too great by wrong. The search takes a second.
func (s *scenario) counts(voter string, task, wrong uint64) {
	s.reports(&run.Result{Task: task, Count: right(task) + wrong, Key: voter, Worker: voter, Kernel: "k", Admitted: true, Elapsed: time.Second})
}

// strangerCounts has a worker without admission report a task.
func (s *scenario) strangerCounts(key string, task, wrong uint64) {
	s.reports(&run.Result{Task: task, Count: right(task) + wrong, Key: key, Worker: key, Kernel: "k", Elapsed: time.Second})
}

func (s *scenario) reports(r *run.Result) {
	s.accept(r, false)
	delete(s.queue, r.Task)
	s.carryOut()
}

// ends ends the first count of the coordinator that goes on.
func (s *scenario) ends(f agreement.Failure) {
	s.t.Helper()
	if len(s.own) == 0 {
		s.t.Fatalf("the coordinator counts nothing\n%s", s.a.Dump(s.now))
	}
	s.endOwn(0, f)
}

// voids voids everything of quarantined keys.
func (s *scenario) voids() {
	for s.l.IsRevoking() {
		s.void()
	}
}

// wants checks the state of a task, and whether it waits for a further count.
func (s *scenario) wants(task uint64, state agreement.State, asked bool) {
	s.t.Helper()
	if got := s.a.State(task); got != state || s.queue[task] != asked {
		s.t.Fatalf("task %d is %s, asked for: %v; want %s, %v\n%s%s", task, got, s.queue[task], state, asked, s.a.Dump(s.now), s.l)
	}
}
