package worker

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// The stages of a task in a worker.
const (
	waiting int32 = iota // for a thread
	searching
	reporting
	declined
)

// heldTask is a task that the worker holds.
type heldTask struct {
	task      queens.Task
	lease     run.Lease
	stage     atomic.Int32
	pulse     atomic.Uint64 // grows while the search advances
	startedAt time.Time     // set before the stage is searching
	result    queens.Result // set before the stage is reporting

	lastPulse uint64 // used by renewLoop alone
}

func (w *Worker) hold(task queens.Task, lease run.Lease) *heldTask {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := &heldTask{task: task, lease: lease}
	w.held[h] = struct{}{}
	return h
}

func (w *Worker) drop(h *heldTask) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.held, h)
}

func (w *Worker) list() []*heldTask {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Collect(maps.Keys(w.held))
}

// renewLoop extends the leases of the tasks held, three times per lease, while the worker
// makes progress: it lets the leases of stalled searches lapse, and those of tasks that
// wait behind them.
func (w *Worker) renewLoop(ctx context.Context) {
	tick := time.NewTicker(w.cfg.Lease / 3)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		for _, h := range w.renewable() {
			if err := h.lease.Extend(); err != nil {
				w.cfg.Log.Debug().Err(err).Uint64("task", h.task.ID).Msg("can't extend a lease")
			}
		}
	}
}

// Live returns nil while the worker extends its leases and all its searches advance, and
// before [Worker.Run].
func (w *Worker) Live() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch since := time.Since(w.renewedAt); {
	case w.renewedAt.IsZero():
		return nil
	case since > w.cfg.Lease:
		return fmt.Errorf("leases were not extended for %v", since.Round(time.Second))
	case w.stalled > 0:
		return fmt.Errorf("%d searches do not advance", w.stalled)
	}
	return nil
}

// progressGrace is how soon a search must show that it advances.
const progressGrace = time.Second

// renewable returns the tasks whose leases are to be extended, and counts the stalled
// searches. It remembers how far each search is.
func (w *Worker) renewable() (renew []*heldTask) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.renewedAt, w.stalled = time.Now(), 0
	searches, advanced := 0, 0
	var queued []*heldTask
	for h := range w.held {
		switch h.stage.Load() {
		case waiting:
			queued = append(queued, h)
		case searching:
			searches++
			if pulse := h.pulse.Load(); pulse != h.lastPulse {
				h.lastPulse = pulse
				advanced++
				renew = append(renew, h)
			} else if time.Since(h.startedAt) > progressGrace {
				w.stalled++
			}
		case reporting, declined:
			renew = append(renew, h)
		}
	}
	if advanced > 0 || searches == 0 {
		renew = append(renew, queued...)
	}
	return renew
}
