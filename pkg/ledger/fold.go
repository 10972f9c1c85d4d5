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
//     second one by another search. Two unequal recounts are no verdict and ban nobody. (TestRule2)
//  3. A machine is banned if one of its counts contradicts a verdict, or a ban record says so. All its counts are void:
//     they make no task done, and open no dispute. (TestRule3)
//  4. A run has ended only while its log ends with the mark that says so, and it is complete only if every task is done.
//     (TestRule4)
//  5. A task is checked if it is done and two machines agree on it, or it has a verdict. (TestRule5)
//
// Two processes, or two kernels, of a machine are one machine. (TestOneMachine)

import (
	"fmt"
	"slices"

	"nqueens/pkg/queens"
)

// State is what follows from the records of a log. It is not safe for concurrent use.
type State struct {
	header *Header
	facts  facts
	totals totals
	stale  bool // totals and bans are to be derived from the facts again

	starts  int
	results uint64
	last    *Mark
	isLast  bool // the last record is the mark

	changed []uint64 // the tasks of a [Change]
}

// totals are sums over all tasks of what their facts say.
type totals struct {
	done, checked, verdicts, disputed, differed uint64
	doneOf                                      []uint64     // done tasks of each class
	sums                                        []queens.Sum // of their counts
}

// Change says what a record changed.
type Change struct {
	Tasks  []uint64 // of which a count or a recount is new; valid until the next record
	All    bool     // who is banned has changed: any task may have changed
	Banned []string // the machines that are banned now, and were not before
}

// NewState returns the state of a log that has a header only.
func NewState(h *Header) *State {
	return &State{header: h, facts: newFacts(h), stale: true}
}

// Add applies a record without saying what it changes: for many records at once. The error says that the record can't
// be of this log; then the state is as before.
func (s *State) Add(r Record) error {
	s.stale = true
	return s.apply(r)
}

// Apply applies a record. The error is that of [State.Add].
func (s *State) Apply(r Record) (Change, error) {
	s.settle()
	before := s.facts.bans
	s.changed = s.changed[:0]
	if err := s.apply(r); err != nil {
		return Change{}, err
	}
	c := Change{Tasks: s.changed, All: s.facts.stale}
	s.settle()
	for name := range s.facts.bans {
		if _, known := before[name]; !known {
			c.Banned = append(c.Banned, name)
		}
	}
	slices.Sort(c.Banned)
	return c, nil
}

// apply applies a record. The totals and s.changed follow unless they are stale.
func (s *State) apply(r Record) error {
	m := &s.header.Manifest
	switch r := r.(type) {
	case *Result:
		if err := r.Validate(m.Tasks); err != nil {
			return err
		}
		source, err := s.facts.source(r.Machine, r.Kernel)
		if err != nil {
			return err
		}
		s.results++
		for i, count := range r.Counts {
			s.change(r.First+uint64(i), func(task uint64) bool { return s.facts.addCount(task, source, count) })
		}
	case *Recount:
		if r.Task >= m.Tasks {
			return fmt.Errorf("a recount of task %d of %d", r.Task, m.Tasks)
		}
		s.change(r.Task, func(task uint64) bool { return s.facts.addRecount(task, recount{r.Count, r.Kernel, r.Deeper}) })
	case *Ban:
		if r.Task >= m.Tasks {
			return fmt.Errorf("a ban for task %d of %d", r.Task, m.Tasks)
		}
		s.facts.addBan(r.Ban)
		s.facts.judge()
	case *Start:
		s.starts = max(s.starts, r.Number)
	case *Mark:
		if r.Done > m.Tasks {
			return fmt.Errorf("a mark with %d of %d tasks done", r.Done, m.Tasks)
		}
		s.last = r
	default:
		return fmt.Errorf("a second header, or no record: %T", r)
	}
	_, s.isLast = r.(*Mark)
	return nil
}

// change lets add change the facts of a task, and keeps the totals right.
func (s *State) change(task uint64, add func(task uint64) bool) {
	if s.stale {
		add(task)
		return
	}
	before := s.facts.outcome(task)
	if add(task) {
		s.changed = append(s.changed, task)
	}
	after := s.facts.outcome(task)
	class := s.header.Manifest.ClassOf(task)
	s.totals.add(class, &before, -1)
	s.totals.add(class, &after, 1)
	if len(s.facts.recounts) > 0 && s.facts.recounts[task] != nil {
		s.facts.judge()
	}
}

// settle derives bans and totals from the facts. It takes 0.1 s for 10^7 tasks.
func (s *State) settle() {
	if !s.stale && !s.facts.stale {
		return
	}
	s.facts.judge()
	s.facts.void()
	m := &s.header.Manifest
	s.totals = totals{doneOf: make([]uint64, len(m.Classes)), sums: make([]queens.Sum, len(m.Classes))}
	for class := range m.Classes {
		first := m.Classes[class].First
		for task := first; task < first+m.TasksOf(class); task++ {
			o := s.facts.outcome(task)
			s.totals.add(class, &o, 1)
		}
	}
	s.stale = false
}

// add adds what the facts of a task of a class say, or takes it away if times is -1.
func (t *totals) add(class int, o *outcome, times int) {
	note := func(total *uint64, holds bool) {
		if holds {
			*total += uint64(times)
		}
	}
	note(&t.done, o.done)
	note(&t.doneOf[class], o.done)
	note(&t.checked, o.checked())
	note(&t.verdicts, o.verdict)
	note(&t.disputed, o.disputed)
	note(&t.differed, o.differed)
	switch {
	case !o.done:
	case times > 0:
		t.sums[class].Add(o.count)
	default:
		t.sums[class].Subtract(o.count)
	}
}
