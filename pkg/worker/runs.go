package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"nqueens/pkg/backoff"
	"nqueens/pkg/run"
)

// knownRun is a run that was heard of.
type knownRun struct {
	announcement run.Announcement // the newest
	heardAt      time.Time        // when it came, or when the connection was made again
	alive        bool
	queued       int // chunks waiting, by the newest announcement or loan
	// refusedAt is when an announcement last named this worker's key as not admitted; zero if none does.
	refusedAt time.Time
}

// The reasons for which the worker gives up a chunk before it is counted.
var (
	errStopped  = errors.New("the run is stopped")
	errSilent   = errors.New("the run's coordinator is silent")
	errEnded    = errors.New("the run has ended")
	errObsolete = errors.New("the chunk is obsolete")
	errDistrust = errors.New("the run refuses the results of this worker")

	// errUnwanted ends the search of a batch of which the worker has given up all chunks.
	errUnwanted = errors.New("no chunk of the search is wanted")
)

// removes reports whether nobody needs a chunk that is given up for that reason.
func removes(reason error) bool {
	return errors.Is(reason, errEnded) || errors.Is(reason, errObsolete)
}

const (
	// watchInterval is how often to look at the connection and for silent runs.
	watchInterval = time.Second / 2
	// forgetAfter is how long to remember a run that is not alive.
	forgetAfter = 10 * time.Minute
	// maxRuns bounds the runs that are known: names come from outside.
	maxRuns = 1000
)

// subscribe subscribes to announcements, and tries again until it succeeds or ctx ends.
func (w *Worker) subscribe(ctx context.Context) (unsubscribe func()) {
	w.setConnected()
	retry := backoff.Backoff{Least: time.Second, Most: 30 * time.Second}
	for {
		unsubscribe, err := w.telemetry.SubscribeAnnouncements(w.observe)
		if err == nil {
			return unsubscribe
		}
		w.cfg.Log.Debug().Err(err).Msg("can't subscribe to announcements, trying again")
		select {
		case <-ctx.Done():
			return func() {}
		case <-time.After(retry.Pause()):
		}
	}
}

// observe handles an announcement. The newest coordinator of a living run is believed, and no older one.
func (w *Worker) observe(b run.Announcement) {
	defer wake(w.wakeFetch)
	w.mu.Lock()
	defer w.mu.Unlock()
	k := w.runs[b.Run]
	if k == nil {
		if len(w.runs) >= maxRuns {
			return
		}
		k = new(knownRun)
		w.runs[b.Run] = k
	}
	if k.alive && b.Epoch < k.announcement.Epoch {
		return
	}
	k.announcement, k.heardAt, k.queued = b, time.Now(), b.Waiting
	k.announcement.Obsolete, k.announcement.Quarantined, k.announcement.Unadmitted = nil, nil, nil
	switch {
	case b.State == run.Running && slices.Contains(b.Quarantined, w.cfg.Identity.Key()):
		w.quarantined(b.Run, k)
	case b.State == run.Running && w.isRefused(&b, k):
		w.end(b.Run, k, errDistrust)
	case b.State == run.Running:
		k.alive = true
		w.shares.set(b.Run, b.Weight, k.heardAt)
		w.recallObsolete(&b)
	case b.State.Finished():
		w.end(b.Run, k, errEnded)
	default:
		w.end(b.Run, k, errStopped)
	}
}

// end gives up the chunks of a run that is not alive. w.mu is held.
func (w *Worker) end(name string, k *knownRun, reason error) {
	k.alive = false
	delete(w.shares, name)
	for h := range w.held {
		if h.chunk.Run == name {
			w.recall(h, reason)
		}
	}
}

// refusedFor is how long a key counts as not admitted after an announcement has named it, if the announcements since then
// name as many keys as they can, and so perhaps not all.
const refusedFor = 2 * time.Minute

// isRefused reports whether a run refuses the results of this worker because its key is not admitted. The
// worker leaves the chunks of that run alone and goes on with others. w.mu is held.
func (w *Worker) isRefused(b *run.Announcement, k *knownRun) bool {
	key := w.cfg.Identity.Key()
	switch {
	case slices.Contains(b.Unadmitted, key):
		if k.refusedAt.IsZero() {
			w.cfg.Log.Warn().Str("run", b.Run).Str("key", key).Msg("the run takes counts of admitted keys only, and this worker's key is not admitted: " +
				"the worker leaves its tasks alone. coordinator keys add worker NAME --public-key " + key + " admits it, and so does the join token (--token-file)")
		}
		k.refusedAt = k.heardAt
	case len(b.Unadmitted) < run.MaxUnadmitted || k.heardAt.Sub(k.refusedAt) > refusedFor:
		k.refusedAt = time.Time{}
	}
	return !k.refusedAt.IsZero()
}

// quarantined gives up the chunks of a run that refuses the results of this worker, and makes the
// worker leave: its counts may be wrong for other runs too. w.mu is held.
func (w *Worker) quarantined(name string, k *knownRun) {
	w.end(name, k, errDistrust)
	if w.quarantine != nil {
		return
	}
	key := w.cfg.Identity.Key()
	reason := fmt.Sprintf("the coordinator of run %s has proven a count of this worker wrong, and accepts nothing more from key %s: "+
		"check the machine's memory and cooling; then coordinator keys lift %s admits it again", name, key, key)
	w.quarantine = fmt.Errorf("%w: %s", ErrQuarantined, reason)
	w.cfg.Log.Error().Str("run", name).Str("key", key).Msg("leaving: this worker's key is quarantined: " + reason)
	w.leave()
}

// recallObsolete gives up the chunks that an announcement names. w.mu is held.
func (w *Worker) recallObsolete(b *run.Announcement) {
	if len(b.Obsolete) == 0 {
		return
	}
	obsolete := make(map[uint64]bool, len(b.Obsolete))
	for _, id := range b.Obsolete {
		obsolete[id] = true
	}
	for h := range w.held {
		if h.chunk.Run == b.Run && obsolete[h.chunk.ID] {
			w.recall(h, errObsolete)
		}
	}
}

// recall gives up a chunk, unless its result is on its way: then it stops the report only if
// nobody needs the result. w.mu is held.
func (w *Worker) recall(h *heldChunk, reason error) {
	switch h.stage {
	case ready:
		w.takeBack(h)
		h.stage = leaving
		w.giveUp(h, reason)
	case searching:
		h.unwanted = cmp.Or(h.unwanted, reason)
		h.batch.endUnwanted()
	case reporting, leaving:
	}
	if errors.Is(reason, errEnded) || errors.Is(reason, errDistrust) {
		h.cancelReport(reason)
	}
}

// watchLoop watches the connection, and ends runs that have fallen silent, until ctx ends.
func (w *Worker) watchLoop(ctx context.Context) {
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if w.setConnected() {
			w.endSilent()
		}
	}
}

// setConnected notes whether there is a connection. After a time without one, all runs that were
// alive get their full time for the next announcement.
func (w *Worker) setConnected() bool {
	connected := w.telemetry.Connected() == nil // before the lock: it may take time
	w.mu.Lock()
	defer w.mu.Unlock()
	if connected && !w.connected {
		for _, k := range w.runs {
			k.heardAt = time.Now() // of a run that is not alive it does not matter
		}
		wake(w.wakeFetch)
	}
	w.connected = connected
	return connected
}

// endSilent gives up the chunks of runs that have fallen silent, and forgets the runs that were
// not heard for long; all that are not alive if it knows no further ones.
func (w *Worker) endSilent() {
	w.mu.Lock()
	defer w.mu.Unlock()
	full := len(w.runs) >= maxRuns
	for name, k := range w.runs {
		switch silent := time.Since(k.heardAt); {
		case k.alive && silent > run.SilentAfter:
			w.end(name, k, errSilent)
		case !k.alive && (full || silent > forgetAfter):
			delete(w.runs, name)
		}
	}
}
