package core

import (
	"time"

	"nqueens/pkg/queens"
)

// measureEvery is the time between two measurements of the speed of all searchers.
const measureEvery = time.Second

// part is what a present worker adds to the sums.
type part struct{ searchers, threads, idle int }

// sums are sums of all present workers.
type sums struct {
	part
	workers   int
	accepted  int // workers from which counts are accepted
	computers int
	witnesses map[queens.Witness]int // for each witness, accepted
}

// admit adds a present worker to the accepted or to the refused ones.
func (f *fleet) admit(w *worker) {
	if !f.accepts(w.process.Machine) {
		w.inRefused = f.refused.PushBack(w)
		return
	}
	f.sums.accepted++
	f.sums.witnesses[w.process.Machine.Witness()]++
}

// expel removes a worker from the accepted or the refused ones.
func (f *fleet) expel(w *worker) {
	if w.inRefused != nil {
		f.refused.Remove(w.inRefused)
		w.inRefused = nil
		return
	}
	f.sums.accepted--
	witness := w.process.Machine.Witness()
	f.sums.witnesses[witness]--
	if f.sums.witnesses[witness] == 0 {
		delete(f.sums.witnesses, witness)
	}
}

// refuse notes the present workers from which nothing is accepted any more, after a ban, and
// returns them.
func (f *fleet) refuse() (refused []*worker) {
	for _, w := range f.numbers {
		if w.present && w.inRefused == nil && !f.accepts(w.process.Machine) {
			f.expel(w)
			f.admit(w)
			refused = append(refused, w)
		}
	}
	return refused
}

// sum corrects what a worker adds to the sums.
func (f *fleet) sum(w *worker) {
	p := part{}
	if w.present {
		r := &w.request
		idle := max(r.Searchers-w.chunks, 0)
		p = part{r.Searchers, r.Threads, idle * r.Threads / max(r.Searchers, 1)}
	}
	f.sums.searchers += p.searchers - w.summed.searchers
	f.sums.threads += p.threads - w.summed.threads
	f.sums.idle += p.idle - w.summed.idle
	w.summed = p
	speed := w.rate.speed()
	if n := w.speed; n != nil {
		if w.present && n.speed == speed && n.searchers == p.searchers {
			return
		}
		f.speeds.remove(n)
		w.speed = nil
	}
	if w.present && speed > 0 {
		w.speed = f.speeds.add(w, speed)
	}
}

// measure measures the speed of all searchers together, and the median speed, at most once a
// second. Searchers without a result count as fast as the others.
func (f *fleet) measure(now time.Duration) {
	if now-f.measured < measureEvery {
		return
	}
	f.median = 0
	if n := f.speeds.len(); n > 0 {
		f.median = f.speeds.at(n / 2).speed
	}
	work, known := f.speeds.sum()
	f.speed, f.measured = work/float64(max(known, 1))*float64(f.sums.searchers), now
}
