package coordinator

import (
	"slices"
	"time"

	"nqueens/pkg/run"
)

// ability is what becomes of the coordinator's own counts.
type ability int

const (
	absent ability = iota // it has none
	works
	slow // a short count ends before it is complete
	fails
)

func (a ability) String() string { return [...]string{"absent", "works", "slow", "fails"}[a] }

// startCount has the coordinator count a task.
func (h *host) startCount(o *ownCount) {
	w := h.w
	w.note("epoch %d: counts task %d, %d", h.epoch, o.task, o.kind)
	same := 0
	for i := range h.counting {
		if h.counting[i].task == o.task && h.counting[i].kind == o.kind && o.kind != checkCount {
			w.fatalf("the coordinator counts task %d twice at once", o.task)
		}
		if h.counting[i].kind == o.kind {
			same++
		}
	}
	threads := 1
	if o.kind == checkCount {
		threads = max(h.cfg.CheckThreads, 1)
	}
	if same >= threads {
		w.fatalf("the coordinator makes %d counts of kind %d at once", same+1, o.kind)
	}
	h.counting = append(h.counting, *o)
	took := time.Duration(1 + w.rng.Int64N(int64(2*w.setup.search)))
	if o.kind == longCount {
		took *= 100
	}
	h.ends = append(h.ends, time.Now().Add(took))
}

// endCount ends one of the coordinator's counts, if its time has come.
func (h *host) endCount() {
	now := time.Now()
	i := slices.IndexFunc(h.ends, func(at time.Time) bool { return !at.After(now) })
	if h.stopped || i < 0 {
		return
	}
	o := h.counting[i]
	h.counting, h.ends = slices.Delete(h.counting, i, i+1), slices.Delete(h.ends, i, i+1)
	task := h.w.setup.board.tasks[o.task]
	count := run.TaskCount{Hash: task.hash, Count: task.count, Kernel: "own", Elapsed: h.w.setup.search}
	err := h.w.countError(&o)
	if err != nil {
		count = run.TaskCount{}
	}
	h.w.note("epoch %d: counted task %d, %d: %v", h.epoch, o.task, o.kind, err)
	if o.kind == checkCount && h.core.agreement.Done() < h.w.setup.board.manifest.Tasks {
		h.checked += count.Elapsed
	}
	h.check(h.core.counted(now, &o, count, err))
}

// countError returns why a count of the coordinator fails, or nil.
func (w *world) countError(o *ownCount) error {
	s := &w.setup
	a := s.referee
	switch o.kind {
	case checkCount:
		a = s.check
	case aloneCount:
		a = s.alone
	case quickCount, longCount:
	}
	deadly := s.deadly[o.task] && o.kind != aloneCount
	switch {
	case deadly, a == fails, w.fault("own count fails", 0.05):
		return errCount
	case a == slow && o.kind == quickCount && s.board.manifest.ClassOf(o.task)%2 == 0:
		return errTooLong
	}
	return nil
}
