package worker

import (
	"context"
	"errors"
	"slices"
	"time"

	"nqueens/pkg/queens"
)

// pauseInterval is the time between two calls of [Config.Pause].
const pauseInterval = time.Second / 2

// errPaused is why a worker that pauses gives up its chunks.
var errPaused = errors.New("the worker pauses")

// pauseLoop asks when to pause, until ctx ends.
func (w *Worker) pauseLoop(ctx context.Context) {
	tick := time.NewTicker(pauseInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			w.setPaused(w.cfg.Pause())
		case <-ctx.Done():
			return
		}
	}
}

// setPaused begins a pause, or ends it if there is no reason. A pause ends all searches at once, without the grace
// of a worker that stops: the tasks that are counted are reported, and each thread loses one. The other chunks are
// released for other workers.
func (w *Worker) setPaused(reason string) {
	reason = queens.SanitizeName(reason)
	w.mu.Lock()
	defer w.mu.Unlock()
	before, now := w.paused, time.Now()
	if reason == before {
		return
	}
	w.paused = reason
	wake(w.wakeAnnouncement)
	if reason == "" {
		w.idleSince = now
		wake(w.wakeFetch)
		w.cfg.Log.Info().Float64("paused_s", now.Sub(w.pausedAt).Seconds()).Msg("the pause is over")
		return
	}
	w.cfg.Log.Info().Str("reason", reason).Msg("paused: its tasks go to other workers")
	if before != "" {
		return // it holds nothing
	}
	w.pausedAt = now
	for _, h := range slices.Clone(w.ready) {
		w.recall(h, errPaused)
	}
	for b := range w.batches {
		b.cancel(errPaused)
	}
}

// idleWithoutPause returns how long the worker has held no chunk since its last pause.
func (w *Worker) idleWithoutPause() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.paused != "" {
		return 0
	}
	return w.idle()
}
