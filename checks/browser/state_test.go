package browser_test

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"slices"
	"time"

	"nqueens/pkg/dashboard"
	"nqueens/pkg/enumerate"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/symmetry"
)

// state is what a page is told of a run.
type state struct {
	source   dashboard.Source
	status   string
	snapshot run.Snapshot
	detail   *run.Detail // nil from a watch
	manifest *queens.Manifest
	work     []float64
	past     map[string]any // a history instead of that of the page; nil for none
}

func (s *state) update(p *dashboard.Page) {
	shares := slices.Clone(s.work)
	for i := range shares {
		shares[i] /= float64(s.manifest.TasksOf(i))
	}
	p.SetManifest(s.manifest, shares, enumerate.Construct(s.manifest.N))
	p.SetStatus(s.status)
	p.Update(new(s.snapshot))
}

// share is how much of the work is done of a run that is counting.
const share = 0.4271

// counting returns a run of side n in the middle, as its coordinator sees it.
func counting(name string, n, workers int) *state {
	s := &state{source: dashboard.Coordinator}
	s.split(n)
	s.hire(workers)
	counts, flight, done := s.countClasses()
	seconds := func(hours, minutes int) run.Seconds {
		return run.Seconds{Duration: time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute}
	}
	s.snapshot = run.Snapshot{
		Run: name, N: n, Symmetry: queens.Full, State: run.Running, At: time.Now(), Done: done, Tasks: s.manifest.Tasks, WorkDone: share,
		Solutions: decimal("100279844124731812"), Rate: s.snapshot.Rate, Elapsed: seconds(74, 3), ETA: &run.ETA{Min: seconds(94, 0), Max: seconds(103, 0)},
		Workers: workers, Threads: s.snapshot.Threads, IdleThreads: 24, Republished: 12, Disputes: 3, Quarantined: 1, Bottleneck: run.BySearch,
		States:     run.TaskStates{InFlight: flight, Waiting: s.manifest.Tasks - done - flight - 3, Disputed: 2, DeadLettered: 1},
		WorkerList: s.snapshot.WorkerList,
	}
	s.detail.Classes = counts
	s.detail.Confirmation = run.Confirmation{Redundancy: 1, Tasks: done, Checked: done / 20, Disputes: 3}
	s.detail.Redundancy, s.detail.SpotCheck = 1, run.SpotCheck{Share: 0.05}
	s.detail.Disputes = []run.Dispute{{Task: 117, Votes: []run.Result{{Count: 88210344, Worker: "node-01/1", Key: key(1)}, {Count: 88210345, Worker: "node-03/3", Key: key(3)}}}}
	s.detail.Quarantined = []run.QuarantinedKey{{Key: key(3), Worker: "node-03/3", Reason: "its count of task 88 was outvoted", At: time.Now().Add(-3 * time.Hour)}}
	s.detail.Search = s.search()
	return s
}

// decimal returns a number of solutions.
func decimal(digits string) *run.Decimal {
	x, _ := new(big.Int).SetString(digits, 10)
	return (*run.Decimal)(x)
}

func key(i int) string { return fmt.Sprintf("UBX2QWERTY7%045d", i) }

// split makes the classes of a board of side n, with as many tasks as they may have.
func (s *state) split(n int) {
	classes, err := symmetry.Classes(n, queens.Full)
	if err != nil {
		panic(err) // n is that of a test
	}
	s.manifest = &queens.Manifest{N: n, Symmetry: queens.Full}
	total := 0.0
	for i := range classes {
		s.work = append(s.work, size(&classes[i].Board))
		total += s.work[i]
	}
	for i := range classes {
		s.work[i] /= total
		s.manifest.Classes = append(s.manifest.Classes, queens.ClassPlan{Class: classes[i], Depth: 4, Batch: 8, First: s.manifest.Tasks})
		s.manifest.Tasks += 3 + uint64(60_000*s.work[i])
	}
}

// size grows with the search of a board.
func size(b *queens.Board) float64 {
	size := 1.0
	for _, allow := range b.Allow[:b.N] {
		size *= math.Pow(float64(bits.OnesCount32(allow)), 0.45)
	}
	return size
}

// hire adds workers, of which some are idle and a few quarantined.
func (s *state) hire(workers int) {
	s.detail = &run.Detail{At: time.Now()}
	kernels := []string{"avx512", "avx2", "neon", "generic"}
	for i := range workers {
		w := run.Worker{
			Name: fmt.Sprintf("node-%02d/%d", i%97, i), Kernel: kernels[i%7%4], Threads: 8 << (i % 4),
			Rate: 2.06e8 * float64(8+i%13), Held: 1 + i%5, Oldest: run.Seconds{Duration: time.Duration(i*37%4000) * time.Second},
			Key: key(i), Tasks: uint64(100 + i*7919%5000), Quarantined: i%41 == 3,
		}
		if i%23 == 4 {
			w.Held, w.Rate, w.Oldest = 0, 0, run.Seconds{}
		}
		s.snapshot.Threads += w.Threads
		s.snapshot.Rate += w.Rate
		s.detail.Workers = append(s.detail.Workers, w)
		if len(s.snapshot.WorkerList) < run.MaxWorkers {
			w.Key, w.Tasks, w.Quarantined = "", 0, false // which a snapshot does not have
			s.snapshot.WorkerList = append(s.snapshot.WorkerList, w)
		}
	}
}

// countClasses divides what is done among the classes, in order.
func (s *state) countClasses() (counts []run.ClassCounts, flight, done uint64) {
	before := 0.0
	for i, work := range s.work {
		tasks := s.manifest.TasksOf(i)
		c := run.ClassCounts{Work: work, Done: uint64(min(1, max(0, (share-before)/work)) * float64(tasks))}
		if c.Done < tasks && before < share+0.02 {
			c.InFlight = min(tasks-c.Done, 96+tasks/8)
		}
		before += work
		flight, done = flight+c.InFlight, done+c.Done
		counts = append(counts, c)
	}
	return counts, flight, done
}

// search returns a prefix of the class on which most of the run's work is.
func (s *state) search() *run.Search {
	class := len(s.manifest.Classes) / 2
	board := &s.manifest.Classes[class].Board
	var p queens.Prefix
	var columns []int
	for p.Row < 6 {
		free := p.Free(board)
		if free == 0 {
			break
		}
		for skip := 2*p.Row + 1; skip > 0 && free&(free-1) != 0; skip-- {
			free &= free - 1
		}
		columns = append(columns, bits.TrailingZeros32(free))
		p = p.Place(board, free&-free)
	}
	return &run.Search{Task: 20440, Worker: "node-17/17", Class: class, Queens: columns}
}

// complete returns the same run at its end.
func (s *state) complete(total string, c run.Confirmation) *state {
	end := *s
	detail := *s.detail
	end.detail = &detail
	p := &end.snapshot
	*p = p.Idle(run.Complete)
	p.WorkDone, p.Done, p.States, p.IdleThreads, p.Solutions = 1, p.Tasks, run.TaskStates{}, p.Threads, decimal(total)
	p.SetTotal((*big.Int)(p.Solutions), &c)
	detail.Disputes, detail.Search, detail.Classes = nil, nil, nil
	for i, work := range s.work {
		detail.Classes = append(detail.Classes, run.ClassCounts{Work: work, Done: s.manifest.TasksOf(i)})
	}
	detail.Confirmation = c
	return &end
}

// withPast gives a run a history of days, in which workers were away for hours.
func (s *state) withPast() *state {
	columns := make(map[string][]float64)
	now := float64(time.Now().Unix())
	for i := range 800 {
		x, present := float64(i), 1.0
		if i > 250 && i < 330 {
			present = 0.55
		}
		wave := 1 + 0.05*math.Sin(x/9) + 0.03*math.Sin(x/2.3)
		for name, value := range map[string]float64{
			"time": now - (800-x)*333, "rate": s.snapshot.Rate * present * wave, "percent": math.Floor(share*x*1.25) / 10,
			"threads": math.Round(float64(s.snapshot.Threads) * present), "workers": math.Round(float64(s.snapshot.Workers) * present),
		} {
			columns[name] = append(columns[name], value)
		}
	}
	s.past = map[string]any{"columns": columns}
	return s
}

// heard returns what a watch hears of the same run.
func (s *state) heard() *state {
	w := *s
	w.source, w.detail = dashboard.Watch, nil
	return &w
}
