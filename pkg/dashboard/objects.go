package dashboard

import (
	"strconv"
	"time"

	"nqueens/pkg/queens"
	"nqueens/pkg/report"
	"nqueens/pkg/run"
)

// runsJSON is the JSON object of the list of runs.
type runsJSON struct {
	// the run that this process works on or watches; empty while that is not known
	Run    string `json:"run"`
	Source Source `json:"source"` // "coordinator" or "watch": which process answers
	// of the server, and that run, the newest first: the fields of "coordinator runs --json"
	Runs []report.ListedRun `json:"runs"`
}

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

	// Only from the coordinator.

	// voters that must agree on each task; this and what follows only from the coordinator
	Redundancy int `json:"redundancy,omitempty"`
	// which tasks are checked besides that: "auto" (1% within bounds), or a share, such as "5%"
	SpotCheck string `json:"spot_check,omitempty"`
	// what stands behind the counts so far: the fields of "confirmed_by"
	Checks *run.Confirmation `json:"checks,omitempty"`
	// tasks whose counts contradict each other and are not settled, at most 64
	Open []disputeJSON `json:"open_disputes,omitzero"`
	// keys from which nothing is accepted, at most the latest 64
	Quarantined []quarantinedJSON `json:"quarantined,omitzero"`
	// the first prefix of a chunk that a worker searches; absent if none is known
	Prefix *prefixJSON `json:"prefix,omitempty"`
}

type disputeJSON struct {
	Task   uint64   `json:"task"`   // its number
	Counts []string `json:"counts"` // texts
	Keys   []string `json:"keys"`   // of each count; empty for that of the coordinator
}

type quarantinedJSON struct {
	Key    string    `json:"key"`    // the key
	Worker string    `json:"worker"` // present with that key; may be empty
	Reason string    `json:"reason"` // for people
	At     time.Time `json:"at"`     // when, RFC 3339
}

type prefixJSON struct {
	Task uint64 `json:"task"` // the first of the chunk
	// empty if it is not known: workers name what they search every few seconds, and many chunks take less
	Worker string `json:"worker"`
	Class  int    `json:"class"`  // index in the classes
	Row    int    `json:"row"`    // rows with queens
	Queens []int  `json:"queens"` // the column of the queen in each of these rows: one way to reach the prefix
	Cols   uint32 `json:"cols"`   // columns that the queens attack in the next row, bit 0 is column 0
	Left   uint32 `json:"left"`   // the same along one diagonal
	Right  uint32 `json:"right"`  // and the other
}

// object returns the JSON object of the run. There is a snapshot.
func (r *Run) object(known *knowledge) *runJSON {
	o := &runJSON{
		Snapshot: *known.latest, Source: r.source, Status: known.status, Version: r.version, Listed: len(known.latest.WorkerList),
	}
	o.At, o.WorkerList = known.at.UTC(), nil
	if o.Total != nil {
		o.Known = compareKnown(&o.Snapshot)
	}
	if known.details != nil {
		o.addDetail(known)
	}
	return o
}

// compareKnown returns how a total compares with the published one.
func compareKnown(s *run.Snapshot) queens.Comparison {
	_, published := queens.KnownTotal(s.N)
	switch {
	case !published || len(s.Placed) > 0:
		return queens.Unpublished
	case s.IsPublished():
		return queens.Match
	}
	return queens.Mismatch
}

// addDetail adds what only the coordinator knows.
func (o *runJSON) addDetail(known *knowledge) {
	d := known.details
	o.Listed = len(d.Workers)
	o.Redundancy, o.SpotCheck = d.Redundancy, d.SpotCheck.String()
	o.Checks = &d.Confirmation
	o.Open = make([]disputeJSON, len(d.Disputes))
	for i := range d.Disputes {
		o.Open[i] = newDispute(&d.Disputes[i])
	}
	o.Quarantined = make([]quarantinedJSON, len(d.Quarantined))
	for i, q := range d.Quarantined {
		o.Quarantined[i] = quarantinedJSON{Key: q.Key, Worker: q.Worker, Reason: q.Reason, At: q.At.UTC()}
	}
	if d.Search != nil && known.manifest != nil && o.State == run.Running {
		o.Prefix = newPrefix(d.Search, known.manifest)
	}
}

func newDispute(d *run.Dispute) disputeJSON {
	o := disputeJSON{Task: d.Task, Counts: make([]string, len(d.Votes)), Keys: make([]string, len(d.Votes))}
	for i, v := range d.Votes {
		o.Counts[i], o.Keys[i] = strconv.FormatUint(v.Count, 10), v.Key
	}
	return o
}

// newPrefix returns nil if it finds no queens that lead to the prefix.
func newPrefix(s *run.Search, m *queens.Manifest) *prefixJSON {
	if s.Class < 0 || s.Class >= len(m.Classes) {
		return nil
	}
	columns, found := s.Prefix.Queens(&m.Classes[s.Class].Board)
	if !found {
		return nil
	}
	return &prefixJSON{
		Task: s.Task, Worker: s.Worker, Class: s.Class, Row: s.Prefix.Row, Queens: columns,
		Cols: s.Prefix.Cols, Left: s.Prefix.Left, Right: s.Prefix.Right,
	}
}

// workersJSON is the JSON object of the workers of a run.
type workersJSON struct {
	At      time.Time    `json:"at"`       // when this was measured, RFC 3339
	LeftOut int          `json:"left_out"` // workers that are not in the list
	Workers []run.Worker `json:"workers"`  // by name
}

// newWorkers returns the workers of a run. There is a snapshot.
func newWorkers(known *knowledge) *workersJSON {
	if d := known.details; d != nil {
		return &workersJSON{At: known.listsAt(), Workers: append([]run.Worker{}, d.Workers...)}
	}
	s := known.latest
	return &workersJSON{
		At: known.listsAt(), LeftOut: max(0, s.Workers-len(s.WorkerList)), Workers: append([]run.Worker{}, s.WorkerList...),
	}
}

// classesJSON is the JSON object of the classes of a run.
type classesJSON struct {
	N       int         `json:"n"`       // side of the board
	Classes []classJSON `json:"classes"` // those with tasks, in order
}

// classJSON is a class.
type classJSON struct {
	Index int `json:"index"` // from 0, also counting classes without tasks
	// how many of the eight images of each solution the class contains; its solutions weigh 8/k
	K        int      `json:"k"`
	Allow    []uint32 `json:"allow"`               // a mask for each row: bit c is set if a queen may stand on column c
	Work     float64  `json:"work"`                // share of the run's estimated work, 0 to 1
	Tasks    uint64   `json:"tasks"`               // all of them
	Done     *uint64  `json:"done,omitempty"`      // counted; this and the next only from the coordinator
	InFlight *uint64  `json:"in_flight,omitempty"` // published
	Disputed *uint64  `json:"disputed,omitempty"`  // with contradicting counts
}

// newClasses returns the classes of a run that have tasks. There is a manifest.
func newClasses(known *knowledge) *classesJSON {
	m, d := known.manifest, known.details
	o := &classesJSON{N: m.N, Classes: []classJSON{}}
	for i := range m.Classes {
		plan := &m.Classes[i]
		c := classJSON{Index: i, K: plan.K, Allow: plan.Board.Allow[:m.N], Tasks: m.TasksOf(i)}
		if c.Tasks == 0 {
			continue
		}
		switch {
		case d != nil && i < len(d.Classes):
			counts := &d.Classes[i]
			c.Work, c.Done, c.InFlight, c.Disputed = counts.Work, &counts.Done, &counts.InFlight, &counts.Disputed
		case i < len(known.work):
			c.Work = known.work[i]
		}
		o.Classes = append(o.Classes, c)
	}
	return o
}
