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
	Run    string             `json:"run"` // that of this process; empty while unknown
	Source Source             `json:"source"`
	Runs   []report.ListedRun `json:"runs"`
}

// runJSON is the JSON object of a run: its snapshot without the workers, and what else is known.
type runJSON struct {
	run.Snapshot
	Source  Source            `json:"source"`
	Status  string            `json:"status,omitempty"`
	Known   queens.Comparison `json:"known,omitempty"` // absent without a total
	Version string            `json:"version"`
	Listed  int               `json:"listed_workers"`

	// Only from the coordinator.

	Redundancy  int               `json:"redundancy,omitempty"`
	SpotCheck   string            `json:"spot_check,omitempty"`
	Checks      *run.Confirmation `json:"checks,omitempty"`
	Open        []disputeJSON     `json:"open_disputes,omitzero"`
	Quarantined []quarantinedJSON `json:"quarantined,omitzero"`
	Prefix      *prefixJSON       `json:"prefix,omitempty"`
}

type disputeJSON struct {
	Task   uint64   `json:"task"`
	Counts []string `json:"counts"`
	Keys   []string `json:"keys"` // empty for the coordinator
}

type quarantinedJSON struct {
	Key    string    `json:"key"`
	Worker string    `json:"worker"`
	Reason string    `json:"reason"`
	At     time.Time `json:"at"`
}

type prefixJSON struct {
	Task   uint64 `json:"task"`
	Worker string `json:"worker"`
	Class  int    `json:"class"`
	Row    int    `json:"row"`
	Queens []int  `json:"queens"` // the column of that in each row
	Cols   uint32 `json:"cols"`
	Left   uint32 `json:"left"`
	Right  uint32 `json:"right"`
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
	At      time.Time    `json:"at"`
	LeftOut int          `json:"left_out"`
	Workers []run.Worker `json:"workers"`
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
	N       int         `json:"n"`
	Classes []classJSON `json:"classes"`
}

// classJSON is a class.
type classJSON struct {
	Index    int      `json:"index"`
	K        int      `json:"k"`
	Allow    []uint32 `json:"allow"`
	Work     float64  `json:"work"`
	Tasks    uint64   `json:"tasks"`
	Done     *uint64  `json:"done,omitempty"` // this and the next only from the coordinator
	InFlight *uint64  `json:"in_flight,omitempty"`
	Disputed *uint64  `json:"disputed,omitempty"`
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
