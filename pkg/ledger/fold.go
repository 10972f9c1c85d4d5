package ledger

// The fold says what follows from the records of a log. It is a pure function of the set of records: their order, and
// repetition, change nothing but which mark is the last.
//
//	done(task) = it has a verdict, or R machines agree on it and no count differs
//
// (The coordinator decides how many counts it asks for: R, and one more for a spot check.)
//
//  1. Every differing count opens a dispute, also of a task that is done. A task in dispute is not done.
//     (TestRule1)
//  2. A verdict is the count of the coordinator's recounts. It depends on the records of its task alone, those of banned
//     machines included. A recount that equals no count, or contradicts two or more machines that agree, needs an equal
//     second one by another search: another kernel, or one row deeper. Of recounts that differ, the only one that two
//     searches found is the verdict; without it they are none, and ban nobody. (TestRule2)
//  3. A machine is banned if one of its counts or recounts contradicts a verdict, or a ban record says so. Its counts are void:
//     they make no task done, and open no dispute. (TestRule3)
//  4. A run has ended only while its log ends with the mark that says so, and it is complete only if every task is done.
//     (TestRule4)
//  5. A task is checked if it is done and two machines agree on it, or it has a verdict. (TestRule5)
//
// Two processes, or two kernels, of a machine are one machine. (TestOneMachine)

import (
	"nqueens/pkg/queens"
	"nqueens/pkg/symmetry"
)

// State is what follows from the records of a log. Any number of goroutines may read it while no record is applied.
type State struct {
	facts
	header *Header
	totals totals
	stale  bool // totals are to be derived from the facts again

	starts    int
	results   uint64
	processes map[queens.Process]bool // that have counted
	last      *Mark
	isLast    bool // the last record is the mark

	changed []uint64 // the tasks of a [Change]
}

// totals are sums over all tasks of their outcomes.
type totals struct {
	done, checked, unsettled, differed uint64
	doneOf                             []uint64 // done tasks of each class
	sums                               symmetry.Sums
}

// Change says what a record changed.
type Change struct {
	Tasks  []uint64     // of which a count or a recount is new; valid until the next record
	Banned []queens.Ban // of machines that are banned now, and were not before, by name: any task may have changed
}

// NewState returns the state of a log that has a header only.
func NewState(h *Header) *State {
	return &State{
		header: h, facts: newFacts(h), totals: totals{doneOf: make([]uint64, len(h.Manifest.Classes))},
		processes: make(map[queens.Process]bool),
	}
}

// Apply applies a record. The error says that the record can't be of this log; then the state is as before.
func (s *State) Apply(r Record) (Change, error) {
	if err := validate(r, s.header.Manifest.Tasks); err != nil {
		return Change{}, err
	}
	before := s.bans
	s.apply(r)
	c := Change{Tasks: s.changed}
	s.settle()
	for _, b := range s.Bans() {
		if _, known := before[b.Machine]; !known {
			c.Banned = append(c.Banned, b)
		}
	}
	return c, nil
}

// apply applies a valid record, and leaves totals stale that change as a whole.
func (s *State) apply(r Record) {
	s.changed = s.changed[:0]
	switch r := r.(type) {
	case *Result:
		s.results++
		s.processes[queens.Process{Machine: r.Machine, Name: r.Process}] = true
		source := s.source(r.Machine, source{kernel: r.Kernel})
		for i, count := range r.Counts {
			s.add(r.First+uint64(i), source, count)
		}
	case *Recount:
		s.add(r.Task, s.source(r.Machine, source{kernel: r.Kernel, recount: true, deeper: r.Deeper}), r.Count)
	case *Ban:
		keepFirst(s.records, r.Ban)
		s.stale = s.judge() || s.stale
	case *Start:
		s.starts = max(s.starts, r.Number)
	case *Mark:
		s.last = r
	}
	_, s.isLast = r.(*Mark)
}

// add adds a count of a task to the facts, and keeps the totals right.
func (s *State) add(task uint64, source uint32, count uint64) {
	before := s.Task(task)
	if !s.facts.add(task, source, count) {
		return
	}
	s.changed = append(s.changed, task)
	after := s.Task(task)
	if !s.stale {
		class := s.header.Manifest.ClassOf(task)
		s.sum(class, &before, -1)
		s.sum(class, &after, 1)
	}
	if before.Verdict || after.Verdict {
		s.stale = s.judge() || s.stale
	}
}

// sum adds the outcome of a task of a class to the totals, or takes it away if times is -1.
func (s *State) sum(class int, o *Outcome, times int) {
	t, n := &s.totals, uint64(times)
	if o.NeedsRecount {
		t.unsettled += n
	}
	if o.Differed {
		t.differed += n
	}
	if o.Checked() {
		t.checked += n
	}
	if !o.Done {
		return
	}
	t.done += n
	t.doneOf[class] += n
	sum := &t.sums[s.header.Manifest.Classes[class].Weight]
	if times > 0 {
		sum.Add(o.Count)
	} else {
		sum.Subtract(o.Count)
	}
}

// settle derives stale totals. It takes 0.1 s for 10^7 tasks.
func (s *State) settle() {
	if !s.stale {
		return
	}
	m := &s.header.Manifest
	s.totals = totals{doneOf: make([]uint64, len(m.Classes))}
	for class := range m.Classes {
		for task := range m.TasksOf(class) {
			o := s.Task(m.Classes[class].First + task)
			s.sum(class, &o, 1)
		}
	}
	s.stale = false
}
