package coordinator

import (
	"context"
	"slices"
	"sync"

	"nqueens/pkg/queens"
	"nqueens/pkg/split"
)

// finder makes tasks again by their ids, beside the loop: of disputes, and of results
// that came before their tasks were drawn. In large runs that takes a while.
type finder struct {
	manifest queens.Manifest
	found    chan []queens.Task

	mu     sync.Mutex
	wanted []uint64
	woken  chan struct{}
}

func newFinder(m queens.Manifest) *finder {
	return &finder{manifest: m, found: make(chan []queens.Task), woken: make(chan struct{}, 1)}
}

// want asks for the tasks of these ids.
func (f *finder) want(ids []uint64) {
	if len(ids) == 0 {
		return
	}
	f.mu.Lock()
	f.wanted = append(f.wanted, ids...)
	f.mu.Unlock()
	select {
	case f.woken <- struct{}{}:
	default:
	}
}

// take returns what is wanted, in order, and forgets it.
func (f *finder) take() []uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	ids := f.wanted
	f.wanted = nil
	slices.Sort(ids)
	return ids
}

// find passes on what is wanted, some at a time, until ctx ends.
func (f *finder) find(ctx context.Context) error {
	for {
		select {
		case <-f.woken:
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
			if some = append(some, task); len(some) == maxGroup {
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
