package worker

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/queens"
	"nqueens/pkg/ratelimit"
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

// leases is the set of tasks that a worker holds.
type leases struct {
	mu        sync.Mutex
	held      map[*heldTask]struct{}
	renewedAt time.Time         // when renewLoop last extended leases
	stalled   int               // searches that did not advance then
	limiter   ratelimit.Limiter // of store errors
}

func (l *leases) add(task queens.Task, lease run.Lease) *heldTask {
	h := &heldTask{task: task, lease: lease}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held == nil {
		l.held = make(map[*heldTask]struct{})
	}
	l.held[h] = struct{}{}
	return h
}

func (l *leases) remove(h *heldTask) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.held, h)
}

func (l *leases) list() []*heldTask {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Keys(l.held))
}

// logStoreError logs that a result can't be stored, at a limited rate for all of them.
func (l *leases) logStoreError(log *zerolog.Logger, err error) {
	if l.limiter.Allow("") {
		log.Warn().Err(err).Int("held", len(l.list())).Msg("can't store results, holding them and trying again")
	}
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
		renew, stalled := renewable(w.leases.list())
		w.leases.noteRenewal(stalled)
		for _, h := range renew {
			if err := h.lease.Extend(); err != nil {
				w.cfg.Log.Debug().Err(err).Uint64("task", h.task.ID).Msg("can't extend a lease")
			}
		}
	}
}

func (l *leases) noteRenewal(stalled int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.renewedAt, l.stalled = time.Now(), stalled
}

// Live returns nil while the worker extends its leases and all its searches advance, and
// before [Worker.Run].
func (w *Worker) Live() error {
	l := &w.leases
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.renewedAt.IsZero():
		return nil
	case time.Since(l.renewedAt) > w.cfg.Lease:
		return fmt.Errorf("leases were not extended for %v", time.Since(l.renewedAt).Round(time.Second))
	case l.stalled > 0:
		return fmt.Errorf("%d searches do not advance", l.stalled)
	}
	return nil
}

// progressGrace is how soon a search must show that it advances.
const progressGrace = time.Second

// renewable returns the tasks whose leases are to be extended, and the number of stalled
// searches. It remembers how far each search is.
func renewable(held []*heldTask) (renew []*heldTask, stalled int) {
	searches, advanced := 0, 0
	var queued []*heldTask
	for _, h := range held {
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
				stalled++
			}
		case reporting, declined:
			renew = append(renew, h)
		}
	}
	if advanced > 0 || searches == 0 {
		renew = append(renew, queued...)
	}
	return renew, stalled
}
