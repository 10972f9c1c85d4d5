package split_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"nqueens/pkg/queens"
	"nqueens/pkg/split"
)

// Find returns each task of a manifest as Tasks yields it, and an error for an unknown id.
func TestFind(t *testing.T) {
	for name, m := range manifests(t) {
		for want := range split.Tasks(&m) {
			if got, err := find(t.Context(), &m, want.ID); err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("%s: task %d is found as %+v (error %v), want %+v", name, want.ID, got, err, want)
			}
		}
		for _, id := range []uint64{m.Tasks, m.Tasks + 1, math.MaxUint64} {
			if got, err := find(t.Context(), &m, id); err == nil {
				t.Errorf("%s: of %d tasks, task %d is found as %+v", name, m.Tasks, id, got)
			}
		}
	}
}

// Find works with batches of any size, including a smaller last batch of a class.
func TestFindInBatches(t *testing.T) {
	for _, batch := range []int{1, 2, 5, queens.MaxBatch} {
		m := renumbered(mustPlan(t, 8, queens.Mirror, 3), batch)
		for want := range split.Tasks(&m) {
			if got, err := find(t.Context(), &m, want.ID); err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("batch %d: task %d is found as %+v (error %v), want %+v", batch, want.ID, got, err, want)
			}
		}
	}
}

// Find yields many tasks in one pass, each once and in order, across classes.
func TestFindMany(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 0))
		for name, m := range manifests(t) {
			var ids []uint64
			var want []queens.Task
			for task := range split.Tasks(&m) {
				if rng.IntN(3) > 0 {
					continue
				}
				want = append(want, task)
				for range 1 + rng.IntN(2) { // an id may stand twice
					ids = append(ids, task.ID)
				}
			}
			var got []queens.Task
			if err := split.Find(t.Context(), &m, ids, func(task queens.Task) { got = append(got, task) }); err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d: %s: found %d tasks (error %v), want %d", seed, name, len(got), err, len(want))
			}
		}
	}
}

// find finds one task.
func find(ctx context.Context, m *queens.Manifest, id uint64) (queens.Task, error) {
	var found []queens.Task
	err := split.Find(ctx, m, []uint64{id}, func(task queens.Task) { found = append(found, task) })
	if err != nil || len(found) != 1 {
		return queens.Task{}, errors.Join(err, fmt.Errorf("%d tasks were found", len(found)))
	}
	return found[0], nil
}

// A manifest that claims more tasks than its classes have causes an error, not an empty task.
func TestFindBeyondTheClass(t *testing.T) {
	m := mustPlan(t, 6, queens.None, 2)
	m.Tasks++
	if got, err := find(t.Context(), &m, m.Tasks-1); err == nil {
		t.Errorf("task %d, which the classes don't have, is found as %+v", m.Tasks-1, got)
	}
}

// Check accepts every manifest that this program makes.
func TestCheckOfOwnManifests(t *testing.T) {
	for name, m := range manifests(t) {
		if err := split.Check(t.Context(), &m); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Check rejects, with the reason, a manifest whose tasks this program would not make.
func TestCheckRefusesOtherManifests(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(m *queens.Manifest)
		says  string
	}{
		"other rules":         {func(m *queens.Manifest) { m.SplitVersion-- }, "rules of version"},
		"newer rules":         {func(m *queens.Manifest) { m.SplitVersion++ }, "rules of version"},
		"another hash":        {func(m *queens.Manifest) { m.Hash[31] ^= 1 }, "hash"},
		"another depth":       {func(m *queens.Manifest) { m.Classes[1].Depth-- }, "class 2 begins"},
		"a last, deeper one":  {func(m *queens.Manifest) { m.Classes[len(m.Classes)-1].Depth++ }, "hash"},
		"another batch":       {func(m *queens.Manifest) { m.Classes[0].Batch = 2 }, "class 1 begins"},
		"a task less":         {func(m *queens.Manifest) { m.Tasks-- }, "tasks"},
		"a task more":         {func(m *queens.Manifest) { m.Tasks++ }, "tasks"},
		"a class less":        {func(m *queens.Manifest) { m.Classes = m.Classes[:len(m.Classes)-1] }, "tasks"},
		"another first task":  {func(m *queens.Manifest) { m.Classes[1].First++ }, "class 1 begins"},
		"a square less":       {func(m *queens.Manifest) { m.Classes[0].Board.Allow[1] &^= 0x1f }, "class 1 begins"},
		"a square beyond":     {func(m *queens.Manifest) { m.Classes[0].Board.Allow[8] |= 1 << 9 }, "class 0"},
		"a batch of nothing":  {func(m *queens.Manifest) { m.Classes[0].Batch = 0 }, "class 0"},
		"no class at all":     {func(m *queens.Manifest) { m.Classes = nil }, "no class"},
		"a board of no side":  {func(m *queens.Manifest) { m.N = 0 }, "from 1 to 32"},
		"deeper than a board": {func(m *queens.Manifest) { m.Classes[0].Depth = 10 }, "class 0"},
	} {
		m := mustPlan(t, 9, queens.Full, 3)
		c.spoil(&m)
		if err := split.Check(t.Context(), &m); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: error %v, want one about %q", name, err, c.says)
		}
	}
}

// Of a manifest split by other rules, Check says which program can resume the run.
func TestCheckNamesTheVersion(t *testing.T) {
	t.Parallel()
	m := mustPlan(t, 8, queens.Full, 0)
	m.SplitVersion = 2
	want := fmt.Sprintf("the run was split by rules of version 2, this program splits by rules of version %d: "+
		"resume with the nqueens version that splits by rules of version 2", split.Version)
	if err := split.Check(t.Context(), &m); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
}

// Check does not change the manifest.
func TestCheckChangesNothing(t *testing.T) {
	m, want := mustPlan(t, 8, queens.Full, 0), mustPlan(t, 8, queens.Full, 0)
	m.Classes[2].First++
	want.Classes[2].First++
	if err := split.Check(t.Context(), &m); err == nil || !reflect.DeepEqual(m, want) {
		t.Errorf("after a check (error %v) the manifest is %+v, was %+v", err, m, want)
	}
}

// Find and Check end with the cause of their context.
func TestFindAndCheckEndWithTheirContext(t *testing.T) {
	reason := errors.New("not wanted")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(reason)
	m := mustPlan(t, 8, queens.None, 3)
	if err := split.Check(ctx, &m); !errors.Is(err, reason) {
		t.Errorf("Check: error %v, want %v", err, reason)
	}
	if _, err := find(ctx, &m, m.Tasks-1); !errors.Is(err, reason) {
		t.Errorf("Find: error %v, want %v", err, reason)
	}
}

// renumbered returns the manifest with batches of the given size.
func renumbered(m queens.Manifest, batch int) queens.Manifest {
	m.Tasks = 0
	for i := range m.Classes {
		m.Classes[i].Batch, m.Classes[i].First = batch, m.Tasks
		for range split.ClassTasks(m.Classes[i]) {
			m.Tasks++
		}
	}
	return m
}
