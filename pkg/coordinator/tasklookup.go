package coordinator

import (
	"context"
	"slices"

	"nqueens/pkg/queens"
	"nqueens/pkg/split"
)

// taskLookup makes tasks from their ids, for pending results and disputes. It works beside
// the event loop: in a large run that takes a while.
type taskLookup struct {
	manifest queens.Manifest
	requests chan []uint64
	found    chan queens.Task
}

func newTaskLookup(m queens.Manifest) *taskLookup {
	return &taskLookup{manifest: m, requests: make(chan []uint64), found: make(chan queens.Task, maxBatch)}
}

// run looks up the tasks requested until ctx ends.
func (l *taskLookup) run(ctx context.Context) error {
	for {
		select {
		case ids := <-l.requests:
			slices.Sort(ids)
			err := split.Find(ctx, &l.manifest, ids, func(task queens.Task) {
				select {
				case l.found <- task:
				case <-ctx.Done():
				}
			})
			if err != nil && ctx.Err() == nil {
				return err
			}
		case <-ctx.Done():
			return nil
		}
	}
}
