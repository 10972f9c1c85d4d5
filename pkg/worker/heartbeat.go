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

// heartbeatLoop publishes heartbeats, which name the tasks being searched: every
// heartbeatInterval, when a search asks for one, and at the end, that the worker leaves.
// No other goroutine does, so the last heartbeat published is the newest.
func (w *Worker) heartbeatLoop(ctx context.Context) {
	tick := time.NewTicker(heartbeatInterval)
	defer tick.Stop()
	w.publishHeartbeat(false)
	for {
		select {
		case <-tick.C:
			w.publishHeartbeat(false)
		case first := <-w.flushes:
			waiting := []chan struct{}{first} // one heartbeat serves them all
			for len(w.flushes) > 0 {
				waiting = append(waiting, <-w.flushes)
			}
			w.publishHeartbeat(false)
			for _, published := range waiting {
				close(published)
			}
		case <-ctx.Done():
			w.publishHeartbeat(true)
			return
		}
	}
}

// flushHeartbeat publishes a heartbeat before the search of a task that was delivered
// before: its last worker may have died of it, and so may this one. Then its last
// heartbeat names the task.
func (w *Worker) flushHeartbeat(h *heldTask) {
	if h.lease.Redelivered() || h.task.Attempt > 1 {
		published := make(chan struct{})
		w.flushes <- published
		<-published
	}
}

// publishHeartbeat names the tasks being searched, the longest search first.
func (w *Worker) publishHeartbeat(leaving bool) {
	var active []run.ActiveTask
	for _, h := range w.list() {
		if h.stage.Load() == searching {
			active = append(active, run.ActiveTask{Run: h.task.Run, Task: h.task.ID, Elapsed: time.Since(h.startedAt)})
		}
	}
	slices.SortFunc(active, func(a, b run.ActiveTask) int { return cmp.Compare(b.Elapsed, a.Elapsed) })
	// An error needs no handling: the next heartbeat, or silence, tells as much.
	_ = w.heartbeats.PublishHeartbeat(run.Heartbeat{
		Worker:  w.cfg.Name,
		Version: w.cfg.Version,
		Kernel:  w.cfg.Kernel.Name,
		Threads: w.cfg.Threads,
		Leaving: leaving,
		Held:    active,
	})
}
