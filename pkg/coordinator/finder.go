package coordinator

import (
	"context"
	"sync"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/split"
)

// finder makes the tasks of disputes again, by their ids, beside the loop: in large
// runs that takes a while.
type finder struct {
	manifest queens.Manifest
	found    chan queens.Task

	mu     sync.Mutex
	wanted []uint64
	woken  chan struct{}
}

func newFinder(m queens.Manifest) *finder {
	return &finder{manifest: m, found: make(chan queens.Task), woken: make(chan struct{}, 1)}
}

// want asks for the tasks of these disputes.
func (f *finder) want(disputes []*ledger.Dispute) {
	if len(disputes) == 0 {
		return
	}
	f.mu.Lock()
	for _, d := range disputes {
		f.wanted = append(f.wanted, d.Task)
	}
	f.mu.Unlock()
	select {
	case f.woken <- struct{}{}:
	default:
	}
}

func (f *finder) next() (id uint64, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.wanted) == 0 {
		return 0, false
	}
	id, f.wanted = f.wanted[0], f.wanted[1:]
	return id, true
}

// find passes on what is wanted until ctx ends.
func (f *finder) find(ctx context.Context) error {
	for {
		id, ok := f.next()
		if !ok {
			select {
			case <-f.woken:
				continue
			case <-ctx.Done():
				return nil
			}
		}
		task, err := split.Find(ctx, &f.manifest, id)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case f.found <- task:
		case <-ctx.Done():
			return nil
		}
	}
}
