package agreement_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"nqueens/pkg/coordinator/agreement"
	"nqueens/pkg/run"
)

// A spot check that finds another count opens a dispute, and time passes while it is open.
func TestTimePassesWhileACheckIsDisputed(t *testing.T) {
	s := newScenario(t, 2, agreement.Config{Share: 1, CheckThreads: 1, EndThreads: 1, Referee: true})
	s.connects("a", "b")
	s.counts("a", 0, 0)
	s.wants(0, agreement.CheckAsked, true)
	s.counts("b", 0, 7)
	s.wants(0, agreement.Refereed, false)
	s.tick(time.Second)
	s.ends(agreement.NotTried)
	s.wants(0, agreement.Agreed, false)
}

// Whatever times workers claim, the coordinator checks in its share of time: sums of times do not overflow.
func TestClaimedTimesDoNotEndOwnChecks(t *testing.T) {
	const honest = 1000
	s := newScenario(t, honest+4, agreement.Config{Share: 1, Bounded: true, CheckThreads: 1, EndThreads: 1})
	for task := range uint64(3) {
		s.reports(&run.Result{
			Task: honest + task, Count: right(honest + task), Key: "a", Worker: "a", Kernel: "k", Admitted: true, Elapsed: math.MaxInt64/2 + 1,
		})
	}
	for task := range uint64(honest) {
		s.counts("a", task, 0)
	}
	s.tick(time.Second)
	if len(s.own) == 0 {
		t.Errorf("the coordinator checks nothing\n%s", s.a.Dump(s.now))
	}
}

// A check that was owed before a dispute is not owed any more once the coordinator has counted the task.
func TestRefereedTaskIsNotChecked(t *testing.T) {
	s := newScenario(t, 2, agreement.Config{Redundancy: 2, Share: 1, Referee: true})
	s.connects("a", "b", "c")
	s.counts("a", 0, 0)
	s.counts("b", 0, 0)
	s.wants(0, agreement.CheckAsked, true)
	s.counts("b", 0, 7)
	s.ends(agreement.NotTried)
	s.voids()
	s.wants(0, agreement.Asked, true)
	s.counts("c", 0, 0)
	s.wants(0, agreement.Agreed, false)
}

// A task that workers were lost with is not checked: neither other workers nor the coordinator's process may be
// lost with it. Once it is settled and its counts are void, workers get it again.
func TestWithdrawnTaskIsNotChecked(t *testing.T) {
	s := newScenario(t, 2, agreement.Config{Redundancy: 2, Share: 1, CheckThreads: 1, EndThreads: 1})
	s.connects("a", "b", "c")
	s.counts("a", 0, 0)
	s.withdraw(0)
	s.wants(0, agreement.Lacking, false)
	s.counts("b", 0, 0)
	s.wants(0, agreement.Agreed, false)
	s.l.Quarantine("b")
	s.connects("a", "c")
	s.voids()
	s.wants(0, agreement.Asked, true)
}

// If only the coordinator's check of a task is left, because the checked count became void, the coordinator does not
// check itself: another voter does, or the check is missed at the end.
func TestCoordinatorDoesNotCheckItself(t *testing.T) {
	for _, voters := range [][]string{nil, {"b"}} {
		s := newScenario(t, 2, agreement.Config{Share: 1, CheckThreads: 1, EndThreads: 1})
		s.counts("a", 0, 0)
		s.ends(agreement.NotTried)
		s.counts("b", 1, 0)
		s.ends(agreement.NotTried)
		s.l.Quarantine("a")
		s.voids()
		s.connects(voters...)
		s.tick(time.Second)
		if len(s.own) > 0 {
			t.Errorf("the coordinator counts %+v", s.own)
		}
		if voters != nil {
			s.wants(0, agreement.CheckAsked, true)
			s.counts("b", 0, 0)
		}
		s.tick(time.Second)
		due, missed := s.a.Checks()
		if isMissed := voters == nil; !s.a.IsComplete() || due != 0 || (missed == 1) != isMissed {
			t.Errorf("with the voters %v, %d checks are due, %d missed", voters, due, missed)
		}
	}
}

// The coordinator's own checks take at most 2% of the time of the searches while an automatic run counts, but for the
// last one. If a share was asked for, all are made.
func TestOwnChecksAreBounded(t *testing.T) {
	for _, bounded := range []bool{true, false} {
		const tasks = 2000
		s := newScenario(t, tasks, agreement.Config{Share: 1, Bounded: bounded, CheckThreads: 1, EndThreads: 1})
		s.connects("a")
		made := 0
		for id := range uint64(tasks - 1) { // the run does not end
			s.counts("a", id, 0)
			for len(s.own) > 0 { // each takes a second, as long as a search
				s.ends(agreement.NotTried)
				s.tick(time.Second)
				made++
			}
		}
		if most := tasks/50 + 1; bounded && (made < most/2 || made > most) {
			t.Errorf("%d checks were made in the time of %d searches, want at most %d", made, tasks, most)
		}
		if due, missed := s.a.Checks(); !bounded && made != tasks-1 || made+int(due) != tasks-1 || missed > 0 {
			t.Errorf("bounded: %v: %d checks were made, %d are due, %d missed", bounded, made, due, missed)
		}
	}
}

// At the end of a run, an automatic one makes own checks for 1% of its time, and then counts the others as missed.
// One with a share goes on until all are made.
func TestChecksAtTheEnd(t *testing.T) {
	for _, bounded := range []bool{true, false} {
		const tasks = 100
		s := newScenario(t, tasks, agreement.Config{Share: 1, Bounded: bounded, EndThreads: 2})
		s.tick(time.Hour)
		for id := range uint64(tasks) {
			s.counts("a", id, 0)
		}
		s.tick(time.Second)
		begun, made := s.now, 0
		for !s.a.IsComplete() {
			if len(s.own) == 0 || len(s.own) > 2 {
				t.Fatalf("bounded: %v: the coordinator makes %d checks", bounded, len(s.own))
			}
			for len(s.own) > 0 && !s.a.IsComplete() {
				s.ends(agreement.NotTried)
				made++
			}
			s.tick(time.Second)
		}
		if took := s.now.Sub(begun); bounded && (took < 30*time.Second || took > 40*time.Second) {
			t.Errorf("the checks took %v", took)
		}
		if _, missed := s.a.Checks(); made+int(missed) != tasks || !bounded && missed > 0 {
			t.Errorf("bounded: %v: %d checks were made, %d missed", bounded, made, missed)
		}
	}
}

// However many checks are due, voters are asked for a bounded number at once, and for all in the end.
func TestChecksAskedAreBounded(t *testing.T) {
	const tasks = 3 * agreement.MaxCheckAsked
	s := newScenario(t, tasks, agreement.Config{Share: 1})
	s.connects("a", "b")
	for id := range uint64(tasks) {
		s.counts("a", id, 0)
	}
	for rounds := 0; s.a.Done() < tasks || !s.a.IsComplete(); rounds++ {
		if len(s.queue) == 0 || len(s.queue) > agreement.MaxCheckAsked || rounds > tasks {
			t.Fatalf("%d tasks are in the queue after %d rounds", len(s.queue), rounds)
		}
		for id := range s.queue {
			s.counts("b", id, 0)
		}
		s.tick(time.Second)
	}
	if _, missed := s.a.Checks(); missed > 0 {
		t.Errorf("%d checks are missed", missed)
	}
}

// A spot check by a key that is quarantined later is void, and is made again.
func TestVoidChecksAreMadeAgain(t *testing.T) {
	s := newScenario(t, 2, agreement.Config{Share: 1, Referee: true})
	s.connects("a", "liar", "c")
	s.counts("a", 0, 0)
	s.counts("liar", 0, 0)
	s.wants(0, agreement.Agreed, false)
	s.counts("a", 1, 0)
	s.counts("liar", 1, 7)
	s.ends(agreement.NotTried)
	s.voids()
	s.tick(time.Second)
	s.wants(0, agreement.CheckAsked, true)
	s.counts("c", 0, 0)
	s.wants(0, agreement.Agreed, false)
}

// So is a check of a task that was in dispute, which only its first chunk owes it.
func TestVoidCheckOfADisputedTaskIsMadeAgain(t *testing.T) {
	s := newScenario(t, 2, agreement.Config{Share: 1e-9, Referee: true})
	s.connects("a", "b", "c")
	s.accept(&run.Result{Task: 0, Count: right(0), Key: "a", Worker: "a", Admitted: true}, true)
	s.carryOut()
	s.counts("b", 0, 0)
	s.wants(0, agreement.Agreed, false)
	s.counts("liar", 0, 7)
	s.ends(agreement.TooLong)
	s.l.Quarantine("b")
	s.voids()
	s.tick(time.Second)
	s.wants(0, agreement.CheckAsked, true)
}

// The tasks of the first chunks of a key are checked where one count is enough.
func TestEarlyTasksAreChecked(t *testing.T) {
	for redundancy, want := range map[int]agreement.State{1: agreement.CheckAsked, 2: agreement.Agreed} {
		s := newScenario(t, 2, agreement.Config{Redundancy: redundancy, Share: 1e-9})
		s.connects("a", "b", "c")
		for _, voter := range []string{"a", "b"}[:redundancy] {
			s.accept(&run.Result{Task: 0, Count: right(0), Key: voter, Worker: voter, Admitted: true}, true)
			s.carryOut()
		}
		if got := s.a.State(0); got != want {
			t.Errorf("redundancy %d: a task of a first chunk is %s, want %s", redundancy, got, want)
		}
	}
}

// A dispute at the end of a run does not give its checks more than 1% of its time.
func TestDisputesDoNotProlongTheEnd(t *testing.T) {
	s := newScenario(t, 100, agreement.Config{Share: 1, Bounded: true, EndThreads: 1, Referee: true})
	s.tick(time.Hour)
	for id := range uint64(100) {
		s.counts("a", id, 0)
	}
	s.tick(time.Second)
	begun := s.now
	for task := uint64(99); task > 0 && !s.a.IsComplete(); task-- {
		s.strangerCounts(fmt.Sprint("x", task), task, 7)
		s.tick(time.Second)
		for len(s.own) > 0 {
			s.ends(agreement.NotTried)
		}
		s.voids()
		s.tick(time.Second)
		s.tick(10 * time.Second)
	}
	if took := s.now.Sub(begun); took > 70*time.Second {
		t.Errorf("the checks took %v", took)
	}
}

// A check that voters were asked for in vain, and that the coordinator then made, is asked for again once the count
// that it checked is void: only they can make it now.
func TestVoidCountIsCheckedByVotersAgain(t *testing.T) {
	s := newScenario(t, 2, agreement.Config{Share: 1, CheckThreads: 1, EndThreads: 1})
	s.connects("a", "b")
	s.counts("a", 0, 0)
	s.counts("a", 0, 0)
	s.counts("a", 0, 0)
	s.wants(0, agreement.CheckOwn, false)
	s.ends(agreement.NotTried)
	s.l.Quarantine("a")
	s.voids()
	s.connects("b")
	s.tick(time.Second)
	s.wants(0, agreement.CheckAsked, true)
}

// The join token admits any number of keys of one owner: a task that only such keys have counted is checked by the
// coordinator, if it has time and can afford it, the first one in any case, and otherwise by another voter.
func TestCoordinatorChecksKeysOfTheToken(t *testing.T) {
	for _, c := range []struct {
		name    string
		result  run.Result
		bounded bool
		want    []agreement.State // of three tasks; the coordinator's check, if any, ends before the last
	}{
		{"by the token", run.Result{Admitted: true, ByToken: true}, false, []agreement.State{agreement.CheckOwn, agreement.CheckAsked, agreement.CheckOwn}},
		{"not admitted", run.Result{}, false, []agreement.State{agreement.CheckOwn, agreement.CheckAsked, agreement.CheckOwn}},
		{"on a list", run.Result{Admitted: true}, false, []agreement.State{agreement.CheckAsked, agreement.CheckAsked, agreement.CheckAsked}},
		{"by the token, too dear", run.Result{Admitted: true, ByToken: true}, true, []agreement.State{agreement.CheckOwn, agreement.CheckAsked, agreement.CheckAsked}},
	} {
		s := newScenario(t, 4, agreement.Config{Share: 1, Bounded: c.bounded, CheckThreads: 1, EndThreads: 1})
		s.connects("a", "b")
		for id, want := range c.want {
			if id == 2 && len(s.own) > 0 {
				s.ends(agreement.NotTried)
			}
			r := c.result
			r.Task, r.Count, r.Key, r.Worker, r.Elapsed = uint64(id), right(uint64(id)), "a", "a", time.Second
			s.reports(&r)
			if got := s.a.State(r.Task); got != want {
				t.Errorf("%s: task %d is %s, want %s", c.name, id, got, want)
			}
		}
	}
}

// A check of the coordinator that a voter could make holds up the end of a run for 1% of its time.
func TestVotersEndALateCheck(t *testing.T) {
	s := newScenario(t, 1, agreement.Config{Share: 1, CheckThreads: 1, EndThreads: 1})
	s.connects("a", "b")
	s.tick(1000 * time.Second)
	s.reports(&run.Result{Count: right(0), Key: "a", Worker: "a", Admitted: true, ByToken: true})
	s.tick(time.Second)
	s.tick(9 * time.Second)
	s.wants(0, agreement.CheckOwn, false)
	s.tick(2 * time.Second)
	s.wants(0, agreement.CheckAsked, true)
	s.counts("b", 0, 0)
	if _, missed := s.a.Checks(); !s.a.IsComplete() || missed > 0 {
		t.Errorf("the run is complete: %v, %d checks are missed", s.a.IsComplete(), missed)
	}
	s.ends(agreement.NotTried)
	s.wants(0, agreement.Agreed, false)
}
