package ledger

import (
	"math"
	"time"

	"nqueens/pkg/queens"
)

// maxFigureWorkers bounds the workers whose tasks [Figures] counts.
const maxFigureWorkers = 1 << 16

// Figures are sums over the accepted results, for progress only: the total is never made of them.
type Figures struct {
	solutions [9]queens.Sum // By the k of the class, 1 to 8.
	coreTime  queens.Sum    // Nanoseconds.
	workers   map[string]uint64
	others    uint64 // Tasks of workers that are not in workers.
}

// Figures returns sums over the accepted results, which Open, Accept and Void keep current. It reads nothing.
// What holds for other methods of the ledger holds for those of Figures: only one goroutine at a time may
// use them.
func (l *Ledger) Figures() *Figures { return &l.figures }

// Solutions returns the number of solutions found on the classes of a k, 1 to 8, each counted once. A solution on
// such a class weighs 8/k.
func (f *Figures) Solutions(k int) queens.Sum { return f.solutions[k] }

// CoreTime returns the time that the searches took, all added up.
func (f *Figures) CoreTime() time.Duration {
	if all := f.coreTime.Big(); all.IsInt64() {
		return time.Duration(all.Int64())
	}
	return math.MaxInt64
}

// Tasks returns the number of tasks whose accepted result is from a worker of that name. The coordinator's
// own counts are not a worker's. If more than 65536 names have counted, it is 0 for some.
func (f *Figures) Tasks(worker string) uint64 { return f.workers[worker] }

// Workers returns the number of names of workers with accepted results, at most 65536.
func (f *Figures) Workers() int { return len(f.workers) }

// figure is what an accepted result adds to figures.
type figure struct {
	k        int
	count    uint64
	coreTime uint64 // Nanoseconds.
	worker   string // Empty for the coordinator.
}

// figureOf returns what an accepted result adds to the figures.
func (l *Ledger) figureOf(r *queens.Result) figure {
	m := &l.header.Manifest
	f := figure{k: m.Classes[m.ClassOf(r.Task)].K, count: r.Count, coreTime: uint64(max(0, r.Elapsed))}
	if !r.IsOwn() {
		f.worker = r.Worker
	}
	return f
}

func (f *Figures) add(a *figure) {
	f.solutions[a.k].Add(a.count)
	f.coreTime.Add(a.coreTime)
	if a.worker != "" {
		f.addTasks(a.worker, 1)
	}
}

// remove reverses add.
func (f *Figures) remove(a *figure) {
	f.solutions[a.k].Subtract(a.count)
	f.coreTime.Subtract(a.coreTime)
	switch n := f.workers[a.worker]; {
	case a.worker == "":
	case n > 1:
		f.workers[a.worker] = n - 1
	case n == 1:
		delete(f.workers, a.worker)
	default:
		f.others--
	}
}

// addTasks adds accepted results of a worker.
func (f *Figures) addTasks(worker string, tasks uint64) {
	if f.workers == nil {
		f.workers = make(map[string]uint64)
	}
	n, known := f.workers[worker]
	if !known && len(f.workers) >= maxFigureWorkers {
		f.others += tasks
		return
	}
	f.workers[worker] = n + tasks
}

// loadedFigures are the figures of some results, which are noted in order of task: neighbours mostly have one class
// and one worker.
type loadedFigures struct {
	solutions [9]queens.Sum
	coreTime  queens.Sum

	class struct {
		first, end uint64 // Its tasks.
		k          int
	}
	worker   string  // The latest.
	tasks    *uint64 // Of that worker.
	byWorker map[string]*uint64
}

// note adds a result.
func (f *loadedFigures) note(m *queens.Manifest, r *queens.Result) {
	if c := &f.class; r.Task < c.first || r.Task >= c.end {
		i := m.ClassOf(r.Task)
		c.first, c.end, c.k = m.Classes[i].First, m.Classes[i].First+m.TasksOf(i), m.Classes[i].K
	}
	f.solutions[f.class.k].Add(r.Count)
	f.coreTime.Add(uint64(max(0, r.Elapsed)))
	if r.IsOwn() {
		return
	}
	if f.tasks == nil || r.Worker != f.worker {
		f.worker = r.Worker
		if f.tasks = f.byWorker[r.Worker]; f.tasks == nil {
			f.tasks = new(uint64)
			f.byWorker[r.Worker] = f.tasks
		}
	}
	*f.tasks++
}

// merge adds the figures of loaded results.
func (f *Figures) merge(g *loadedFigures) {
	for k := range f.solutions {
		f.solutions[k].AddSum(g.solutions[k])
	}
	f.coreTime.AddSum(g.coreTime)
	for worker, tasks := range g.byWorker {
		f.addTasks(worker, *tasks)
	}
}
