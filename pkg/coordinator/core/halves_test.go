package core

import (
	"slices"
	"testing"
	"time"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/testkit"
)

// A task of the method halves is recounted by both methods: by the plain kernel of halves, which
// takes less time, and by depth-first search. Another depth-first kernel is used only if the first
// gave no count. A search that no worker has used comes first.
func TestRecountsOfHalves(t *testing.T) {
	const plain = "halves:generic"
	for _, c := range []struct {
		about  string
		worker string   // the kernel of the workers
		died   bool     // whether no child process gives a count
		want   []string // ways in their order
	}{
		{"both methods", "halves:avx2", false, []string{plain, "avx2"}},
		{"a worker with the plain kernel", plain, false, []string{"avx2", plain}},
		{"children that die", "halves:avx2", true, []string{plain, "avx2", generic}},
	} {
		state := ledger.NewState(&ledger.Header{Format: ledger.Format, Run: "r", Redundancy: 2,
			Manifest: halvesManifest(20, 4)})
		apply := func(r ledger.Record) {
			if _, err := state.Apply(r); err != nil {
				t.Fatal(err)
			}
		}
		for machine, count := range map[string]uint64{"a": 7, "b": 8} {
			apply(&ledger.Result{
				Machine: testkit.Machine(machine), Process: machine, Kernel: c.worker,
				Range:  queens.Range{First: 2, Tasks: 1},
				Counts: []uint64{count}, Searched: time.Second, At: time.Unix(1e9, 0),
			})
		}
		j := newJudge(state, "home", []string{"avx2", generic})
		var ways []string
		for {
			way := j.way(2, ledger.Disputed)
			if way == nil {
				break
			}
			ways = append(ways, way.way())
			if c.died {
				j.died = append(j.died, *way)
				continue
			}
			apply(&ledger.Recount{Task: 2, Count: uint64(len(ways)), Machine: "home", Kernel: way.Kernel,
				Deeper: way.Deeper, Why: way.Why})
		}
		if !slices.Equal(ways, c.want) {
			t.Errorf("%s: the ways are %q, want %q", c.about, ways, c.want)
		}
	}
}
