package worker

import (
	"cmp"
	"context"
	"slices"
	"time"

	"nqueens/pkg/run"
)

// The times between heartbeats.
const (
	busyHeartbeat = 3 * time.Second  // while the worker holds chunks
	idleHeartbeat = 10 * time.Second // while it holds none
	// settled is how long the worker is idle before a heartbeat says so at once, and the least
	// time between two heartbeats for a change.
	settled = time.Second
)

// heartbeatLoop publishes heartbeats, which name the chunks held: at intervals, when the worker
// begins or ceases to hold chunks or to pause, when a search asks for one, and at the end, that the worker
// leaves. No other goroutine does, so the last heartbeat published is the newest.
func (w *Worker) heartbeatLoop(ctx context.Context) {
	last := w.publishHeartbeat(false)
	last.busy = false // it has not held a chunk yet
	for {
		var flushed []chan struct{} // one heartbeat serves them all
		select {
		case <-time.After(w.nextHeartbeat(last)):
		case <-w.wakeAnnouncement:
			if w.nextHeartbeat(last) > 0 {
				continue
			}
		case first := <-w.flushes:
			flushed = append(flushed, first)
			for len(w.flushes) > 0 {
				flushed = append(flushed, <-w.flushes)
			}
		case <-ctx.Done():
			w.publishHeartbeat(true)
			return
		}
		last = w.publishHeartbeat(false)
		for _, published := range flushed {
			close(published)
		}
	}
}

// lastHeartbeat is what the last heartbeat said.
type lastHeartbeat struct {
	at     time.Time
	busy   bool   // the worker held chunks, or had none for less than settled
	paused string // why the worker paused, or empty
}

// nextHeartbeat returns how long to wait before the next heartbeat. A pause of less than settled
// between two chunks is no change.
func (w *Worker) nextHeartbeat(last lastHeartbeat) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	changed := last.at.Add(settled)
	next := last.at.Add(idleHeartbeat)
	switch busy := len(w.held) > 0; {
	case w.paused != last.paused:
		next = changed
	case busy && last.busy:
		next = last.at.Add(busyHeartbeat)
	case busy:
		next = changed
	case last.busy:
		if next = w.idleSince.Add(settled); next.Before(changed) {
			next = changed
		}
	}
	return max(0, next.Sub(now))
}

// flushHeartbeat publishes a heartbeat before the search of chunks if one of them was delivered before,
// or has tasks during whose search workers were lost: this worker may die of it too. Then its
// last heartbeat names the chunk.
func (w *Worker) flushHeartbeat(chunks ...*heldChunk) {
	if !slices.ContainsFunc(chunks, func(h *heldChunk) bool { return h.chunk.Suspect || h.lease.Redelivered() > 0 }) {
		return
	}
	published := make(chan struct{})
	w.flushes <- published
	<-published
}

// publishHeartbeat names the chunks held, and returns what it says.
func (w *Worker) publishHeartbeat(leaving bool) lastHeartbeat {
	w.mu.Lock()
	h := run.Heartbeat{
		Worker:  w.cfg.Name,
		Version: w.cfg.Version,
		Kernel:  w.cfg.Kernels(),
		Threads: w.threads,
		Busy:    w.busyThreads(),
		Paused:  w.paused,
		Leaving: leaving,
		Held:    w.heldChunks(),

		Admission: w.cfg.Admission,
	}
	busy := w.idle() < settled
	w.mu.Unlock()
	// An error needs no handling: the next heartbeat, or silence, tells as much.
	_ = w.telemetry.PublishHeartbeat(h, w.cfg.Identity)
	return lastHeartbeat{time.Now(), busy, h.Paused}
}

// heldChunks returns the chunks held, those in search first, of these the longest search. w.mu is held.
func (w *Worker) heldChunks() (list []run.HeldChunk) {
	for h := range w.held {
		chunk := run.HeldChunk{Run: h.chunk.Run, Chunk: h.chunk.ID, Elapsed: h.searched}
		if h.stage == searching {
			chunk.Searching, chunk.Elapsed = true, time.Since(h.batch.begunAt)
		}
		list = append(list, chunk)
	}
	slices.SortFunc(list, func(a, b run.HeldChunk) int {
		switch {
		case a.Searching && !b.Searching:
			return -1
		case b.Searching && !a.Searching:
			return 1
		}
		return cmp.Or(cmp.Compare(b.Elapsed, a.Elapsed), cmp.Compare(a.Chunk, b.Chunk))
	})
	return list[:min(len(list), run.MaxHeld)]
}
