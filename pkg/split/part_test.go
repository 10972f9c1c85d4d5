package split_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"nqueens/pkg/queens"
	"nqueens/pkg/split"
)

// partManifests returns manifests in which classes have many parts, tasks are large, prefixes are rare, or a
// class has no prefix.
func partManifests(t *testing.T) map[string]queens.Manifest {
	sparse := randomBoard(rand.New(rand.NewPCG(1, 1)), 14, 1)
	rare := queens.Manifest{N: 14, Classes: []queens.ClassPlan{
		{Class: queens.Class{Weight: 2, Board: sparse}, Depth: 14},
		{Class: queens.Class{Weight: 2, Board: queens.FullBoard(14)}},
	}}
	return map[string]queens.Manifest{
		"many parts":   mustPlan(t, 10, queens.None, 6),
		"batches":      renumbered(mustPlan(t, 10, queens.Mirror, 6), 2),
		"large tasks":  renumbered(mustPlan(t, 12, queens.None, 8), queens.MaxBatch),
		"many classes": mustPlan(t, 16, queens.Full, 0),
		"no task":      mustPlan(t, 2, queens.Full, 0),
		"rare":         renumbered(rare, 3),
	}
}

// The parts of a manifest have its tasks, in order.
func TestPartsHaveTheTasks(t *testing.T) {
	for name, m := range partManifests(t) {
		var got []queens.Task
		parts := 0
		err := split.InOrder(t.Context(), &m, func(_ context.Context, p *split.Part) ([]queens.Task, error) {
			var tasks []queens.Task
			for task := range p.All() {
				if p.First+uint64(len(tasks)) != task.ID || task.Board != m.Classes[p.Class].Board {
					t.Errorf("%s: a part from task %d has %+v as number %d", name, p.First, task, len(tasks))
				}
				task.Prefixes = slices.Clone(task.Prefixes)
				tasks = append(tasks, task)
			}
			if len(tasks) != p.Tasks {
				t.Errorf("%s: a part of %d tasks has %d", name, p.Tasks, len(tasks))
			}
			return tasks, nil
		}, func(tasks []queens.Task) error {
			parts++
			got = append(got, tasks...)
			return nil
		})
		if want := slices.Collect(split.Tasks(&m)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %d tasks in %d parts (error %v), want %d tasks", name, len(got), parts, err, len(want))
		}
		if (name == "many parts" || name == "large tasks" || name == "rare") && parts <= len(m.Classes) {
			t.Errorf("%s: no class has two parts", name)
		}
	}
}

// A pass over the parts ends with the cause of its context, in the middle of a part too.
func TestPartsEnd(t *testing.T) {
	m := mustPlan(t, 9, queens.None, 6)
	cause := errors.New("cause")
	ctx, cancel := context.WithCancelCause(t.Context())
	err := split.InOrder(ctx, &m, func(ctx context.Context, p *split.Part) (int, error) {
		cancel(cause)
		return 0, context.Cause(ctx)
	}, func(int) error { return nil })
	if !errors.Is(err, cause) {
		t.Errorf("error %v, want %v", err, cause)
	}
	if _, err := split.Plan(ctx, 12, queens.None, mustClasses(t, 12, queens.None), 6); !errors.Is(err, cause) {
		t.Errorf("plan: error %v, want %v", err, cause)
	}
}
