package ledger

import (
	"math"
	"time"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// maxContributors bounds the contributors that [Figures] tells apart.
const maxContributors = 1 << 16

// Figures are sums over the accepted results, for progress and reports only: the total is never made of them.
type Figures struct {
	solutions [queens.MaxWeight + 1]queens.Sum // by the weight of the class
	coreTime  queens.Sum                       // Nanoseconds.
	// by has what each contributed. It never shrinks, so that the results of a contributor are all there or all among
	// the others.
	by     map[contributor]*contribution
	others contribution
	latest contributor // Consecutive results mostly have one.
	of     *contribution
}

// contributor is a worker with a key and a kernel, or the coordinator with a kernel.
type contributor struct{ worker, key, kernel string }

type contribution struct {
	tasks    uint64
	coreTime queens.Sum
}

// Figures returns sums over the accepted results, which Open, Accept and Revoke keep current. It reads nothing.
// What holds for other methods of the ledger holds for those of Figures: only one goroutine at a time may
// use them.
func (l *Ledger) Figures() *Figures { return &l.figures }

// Solutions returns the numbers of solutions found on the classes of each weight, 1 to 8, each counted once.
func (f *Figures) Solutions() [queens.MaxWeight + 1]queens.Sum { return f.solutions }

// CoreTime returns the time that the searches took, all added up.
func (f *Figures) CoreTime() time.Duration { return duration(f.coreTime) }

// duration returns a sum of nanoseconds, or the longest duration if the sum is longer.
func duration(nanoseconds queens.Sum) time.Duration {
	if all := nanoseconds.Big(); all.IsInt64() {
		return time.Duration(all.Int64())
	}
	return math.MaxInt64
}

// Workers returns the numbers of tasks whose accepted results are from workers of a name. The coordinator's own
// counts are not a worker's. Of more than 65536 contributors, it lacks some.
func (f *Figures) Workers() map[string]uint64 {
	workers := make(map[string]uint64)
	for id, c := range f.by {
		if c.tasks > 0 && id.worker != run.Referee && id.worker != run.Checker {
			workers[id.worker] += c.tasks
		}
	}
	return workers
}

// Contributions returns what each contributed, in no order. Of more than 65536 contributors, the last is the sum of
// those that are not told apart, without a name.
func (f *Figures) Contributions() (all []run.Contribution) {
	for id, c := range f.by {
		if c.tasks > 0 {
			all = append(all, run.Contribution{
				Worker: id.worker, Key: id.key, Kernel: id.kernel, Tasks: c.tasks, CoreTime: run.Seconds{Duration: duration(c.coreTime)},
			})
		}
	}
	if f.others.tasks > 0 {
		all = append(all, run.Contribution{Tasks: f.others.tasks, CoreTime: run.Seconds{Duration: duration(f.others.coreTime)}})
	}
	return all
}

// add adds an accepted result.
func (f *Figures) add(m *queens.Manifest, r *run.Result) {
	f.count(m, r, (*queens.Sum).Add).tasks++
}

// remove reverses add.
func (f *Figures) remove(m *queens.Manifest, r *run.Result) {
	f.count(m, r, (*queens.Sum).Subtract).tasks--
}

// count adds the numbers of a result, or subtracts them, and returns the contribution to which the result belongs.
func (f *Figures) count(m *queens.Manifest, r *run.Result, change func(*queens.Sum, uint64)) *contribution {
	took, c := uint64(max(0, r.Elapsed)), f.contribution(contributor{r.Worker, r.Key, r.Kernel})
	change(&f.solutions[m.Classes[m.ClassOf(r.Task)].Weight], r.Count)
	change(&f.coreTime, took)
	change(&c.coreTime, took)
	return c
}

// contribution returns the contribution of a contributor, which may be new.
func (f *Figures) contribution(id contributor) *contribution {
	if f.of != nil && id == f.latest {
		return f.of
	}
	c := f.by[id]
	switch {
	case c != nil:
	case len(f.by) >= maxContributors:
		return &f.others
	default:
		if f.by == nil {
			f.by = make(map[contributor]*contribution)
		}
		c = new(contribution)
		f.by[id] = c
	}
	f.latest, f.of = id, c
	return c
}
