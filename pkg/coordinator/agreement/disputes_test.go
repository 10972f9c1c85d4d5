package agreement_test

import (
	"testing"
	"time"

	"nqueens/pkg/coordinator/agreement"
	"nqueens/pkg/run"
)

// A dispute that the voters did not settle in time is settled by one that connects later.
func TestLaterVoterSettlesAStuckDispute(t *testing.T) {
	s := newScenario(t, 2, agreement.Config{})
	s.connects("a", "b", "c")
	s.counts("a", 0, 0)
	s.counts("b", 0, 7)
	s.wants(0, agreement.VoteAsked, true)
	s.tick(40 * time.Second)
	s.wants(0, agreement.Stuck, true)
	s.connects("a", "b", "c", "d")
	s.wants(0, agreement.VoteAsked, true)
	s.counts("d", 0, 0)
	s.wants(0, agreement.Agreed, false)
}

// A stuck dispute waits in the queue while a voter is connected that has not counted the task, also if voters have
// counted it in vain so often that it paused until the patience with them was over.
func TestStuckDisputeStaysInTheQueue(t *testing.T) {
	s := newScenario(t, 2, agreement.Config{Patience: time.Second})
	s.connects("a", "b", "c")
	s.counts("a", 0, 0)
	s.counts("b", 0, 7)
	for range 6 {
		s.counts("b", 0, 7)
	}
	s.tick(10 * time.Second)
	s.wants(0, agreement.Stuck, false)
	s.tick(20 * time.Second)
	s.wants(0, agreement.Stuck, true)
	s.counts("c", 0, 0)
	s.wants(0, agreement.Agreed, false)
}

// While the coordinator counts one disputed task for long, it settles others that take it a short time.
func TestLongCountHoldsUpNoQuickOne(t *testing.T) {
	s := newScenario(t, 4, agreement.Config{Referee: true})
	s.connects("a", "b")
	s.counts("a", 0, 0)
	s.counts("b", 0, 7)
	s.ends(agreement.TooLong)
	s.tick(time.Second)
	s.wants(0, agreement.Refereed, false)
	s.counts("a", 2, 0) // of another class
	s.counts("b", 2, 7)
	s.wants(2, agreement.Refereed, false)
	if len(s.own) != 2 || !s.own[0].Unlimited || s.own[1].Unlimited {
		t.Fatalf("the coordinator counts %+v", s.own)
	}
	s.endOwn(1, agreement.NotTried)
	s.wants(2, agreement.Agreed, false)
	s.ends(agreement.NotTried)
	s.wants(0, agreement.Agreed, false)
}

// The coordinator tries one task of a class that takes it too long, and voters settle the disputes about the others.
func TestSlowClassIsTriedOnce(t *testing.T) {
	s := newScenario(t, 6, agreement.Config{Referee: true})
	s.connects("a", "b", "c")
	for id := range uint64(3) {
		s.counts("a", id, 0)
		s.counts("b", id, 7)
	}
	s.ends(agreement.TooLong)
	for id := range uint64(3) {
		s.wants(id, agreement.VoteAsked, true)
	}
	if len(s.own) > 0 {
		t.Errorf("the coordinator counts %+v", s.own)
	}
}

// Without a count of the coordinator, no key is quarantined before a quorum of voters agrees; keys that are not
// admitted are none.
func TestStrangersProveNothing(t *testing.T) {
	s := newScenario(t, 2, agreement.Config{})
	s.connects("a", "b")
	s.counts("a", 0, 0)
	for _, key := range []string{"x", "y", "z"} {
		s.strangerCounts(key, 0, 7)
	}
	if s.l.IsQuarantined("a") || s.l.IsQuarantined("x") {
		t.Error("a key is quarantined")
	}
	s.counts("b", 0, 0)
	if s.l.IsQuarantined("a") || !s.l.IsQuarantined("x") || !s.l.IsQuarantined("z") {
		t.Error("not the liars are quarantined")
	}
}

// A withdrawn task that too few voters have counted does not wait for a voter: the coordinator counts it alone once
// no other task does.
func TestWithdrawnTaskWaitsForNoVoter(t *testing.T) {
	s := newScenario(t, 2, agreement.Config{Redundancy: 2})
	s.connects("a", "b")
	s.counts("a", 0, 0)
	s.withdraw(0)
	if n := s.a.Lacking(); n != 0 {
		t.Errorf("%d tasks wait for a voter", n)
	}
	s.countAlone(0)
	s.wants(0, agreement.Agreed, false)
}

// Whatever a ledger says, a key is quarantined only if the coordinator or a quorum of voters contradicts it.
func TestQuarantineNeedsAProof(t *testing.T) {
	vote := func(key string, count uint64, admitted bool) run.Result {
		return run.Result{Key: key, Worker: key, Count: count, Admitted: admitted}
	}
	wrong := vote("wrong", 7, true)
	for _, c := range []struct {
		name  string
		votes []run.Result
		own   bool
		want  bool
	}{
		{"one voter", []run.Result{vote("a", 5, true), wrong}, false, false},
		{"a voter and a stranger", []run.Result{vote("a", 5, true), vote("b", 5, false), wrong}, false, false},
		{"two voters", []run.Result{vote("a", 5, true), vote("b", 5, true), wrong}, false, true},
		{"the coordinator", []run.Result{{Worker: run.Referee, Count: 5}, wrong}, true, true},
	} {
		a := agreement.New(agreement.Config{Manifest: lifeManifest(2), Redundancy: 1})
		d := &run.Dispute{Votes: c.votes, Accepted: 5, Settled: true, Quorum: 2}
		a.LoadDispute(time.Unix(0, 0), 0, run.Standing{Counted: true, Voters: 1, Own: c.own}, d)
		got := false
		for _, o := range a.Commands() {
			got = got || o.Op == agreement.Quarantine && o.Vote.Key == "wrong"
		}
		if got != c.want {
			t.Errorf("%s: quarantined: %v, want %v", c.name, got, c.want)
		}
	}
}

// Voters that count other tasks are busy: a dispute that only they can settle waits for them.
func TestDisputeWaitsForBusyVoters(t *testing.T) {
	s := newScenario(t, 8, agreement.Config{})
	s.connects("a", "b", "c")
	s.counts("a", 0, 0)
	s.counts("b", 0, 7)
	for task := range uint64(7) {
		s.tick(20 * time.Second)
		s.wants(0, agreement.VoteAsked, true)
		s.counts("c", 1+task, 0)
	}
	s.tick(40 * time.Second)
	s.wants(0, agreement.Stuck, true)
}

// A key that is wrong in many tasks costs one count of the coordinator: once its votes are revoked, the others of each
// dispute agree. So it is after a restart. Only a task for whose sake a key was quarantined is counted again then.
func TestRevokedVotesLeaveNothingToSettle(t *testing.T) {
	const tasks = lifeTasks
	s := newScenario(t, tasks, agreement.Config{Referee: true})
	s.connects("a", "liar")
	for id := range uint64(tasks) {
		s.counts("a", id, 0)
	}
	for id := range uint64(tasks) {
		s.counts("liar", id, 7)
	}
	s.ends(agreement.NotTried)
	s.voids()
	if len(s.own) > 0 { // it had begun before the votes were revoked
		s.ends(agreement.NotTried)
	}
	for range 2 {
		for id := range uint64(tasks) {
			s.wants(id, agreement.Agreed, false)
		}
		if n, _ := s.a.Disputes(); n > 0 || len(s.own) > 0 {
			t.Fatalf("%d disputes are open, the coordinator counts %+v", n, s.own)
		}
		s.restart()
	}
	for _, proof := range []bool{false, true} {
		a := agreement.New(agreement.Config{Manifest: lifeManifest(2), Redundancy: 1, Referee: true})
		if proof {
			a.LoadQuarantine(0)
		}
		vote := run.Result{Key: "a", Worker: "a", Count: 5, Admitted: true}
		a.LoadDispute(time.Unix(0, 0), 0, run.Standing{Counted: true, Voters: 1}, &run.Dispute{Votes: []run.Result{vote}, Accepted: 5, Settled: true, Quorum: 2})
		if n, _ := a.Disputes(); (n == 1) != proof {
			t.Errorf("a key was quarantined for the task's sake: %v, %d disputes are open", proof, n)
		}
	}
}
