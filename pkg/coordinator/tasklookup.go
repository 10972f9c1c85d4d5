package coordinator

import (
	"context"
	"slices"
	"sync"

	"nqueens/pkg/queens"
	"nqueens/pkg/split"
)

// taskLookup makes tasks again by their ids, beside the loop: of disputes, and of results
// that came before their tasks were drawn. In large runs that takes a while.
type taskLookup struct {
	manifest queens.Manifest
	found    chan []queens.Task

	mu        sync.Mutex
	requested []uint64
	wake      chan struct{}
}

func newTaskLookup(m queens.Manifest) *taskLookup {
	return &taskLookup{manifest: m, found: make(chan []queens.Task), wake: make(chan struct{}, 1)}
}

// request asks for the tasks of these ids.
func (f *taskLookup) request(ids []uint64) {
	if len(ids) == 0 {
		return
	}
	f.mu.Lock()
	f.requested = append(f.requested, ids...)
	f.mu.Unlock()
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// take returns what is wanted, in order, and forgets it.
func (f *taskLookup) take() []uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	ids := f.requested
	f.requested = nil
	slices.Sort(ids)
	return ids
}

// execute passes on what is wanted, some at a time, until ctx ends.
func (f *taskLookup) run(ctx context.Context) error {
	for {
		select {
		case <-f.wake:
		case <-ctx.Done():
			return nil
		}
		var some []queens.Task
		pass := func() {
			if len(some) == 0 {
				return
			}
			select {
			case f.found <- some:
			case <-ctx.Done():
			}
			some = nil
		}
		err := split.Find(ctx, &f.manifest, f.take(), func(task queens.Task) {
			if some = append(some, task); len(some) == maxBatch {
				pass()
			}
		})
		pass()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
