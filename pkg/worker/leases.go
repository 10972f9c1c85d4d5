package worker

import (
	"context"
	"fmt"
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
	waiting int32 = iota
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

	lastPulse uint64 // used by keepLeases alone
}

// leases are all the tasks that a worker holds.
type leases struct {
	mu        sync.Mutex
	all       map[*heldTask]struct{}
	renewedAt time.Time         // when leases were last looked after
	stalled   int               // searches that did not advance then
	limiter   ratelimit.Limiter // of store errors
}

func (s *leases) add(task queens.Task, lease run.Lease) *heldTask {
	h := &heldTask{task: task, lease: lease}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = make(map[*heldTask]struct{})
	}
	s.all[h] = struct{}{}
	return h
}

func (s *leases) remove(h *heldTask) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, h)
}

func (s *leases) list() []*heldTask {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*heldTask, 0, len(s.all))
	for h := range s.all {
		list = append(list, h)
	}
	return list
}

// logStoreError logs that a result can't be stored, once in a while for all of them.
func (s *leases) logStoreError(log *zerolog.Logger, err error) {
	if !s.limiter.Allow("") {
		return
	}
	log.Warn().Err(err).Int("held", len(s.list())).Msg("can't store results, holding them and trying again")
}

// renewLoop extends the leases of the tasks held, three times in the length of a
// lease, as long as the worker really works: that of a search that stands still is
// left to lapse, and those of tasks that wait behind such searches too.
func (w *Worker) renewLoop(ctx context.Context) {
	tick := time.NewTicker(w.cfg.Lease / 3)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		keep, stalled := renewable(w.leases.list())
		w.leases.noteRenewal(stalled)
		for _, h := range keep {
			if err := h.lease.Extend(); err != nil {
				w.cfg.Log.Debug().Err(err).Uint64("task", h.task.ID).Msg("lease not extended")
			}
		}
	}
}

func (s *leases) noteRenewal(stalled int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.renewedAt, s.stalled = time.Now(), stalled
}

// Live returns nil while the worker gets on: it looks after its leases, and its searches
// advance. Before [Worker.Run] it does.
func (w *Worker) Live() error {
	s := &w.leases
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.renewedAt.IsZero():
		return nil
	case time.Since(s.renewedAt) > w.cfg.Lease:
		return fmt.Errorf("leases were not looked after for %v", time.Since(s.renewedAt).Round(time.Second))
	case s.stalled > 0:
		return fmt.Errorf("%d searches stand still", s.stalled)
	}
	return nil
}

// progressGrace is when a search that has begun should show that it advances.
const progressGrace = time.Second

// renewable returns the holdings whose leases deserve to be extended, and how many searches
// stand still, and notes how far they are.
func renewable(held []*heldTask) (keep []*heldTask, stalled int) {
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
				keep = append(keep, h)
			} else if time.Since(h.startedAt) > progressGrace {
				stalled++
			}
		case reporting, declined:
			keep = append(keep, h)
		}
	}
	if advanced > 0 || searches == 0 {
		keep = append(keep, queued...)
	}
	return keep, stalled
}
