package dashboard

import (
	"slices"
	"time"

	"nqueens/pkg/humanize"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// runJSON is the JSON object of a run: its snapshot without the workers, and what else is known.
type runJSON struct {
	run.Snapshot
	// "coordinator": of the run itself; "watch": its messages, and what only the coordinator knows is absent
	Source Source `json:"source"`
	// for people: why what is shown may be old or at an end; absent if the run is live
	Status string `json:"status,omitempty"`
	// how the total compares with the published one: "match", "mismatch" or "none"; absent without a total
	Known   queens.Comparison `json:"known,omitempty"`
	Version string            `json:"version"`        // of the program that answers
	Listed  int               `json:"listed_workers"` // number of workers in their list

	*run.Detail // nil for a page that only knows messages
	// the first prefix of a chunk that a worker searches; absent if none is known
	Prefix *prefixJSON `json:"prefix,omitempty"`
	// columns of the queens of one solution, from the top row; absent until the run is complete
	Solution []int `json:"solution,omitempty"`
}

type prefixJSON struct {
	Task uint64 `json:"task"` // the first of the chunk
	// empty if it is not known: workers name what they search every few seconds, and many chunks take less
	Worker string `json:"worker"`
	Class  int    `json:"class"`  // index in the classes
	Row    int    `json:"row"`    // rows with queens
	Queens []int  `json:"queens"` // the column of the queen in each of these rows
	Cols   uint32 `json:"cols"`   // columns that the queens attack in the next row, bit 0 is column 0
	Left   uint32 `json:"left"`   // the same along one diagonal
	Right  uint32 `json:"right"`  // and the other
}

// object returns the JSON object of the run. There is a snapshot.
func (p *Page) object(known *knowledge) any {
	s, d := *known.latest, known.details
	o := &runJSON{Snapshot: s, Source: p.cfg.Source, Status: known.status, Version: p.cfg.Version, Listed: len(s.WorkerList), Detail: d}
	o.Snapshot.At, o.WorkerList = known.at.UTC(), nil
	if s.Total != nil {
		o.Known, o.Solution = s.Known(), known.solution
	}
	if d != nil {
		o.Listed = len(d.Workers)
		if d.Search != nil && known.manifest != nil && s.State == run.Running {
			o.Prefix = newPrefix(d.Search, known.manifest)
		}
	}
	return o
}

func newPrefix(s *run.Search, m *queens.Manifest) *prefixJSON {
	board, p := &m.Classes[s.Class].Board, queens.Prefix{}
	for _, column := range s.Queens {
		p = p.Place(board, 1<<column)
	}
	return &prefixJSON{
		Task: s.Task, Worker: s.Worker, Class: s.Class, Row: p.Row, Queens: s.Queens, Cols: p.Cols, Left: p.Left, Right: p.Right,
	}
}

// workersJSON is the JSON object of the workers of a run.
type workersJSON struct {
	At      time.Time    `json:"at"`       // when this was measured, RFC 3339
	LeftOut int          `json:"left_out"` // workers that are not in the list
	Workers []run.Worker `json:"workers"`  // by name
}

// newWorkers returns the workers of a run. There is a snapshot. Workers of a run that has ended hold nothing of it.
func newWorkers(known *knowledge) any {
	s := known.latest
	o := &workersJSON{At: known.at.UTC(), LeftOut: max(0, s.Workers-len(s.WorkerList)), Workers: append([]run.Worker{}, s.WorkerList...)}
	if d := known.details; d != nil {
		o = &workersJSON{At: d.At.UTC(), Workers: append([]run.Worker{}, d.Workers...)}
	}
	for i := range o.Workers {
		if s.State != run.Running {
			o.Workers[i].Rate, o.Workers[i].Held, o.Workers[i].Oldest = 0, 0, run.Seconds{}
		}
	}
	return o
}

// classesJSON is the JSON object of the classes of a run.
type classesJSON struct {
	N       int         `json:"n"`       // side of the board
	Classes []classJSON `json:"classes"` // those with tasks, in order
}

// classJSON is a class.
type classJSON struct {
	Index            int      `json:"index"`  // from 0, also counting classes without tasks
	Weight           int      `json:"weight"` // solutions of the whole board for each solution of the class: 1, 2, 4 or 8
	Allow            []uint32 `json:"allow"`  // a mask for each row: bit c is set if a queen may stand on column c
	Work             float64  `json:"work"`   // share of the run's estimated work, 0 to 1
	Tasks            uint64   `json:"tasks"`  // all of them
	*run.ClassCounts          // nil for a page that only knows messages
}

// newClasses returns the classes of a run that have tasks; none before the manifest is known.
func newClasses(known *knowledge) any {
	o := &classesJSON{Classes: []classJSON{}}
	m, d := known.manifest, known.details
	if m == nil {
		return o
	}
	o.N = m.N
	for i := range m.Classes {
		plan := &m.Classes[i]
		c := classJSON{Index: i, Weight: plan.Weight, Allow: plan.Board.Allow[:m.N], Tasks: m.TasksOf(i)}
		if c.Tasks == 0 {
			continue
		}
		switch {
		case d != nil && i < len(d.Classes):
			c.ClassCounts = &d.Classes[i]
			c.Work = c.ClassCounts.Work
		case i < len(known.shares):
			c.Work = known.shares[i] * float64(c.Tasks)
		}
		o.Classes = append(o.Classes, c)
	}
	return o
}

// historyJSON is the JSON object of a history: columns of the same length.
type historyJSON struct {
	Columns historyColumns `json:"columns"` // lists of the same length
}

type historyColumns struct {
	Time    []float64 `json:"time"`    // Unix seconds, as if coordinators had worked on the run without a pause
	Rate    []float64 `json:"rate"`    // solutions per second
	Percent []float64 `json:"percent"` // of the estimated work
	Threads []float64 `json:"threads"` // of all workers
	Workers []float64 `json:"workers"` // connected
}

// newHistory returns what was measured.
func (p *Page) newHistory(*knowledge) any {
	p.mu.Lock()
	defer p.mu.Unlock()
	rows := p.history.Samples()
	if older := slices.IndexFunc(rows, func(row run.Sample) bool { return len(p.recent) > 0 && row.To > p.recent[0].From }); older >= 0 {
		rows = rows[:older]
	}
	rows = slices.Concat(rows, p.recent)
	c := historyColumns{Time: []float64{}, Rate: []float64{}, Percent: []float64{}, Threads: []float64{}, Workers: []float64{}}
	begun := p.known.at.Add(-p.known.latest.Elapsed.Duration)
	for i := range rows {
		row := &rows[i]
		c.Time = append(c.Time, float64(begun.Add(row.From).UnixMilli())/1000)
		c.Rate = append(c.Rate, row.Rate)
		c.Percent = append(c.Percent, humanize.Percentage(row.WorkDone))
		c.Threads = append(c.Threads, row.Threads)
		c.Workers = append(c.Workers, row.Workers)
	}
	return historyJSON{Columns: c}
}
