package worker

import (
	"cmp"
	"context"
	"slices"
	"time"

	"nqueens/pkg/run"
)

// heartbeatInterval is the time between heartbeats.
const heartbeatInterval = 3 * time.Second

// heartbeatLoop tells the coordinators that the worker lives and what it searches: every few
// seconds, when it is asked to, and at the end, that the worker leaves. It makes all
// heartbeats, one after the other, so that the last to be published is the last made.
func (w *Worker) heartbeatLoop(ctx context.Context) {
	tick := time.NewTicker(heartbeatInterval)
	defer tick.Stop()
	w.publishHeartbeat(false)
	for {
		select {
		case <-tick.C:
			w.publishHeartbeat(false)
		case first := <-w.flushes:
			asked := w.drainFlushes(first)
			w.publishHeartbeat(false)
			for _, said := range asked {
				close(said)
			}
		case <-ctx.Done():
			w.publishHeartbeat(true)
			return
		}
	}
}

// flushHeartbeat publishes a heartbeat before a search begins, where the task was given out
// before: whoever had it may have died of it, and so may this worker. Its last
// heartbeat then names the task.
func (w *Worker) flushHeartbeat(h *heldTask) {
	if h.lease.Redelivered() || h.task.Attempt > 1 {
		said := make(chan struct{})
		w.flushes <- said
		<-said
	}
}

// drainFlushes returns an announcement and all others that wait: one heartbeat, which may
// fetchLoop an exchange with the server, serves them all.
func (w *Worker) drainFlushes(first chan struct{}) []chan struct{} {
	asked := []chan struct{}{first}
	for {
		select {
		case next := <-w.flushes:
			asked = append(asked, next)
		default:
			return asked
		}
	}
}

func (w *Worker) publishHeartbeat(leaving bool) {
	_ = w.heartbeats.PublishHeartbeat(run.Heartbeat{ // the next one, or silence, tells as much
		Worker:  w.cfg.Name,
		Version: w.cfg.Version,
		Kernel:  w.cfg.Kernel.Name,
		Threads: w.cfg.Threads,
		Leaving: leaving,
		Held:    activeTasks(w.leases.list()),
	})
}

// activeTasks returns those of the tasks held that are being searched, the longest first.
func activeTasks(held []*heldTask) []run.ActiveTask {
	var list []run.ActiveTask
	for _, h := range held {
		if h.stage.Load() == searching {
			list = append(list, run.ActiveTask{Run: h.task.Run, Task: h.task.ID, Elapsed: time.Since(h.startedAt)})
		}
	}
	slices.SortFunc(list, func(a, b run.ActiveTask) int { return cmp.Compare(b.Elapsed, a.Elapsed) })
	return list
}
