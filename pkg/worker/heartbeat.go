package worker

import (
	"cmp"
	"context"
	"slices"
	"time"

	"nqueens/pkg/run"
)

// beatEvery is the time between heartbeats.
const beatEvery = 3 * time.Second

// beat tells the coordinators that the worker lives and what it searches: every few
// seconds, when it is asked to, and at the end, that the worker leaves. It makes all
// heartbeats, one after the other, so that the last to be published is the last made.
func (w *Worker) beat(ctx context.Context) {
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	w.say(false)
	for {
		select {
		case <-tick.C:
			w.say(false)
		case first := <-w.announcements:
			asked := w.alsoAsked(first)
			w.say(false)
			for _, said := range asked {
				close(said)
			}
		case <-ctx.Done():
			w.say(true)
			return
		}
	}
}

// announce publishes a heartbeat before a search begins, where the task was given out
// before: whoever had it may have died of it, and so may this worker. Its last
// heartbeat then names the task.
func (w *Worker) announce(h *holding) {
	if h.lease.Redelivered() || h.task.Attempt > 1 {
		said := make(chan struct{})
		w.announcements <- said
		<-said
	}
}

// alsoAsked returns an announcement and all others that wait: one heartbeat, which may
// take an exchange with the server, serves them all.
func (w *Worker) alsoAsked(first chan struct{}) []chan struct{} {
	asked := []chan struct{}{first}
	for {
		select {
		case next := <-w.announcements:
			asked = append(asked, next)
		default:
			return asked
		}
	}
}

func (w *Worker) say(leaving bool) {
	_ = w.outbox.PublishHeartbeat(run.Heartbeat{ // the next one, or silence, tells as much
		Worker:  w.cfg.Name,
		Version: w.cfg.Version,
		Kernel:  w.cfg.Kernel.Name,
		Threads: w.cfg.Threads,
		Leaving: leaving,
		Held:    searched(w.held.list()),
	})
}

// searched returns those of the tasks held that are being searched, the longest first.
func searched(held []*holding) []run.ActiveTask {
	var list []run.ActiveTask
	for _, h := range held {
		if h.stage.Load() == searching {
			list = append(list, run.ActiveTask{Run: h.task.Run, Task: h.task.ID, Elapsed: time.Since(h.begun)})
		}
	}
	slices.SortFunc(list, func(a, b run.ActiveTask) int { return cmp.Compare(b.Elapsed, a.Elapsed) })
	return list
}
