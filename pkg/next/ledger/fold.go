package ledger

// The fold says what follows from the records of a log. It is a pure function of the set of records: their order, and
// repetition, change nothing but which mark is the last.
//
//	done(task) = it has a verdict, or R machines agree on it and no count differs
//
// (How many counts are wanted is the business of who hands tasks out: R, and one more for a spot check.)
//
//  1. Every differing count opens a dispute, also of a task that is done. A task in dispute is not done.
//     (TestRule1)
//  3. A verdict is the count of the coordinator's recounts. It depends on the records of its task alone, those of banned
//     machines included. A recount that equals no count, or contradicts two or more machines that agree, needs an equal
//     second one by another search. Two unequal recounts are no verdict and ban nobody. (TestRule3)
//  4. A machine is banned if one of its counts contradicts a verdict, or a ban record says so. All its counts are void:
//     they make no task done, and open no dispute. (TestRule4)
//  7. A run has ended only while its log ends with the mark that says so, and it is complete only if every task is done.
//     (TestRule7)
//  8. A task is checked if it is done and two machines agree on it, or it has a verdict. (TestRule8)
//
// Two processes, or two kernels, of a machine are one machine. (TestOneMachine)

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"math/big"
	"slices"

	"nqueens/pkg/queens"
	"nqueens/pkg/symmetry"
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
	sums                                        []queens.Sum // of the counts of done tasks, for each class
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
	s.changed = s.changed[:0]
	if err := s.apply(r); err != nil {
		return Change{}, err
	}
	c := Change{Tasks: s.changed, All: s.facts.stale}
	c.Banned = s.settle()
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
		s.facts.addBan(&r.Ban)
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
	s.facts.accuse(task, &before, -1)
	if add(task) {
		s.changed = append(s.changed, task)
	}
	after := s.facts.outcome(task)
	s.facts.accuse(task, &after, 1)
	class := s.header.Manifest.ClassOf(task)
	s.totals.add(class, &before, -1)
	s.totals.add(class, &after, 1)
	if before.verdict || after.verdict {
		s.facts.checkBans()
	}
}

// settle derives bans and totals from the facts, and returns the machines that are banned now, and were not before. It
// takes 0.1 s for 10^7 tasks.
func (s *State) settle() (banned []string) {
	if !s.stale && !s.facts.stale {
		return nil
	}
	banned = s.facts.judge()
	m := &s.header.Manifest
	s.totals = totals{sums: make([]queens.Sum, len(m.Classes))}
	for class := range m.Classes {
		first := m.Classes[class].First
		for task := first; task < first+m.TasksOf(class); task++ {
			o := s.facts.outcome(task)
			s.totals.add(class, &o, 1)
		}
	}
	s.stale = false
	return banned
}

// add adds what the facts of a task of a class say, or takes it away if times is -1.
func (t *totals) add(class int, o *outcome, times int) {
	note := func(total *uint64, holds bool) {
		if holds {
			*total += uint64(times)
		}
	}
	note(&t.done, o.done)
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

// Header returns the header of the log.
func (s *State) Header() *Header { return s.header }

// Done reports whether a task is done.
func (s *State) Done(task uint64) bool { s.settle(); return s.facts.outcome(task).done }

// Count returns the count of a task, and whether it is done.
func (s *State) Count(task uint64) (count uint64, done bool) {
	s.settle()
	o := s.facts.outcome(task)
	return o.count, o.done
}

// Verdict returns the verdict of a task, and whether it has one.
func (s *State) Verdict(task uint64) (count uint64, ok bool) {
	s.settle()
	o := s.facts.outcome(task)
	return o.count, o.verdict
}

// Agreeing returns how many machines agree on a task, those that are banned left out; 0 if their counts differ.
func (s *State) Agreeing(task uint64) int { s.settle(); return s.facts.outcome(task).agree }

// Counts returns the counts of a task, sorted by machine, kernel and count.
func (s *State) Counts(task uint64) (counts []Count) {
	s.settle()
	for _, f := range s.facts.of(task) {
		source := &s.facts.sources[f.source]
		m := &s.facts.machines[source.machine]
		counts = append(counts, Count{m.name, source.kernel, f.count, m.void})
	}
	slices.SortFunc(counts, func(a, b Count) int {
		return cmp.Or(cmp.Compare(a.Machine, b.Machine), cmp.Compare(a.Kernel, b.Kernel), cmp.Compare(a.Count, b.Count))
	})
	return counts
}

// HasCounted reports whether a count of a task by a machine was recorded.
func (s *State) HasCounted(task uint64, machine string) bool {
	id, known := s.facts.ids[machine]
	return known && slices.ContainsFunc(s.facts.of(task), func(f fact) bool { return s.facts.sources[f.source].machine == id })
}

// Count is a count of a task that was recorded.
type Count struct {
	Machine, Kernel string
	Count           uint64
	Void            bool // the machine is banned
}

// NeedsRecount reports whether a task needs a recount: its counts differ, or its first recount needs an equal second one.
// The kernels are those of its counts and recounts, sorted: by none of them, or by generic one row deeper. A task with two
// unequal recounts needs none: see [State.Broken].
func (s *State) NeedsRecount(task uint64) (kernels []string, needed bool) {
	s.settle()
	o, rare := s.facts.outcome(task), s.facts.rare[task]
	if o.verdict || o.broken || !o.disputed && (rare == nil || len(rare.recounts) == 0) {
		return nil, false
	}
	used := make(map[string]bool)
	for _, f := range s.facts.of(task) {
		used[s.facts.sources[f.source].kernel] = true
	}
	for _, r := range rare.recounts {
		used[r.kernel] = true
	}
	return slices.Sorted(maps.Keys(used)), true
}

// Unsettled returns the tasks that need a recount, in order.
func (s *State) Unsettled() (tasks []uint64) {
	for _, task := range slices.Sorted(maps.Keys(s.facts.rare)) {
		if _, needed := s.NeedsRecount(task); needed {
			tasks = append(tasks, task)
		}
	}
	return tasks
}

// Broken returns the first task with two unequal recounts, and whether there is one: the coordinator's machine is not to
// be trusted.
func (s *State) Broken() (task uint64, broken bool) {
	for _, other := range s.facts.recounted {
		if s.facts.outcome(other).broken && (!broken || other < task) {
			task, broken = other, true
		}
	}
	return task, broken
}

// Undone yields the tasks that are not done, as the longest ranges, in order. The state must not change meanwhile.
func (s *State) Undone() iter.Seq[queens.Range] {
	return func(yield func(queens.Range) bool) {
		s.settle()
		var r queens.Range
		for task := range s.header.Manifest.Tasks {
			if s.facts.outcome(task).done {
				continue
			}
			if r.Tasks > 0 && r.End() != task {
				if !yield(r) {
					return
				}
				r.Tasks = 0
			}
			if r.Tasks == 0 {
				r.First = task
			}
			r.Tasks++
		}
		if r.Tasks > 0 {
			yield(r)
		}
	}
}

// Banned reports whether a machine is banned.
func (s *State) Banned(name string) bool {
	s.settle()
	id, known := s.facts.ids[name]
	return known && s.facts.machines[id].void
}

// Bans returns why machines are banned, sorted by name: by the record of the ban, or else by the first task whose
// verdict one of its counts contradicts.
func (s *State) Bans() []queens.Ban { s.settle(); return s.facts.bans() }

// NumberDone returns the number of tasks that are done.
func (s *State) NumberDone() uint64 { s.settle(); return s.totals.done }

// Checked returns the number of tasks that are done and have a second count that agrees, or a verdict.
func (s *State) Checked() uint64 { s.settle(); return s.totals.checked }

// Disputes returns the number of tasks whose counts differ or differed, and of those without a verdict.
func (s *State) Disputes() (all, open uint64) {
	s.settle()
	return s.totals.differed, s.totals.disputed
}

// Results returns the number of results, void ones included.
func (s *State) Results() uint64 { return s.results }

// Recounts returns the number of recounts.
func (s *State) Recounts() uint64 { return s.facts.recounts }

// Starts returns the number of the last start; 0 before the first.
func (s *State) Starts() int { return s.starts }

// Mark returns the last mark, or nil.
func (s *State) Mark() *Mark { return s.last }

// Ended returns the state with which the run has ended: [queens.Complete], [queens.Contradicted], or "". A log that goes
// on after such a mark, or that says complete and has a task that is not done, has not ended.
func (s *State) Ended() queens.State {
	if s.isLast && s.last.State.Ended() && (s.last.State != queens.Complete || s.NumberDone() == s.header.Manifest.Tasks) {
		return s.last.State
	}
	return ""
}

// Solutions returns the number of solutions that are found so far, weighted.
func (s *State) Solutions() *big.Int {
	s.settle()
	var sums symmetry.Sums
	for class, sum := range s.totals.sums {
		sums[s.header.Manifest.Classes[class].Weight].AddSum(sum)
	}
	return sums.Total()
}

// Confirmation returns what the log holds for its counts, with Published false. It passes over all tasks.
func (s *State) Confirmation() queens.Confirmation {
	s.settle()
	c := queens.Confirmation{
		Tasks: s.header.Manifest.Tasks, Checked: s.totals.checked, Verdicts: s.totals.verdicts, Banned: len(s.Bans()),
	}
	in := make(map[uint32]bool)
	for task := range c.Tasks {
		o := s.facts.outcome(task)
		if o.done && !o.verdict && (c.Redundancy == 0 || o.agree < c.Redundancy) {
			c.Redundancy = o.agree
		}
		for _, f := range s.facts.of(task) {
			if id := s.facts.sources[f.source].machine; o.done && f.count == o.count && !s.facts.machines[id].void {
				in[id] = true
			}
		}
	}
	c.Machines = len(in)
	return c
}
