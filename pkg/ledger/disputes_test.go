package ledger

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/testkit"
)

// The first result of a task stays accepted until a quorum of admitted keys agrees on one count, and more
// than on any other, or the coordinator as referee has counted it. The dispute is settled while that is
// so. A key that is not admitted, and the coordinator's spot check, settle nothing.
func TestTally(t *testing.T) {
	for _, c := range []struct {
		votes    string // worker and count, in order
		accepted int
		settled  bool
	}{
		{"a1", 0, true},
		{"a1 b2", 0, false},
		{"a1 b2 c3", 0, false},
		{"a1 a2", 0, false},
		{"a1 b2 c1", 0, true},
		{"a1 b2 c2", 1, true},
		{"a1 b2 a2", 1, true},
		{"a1 b2 b1", 0, true},
		{"a1 b2 c3 d3", 2, true},
		{"a1 b2 c1 d2", 0, false},
		{"a1 b2 c2 d1", 1, false},
		{"a1 b2 c2 d1 e3", 1, false},
		{"a1 b2 c2 d1 e1", 0, true},
		{"a1 b2 c2 d1 e2", 1, true},
		{"a1 b2 c2 d3", 1, true},
		{"a1 b2 c2 d3 e3", 1, false},
		{"a1 b2 c2 d3 e3 f3", 3, true},
		{"a1 b2 c2 d3 e3 f1", 1, false},
		{"a1 b2 c2 d3 e3 f1 g1", 0, true},
		{"a1 b2 R1", 0, true},
		{"a1 b2 c2 R1", 0, true},
		{"a1 b2 c2 R3", 3, true},
		{"a1 b2 R1 c2 d2 e2", 0, true},
		{"a1 b2 C1", 0, false},
		{"a1 C2", 0, false},
		{"a1 b2 C3 c2", 1, true},
		{"a1 u2 v2", 0, false},
		{"u1 a2 v1", 0, false},
		{"u1 a2 v1 b2", 1, true},
		{"u1 a2 u2 v1 C1", 0, false},
		{"u1 v2 R2", 1, true},
		{"u1 v1 w1", 0, true}, // after others were revoked
	} {
		if accepted, settled := tally(storedVotes(c.votes), 2); accepted != c.accepted || settled != c.settled {
			t.Errorf("%s: vote %d is accepted, settled %v; want %d, %v", c.votes, accepted, settled, c.accepted, c.settled)
		}
	}
}

// For any votes, the dispute is settled exactly if a quorum of admitted keys agrees on one count, and
// more than on any other, and then a vote for that count is accepted.
func TestTallyAgainstCounting(t *testing.T) {
	rng := testkit.Rand(t)
	for range 5000 {
		l := Ledger{header: Header{Trust: Trust{Redundancy: 2 + rng.IntN(3)}}}
		all := storedVotes("a1 b2")
		for range rng.IntN(16) {
			v := vote(string("abcdefuv"[rng.IntN(8)]), uint64(rng.IntN(4)))
			if s := l.outcomeOf(all); s.takes(all, &v) {
				all = append(all, stored{Result: v})
			}
		}
		var best, most, second int
		for count := range 4 {
			n := 0
			for _, v := range all {
				if v.Admitted && v.Count == uint64(count) {
					n++
				}
			}
			if n >= most {
				best, most, second = count, n, most
			} else if n > second {
				second = n
			}
		}
		accepted, settled := tally(all, l.quorum())
		if want := most >= l.quorum() && most > second; settled != want || settled && all[accepted].Count != uint64(best) {
			t.Fatalf("votes %v: vote %d is accepted, settled %v", all, accepted, settled)
		}
	}
}

// Verdicts, votes and the accepted result of a task whose results contradict each other,
// in a ledger that is closed and opened again after each batch. A verdict is a letter.
func TestDisputes(t *testing.T) {
	letters := map[Verdict]string{Accepted: "A", Duplicate: "D", Conflict: "C", Settled: "S", Confirmed: "F"}
	for _, c := range []struct {
		results, verdicts string
		stored            string // the votes
		accepted          string
		settled           bool
	}{
		{"a1 b2", "AC", "a1 b2", "a1", false},
		{"a1 a2", "AC", "a1 a2", "a1", false},
		{"a1 b1 b2", "AFC", "a1 b1 b2", "a1", true},
		{"a1 b1 c2", "AFC", "a1 b1 c2", "a1", true},
		{"a1 b1 c2 d2", "AFCC", "a1 b1 c2 d2", "a1", false},
		{"a1 b1 c2 d2 e2", "AFCCS", "a1 b1 c2 d2 e2", "c2", true},
		{"u1 v1 u2 v2", "ADCC", "u1 u2 v2", "u1", false}, // not admitted
		{"a1 u1 b2 u1", "ADCC", "a1 b2 u1", "a1", false},
		{"u1 a2 v1 b2", "ACCS", "u1 a2 v1 b2", "a2", true},
		{"a1 b2 C2 R1 c2", "ACCSC", "a1 b2 C2 R1 c2", "a1", true},
		{"a1 b2 a1 b2", "ACDD", "a1 b2", "a1", false},
		{"a1 b2 c1", "ACS", "a1 b2 c1", "a1", true},
		{"a1 b2 c2", "ACS", "a1 b2 c2", "b2", true},
		{"a1 b2 c3 d2", "ACCS", "a1 b2 c3 d2", "b2", true},
		{"a1 b2 c2 d2 d2", "ACSFD", "a1 b2 c2 d2", "b2", true},
		{"a1 b2 c2 d1", "ACSC", "a1 b2 c2 d1", "b2", false},
		{"a1 b2 c2 d3", "ACSC", "a1 b2 c2 d3", "b2", true},
		{"a1 b2 c2 d1 e1", "ACSCS", "a1 b2 c2 d1 e1", "a1", true},
		{"a1 b2 c2 d1 e2", "ACSCS", "a1 b2 c2 d1 e2", "b2", true},
		{"a0 b1 c0", "ACS", "a0 b1 c0", "a0", true},
	} {
		for _, batched := range []bool{true, false} {
			folder := t.TempDir()
			l, err := Create(folder, headerOf(100))
			if err != nil {
				t.Fatal(err)
			}
			batches := [][]run.Result{votes(c.results)}
			if !batched {
				batches = slices.Collect(slices.Chunk(votes(c.results), 1))
			}
			verdicts := ""
			for i, batch := range batches {
				got, err := l.Accept(batch, 0, run.StreamPosition{Sequence: uint64(i + 1)})
				if err != nil {
					t.Fatal(err)
				}
				for _, v := range got {
					verdicts += letters[v]
				}
				if err := l.Close(); err != nil {
					t.Fatal(err)
				}
				if l, err = openWriter(folder); err != nil {
					t.Fatal(err)
				}
			}
			accepted, _, err := l.Result(7)
			if err != nil || accepted != votes(c.accepted)[0] || verdicts != c.verdicts {
				t.Errorf("%s: verdicts %s, %v is accepted (%v), want %s, %s", c.results, verdicts, accepted, err, c.verdicts, c.accepted)
			}
			if d := l.Disputes(); len(d) != 1 || d[0].Task != 7 || d[0].Settled != c.settled || !slices.Equal(d[0].Votes, votes(c.stored)) {
				t.Errorf("%s: the disputes are %v", c.results, d)
			}
			if l.Len() != 1 {
				t.Errorf("%s: %d are accepted", c.results, l.Len())
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// Disputes are in order of task, and those returned before do not change.
func TestDisputesInOrder(t *testing.T) {
	l, err := Create(t.TempDir(), headerOf(100))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	of := func(task uint64, r run.Result) run.Result {
		r.Task = task
		return r
	}
	for i, task := range []uint64{50, 3, 70} {
		if _, err := l.Accept([]run.Result{of(task, vote("a", 1)), of(task, vote("b", 2))}, 0, run.StreamPosition{Sequence: uint64(i)}); err != nil {
			t.Fatal(err)
		}
	}
	before := l.Disputes()
	if _, err := l.Accept([]run.Result{of(3, vote("c", 2)), of(1, vote("a", 1)), of(1, vote("b", 2))}, 0, run.StreamPosition{}); err != nil {
		t.Fatal(err)
	}
	var tasks []uint64
	for _, d := range l.Disputes() {
		tasks = append(tasks, d.Task)
	}
	if !slices.Equal(tasks, []uint64{1, 3, 50, 70}) || !l.Disputes()[1].Settled {
		t.Errorf("the disputes are %v", l.Disputes())
	}
	if len(before) != 3 || before[0].Settled || len(before[0].Votes) != 2 {
		t.Errorf("what was returned before is %v now", before)
	}
}

// vote returns a result of task 7. Workers from u on have keys that are not admitted; R and C are
// the coordinator.
func vote(worker string, count uint64) run.Result {
	r := run.Result{Run: "run", Task: 7, Hash: 77, Attempt: 1, Count: count, Worker: worker, Kernel: "generic"}
	switch worker {
	case "R":
		r.Worker = run.Referee
	case "C":
		r.Worker = run.Checker
	default:
		r.Key, r.Admitted = "key of "+worker, worker < "u"
	}
	return r
}

// votes parses workers and counts such as "a1 b2".
func votes(text string) []run.Result {
	var all []run.Result
	for i := 0; i < len(text); i += 3 {
		count, err := strconv.ParseUint(text[i+1:i+2], 10, 64)
		if err != nil {
			panic(fmt.Sprintf("%q is not a list of votes", text))
		}
		all = append(all, vote(text[i:i+1], count))
	}
	return all
}

func storedVotes(text string) (all []stored) {
	for _, v := range votes(text) {
		all = append(all, stored{Result: v})
	}
	return all
}

func headerOf(tasks uint64) Header {
	class := queens.ClassPlan{Class: queens.Class{Board: queens.FullBoard(8), Weight: 1}, Depth: 2, Batch: 1}
	return Header{Run: "run", Manifest: queens.Manifest{SplitVersion: 1, N: 8, Symmetry: queens.None, Tasks: tasks, Classes: []queens.ClassPlan{class}}, Trust: Trust{Redundancy: 1}}
}
