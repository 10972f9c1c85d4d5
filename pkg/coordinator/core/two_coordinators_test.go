package core

import (
	"errors"
	"testing"
	"time"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/testkit"
)

// coordinatorWith returns a core that resumes a run with the given number of results.
func coordinatorWith(t *testing.T, instance uint64, results int) *Core {
	m := testManifest(queens.MaxN, []uint64{10})
	state := ledger.NewState(
		&ledger.Header{Format: ledger.Format, Run: "r", Manifest: m, Redundancy: 1})
	records := []ledger.Record{&ledger.Start{Number: 1}}
	for i := range results {
		records = append(records,
			&ledger.Result{Machine: testkit.Machine("m"), Kernel: generic,
				Range: queens.Range{First: uint64(i), Tasks: 1}, Counts: []uint64{1}, At: time.UnixMilli(0)})
	}
	for _, r := range records {
		if _, err := state.Apply(r); err != nil {
			t.Fatal(err)
		}
	}
	return New(0, state,
		Options{Instance: instance, Shares: testShares(&m), TaskBytes: []int{1}, ReplyBytes: 1000,
			Kernels: []string{generic}})
}

// tickTo lets a core tick until the given time, and reports whether it announced itself.
func tickTo(c *Core, to time.Duration) (announced bool) {
	for now := time.Duration(0); now < to; now += time.Second / 4 {
		c.Tick(now)
		announced = c.Take().Announce || announced
	}
	return announced
}

// If two coordinators of a run hear each other, exactly one ends, and the run can be resumed. The
// one with fewer results ends. If they have equally many, the one with the smaller instance ends.
func TestTwoCoordinators(t *testing.T) {
	for results := range 3 {
		for others := range 3 {
			for _, instance := range []uint64{1, 3} {
				a, b := coordinatorWith(t, 2, results), coordinatorWith(t, instance, others)
				tickTo(a, 10*time.Second)
				tickTo(b, 10*time.Second)
				ofA, ofB := a.Announcement(), b.Announcement()
				a.HeardOther(10*time.Second, ofB)
				b.HeardOther(10*time.Second, ofA)
				endA, endB := a.Take().OnDisk.End, b.Take().OnDisk.End
				wantA := results < others || results == others && instance == 3
				if (endA != nil) != wantA || (endB != nil) == wantA {
					t.Errorf("%d results, and %d by instance %d: the first ends %v, the second %v", results,
						others, instance, endA != nil, endB != nil)
				}
				for _, end := range []*End{endA, endB} {
					if end != nil && (end.State != queens.Stopped || !errors.Is(end.Err, queens.ErrIncomplete)) {
						t.Errorf("it ends %s: %v", end.State, end.Err)
					}
				}
			}
		}
	}
}

// If a coordinator starts while another one runs, the new one ends, whatever their results are. It
// announces nothing.
func TestSecondCoordinator(t *testing.T) {
	old, young := coordinatorWith(t, 1, 0), coordinatorWith(t, 2, 5)
	tickTo(old, 10*time.Second)
	if tickTo(young, 2900*time.Millisecond) {
		t.Error("a coordinator announces itself before it has listened for 3 s")
	}
	young.HeardOther(2900*time.Millisecond, old.Announcement())
	if commands := young.Take(); commands.OnDisk.End == nil || commands.Announce {
		t.Errorf("it goes on, or announces itself: %+v", commands)
	}
}
