package coordinator

import (
	"fmt"
	"time"
)

// inject makes a fault of the whole world, now and then.
func (w *world) inject() {
	h := w.hosts[w.rng.IntN(len(w.hosts))]
	switch {
	case w.fault("queue loses messages", 0.004):
		w.loseQueue()
	case w.fault("stream rolled back", 0.006):
		w.stream.roll(1 + w.rng.IntN(8))
	case w.fault("stream made again", 0.003):
		w.stream.remake()
	case w.fault("server rolled back", 0.003):
		w.stream.roll(1 + w.rng.IntN(20))
		w.loseQueue()
	case w.fault("stream full", 0.004):
		w.stream.full = true
	case w.fault("coordinator restarted", 0.01):
		h.stop()
		if len(w.hosts) == 1 {
			w.start(h.folder)
		}
	case w.fault("second coordinator", 0.003):
		if len(w.hosts) < 3 {
			w.fork(h)
		}
	case w.fault("backup", 0.003):
		w.backup = w.copyOf(h)
	case w.fault("backup restored", 0.004):
		w.restore(h)
	case w.fault("server's clock jumps", 0.004):
		w.stream.skew += time.Duration(w.rng.Int64N(int64(4*time.Hour))) - 2*time.Hour
	case w.fault("clock jumps", 0.004):
		time.Sleep(time.Duration(w.rng.Int64N(int64(3 * time.Hour))))
		h.tick()
	case w.fault("heartbeats dropped", 0.003):
		h.cfg.Roster.NoteDropped()
	case w.fault("quarantine lifted", 0.003):
		w.lift(h)
	default:
		w.injectWorker()
	}
}

// injectWorker makes a fault of a worker, now and then.
func (w *world) injectWorker() {
	p := w.workers[w.rng.IntN(len(w.workers))]
	switch {
	case p.gone || !p.returns.IsZero():
	case w.fault("worker lost", 0.01):
		p.die()
	case w.fault("worker leaves", 0.004) && w.present() > 1:
		p.leave()
	case w.fault("worker joins", 0.004) && w.present() < 8:
		w.join([]byte{1})
	case w.fault("hostile worker joins", 0.003) && w.present() < 8:
		w.joinHostile()
	}
}

// present returns the number of workers that have not left.
func (w *world) present() (n int) {
	for _, p := range w.workers {
		if !p.gone {
			n++
		}
	}
	return n
}

// lift ends the quarantine of a key, as an operator may.
func (w *world) lift(h *host) {
	all := h.ledger.Quarantined()
	if len(all) == 0 || len(h.lifted) == cap(h.lifted) {
		return
	}
	key := all[w.rng.IntN(len(all))].Key
	w.note("epoch %d: lifts %s", h.epoch, key)
	h.core.lift(time.Now(), lift{key, h.lifted})
	h.settle()
}

// calm ends the faults: what disrupts the run leaves, and enough honest voters are there.
func (w *world) calm() {
	w.note("calm")
	w.quiet, w.stream.full = true, false
	stay := w.rng.IntN(2) == 0
	liars := make(map[string]bool)
	for _, keys := range w.lies {
		for key, admitted := range keys {
			if admitted {
				liars[key] = true
			}
		}
	}
	for _, p := range w.workers {
		if p.traits.isDisruptive() || p.traits.lying != never && !stay {
			if !p.gone {
				p.leave()
			}
			continue
		}
		if p.traits.lying != never {
			liars[p.key] = true
			for _, s := range p.traits.keys {
				liars[s.key] = true
			}
		}
	}
	for range max(len(liars)+1, w.setup.redundancy, 3) {
		w.join([]byte{1})
	}
	for _, h := range w.hosts {
		h.cutOff = time.Time{}
		w.left = w.setup.board.manifest.Tasks - h.core.agreement.Done()
	}
	w.note("%d liars stay: %v; %s", len(liars), stay, fmt.Sprint(w.faults.count))
}
