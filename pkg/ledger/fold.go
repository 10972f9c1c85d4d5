package ledger

// The fold says what follows from the records of a log. It depends on the set of records. Repeating
// a record changes only the number of results. A [Dispute] repeats what results say. The order
// changes only which mark is the last one, whether it ends the log, and which machine
// [State.Counter] returns.
//
//	done(task) = it has a verdict, or R witnesses or more agree on it and no count differs
//
// (R is the redundancy. The coordinator decides how many counts it asks for: R, and one more for a
// spot check.)
//
//  1. A count that differs opens a dispute, even if its task is done, unless the task has a
//     verdict. A task in dispute is not done. (TestRule1)
//  2. A verdict is a count that the coordinator's recounts have established. It depends only on the
//     records of its task, including the records of banned machines. A recount that equals no
//     count, or that contradicts two or more witnesses that agree, needs an equal second recount by
//     another search: by another kernel, or from prefixes with one row more; in a count by halves,
//     by the other method. If recounts differ, the verdict is the only number that two different
//     searches found. If there is no such number, there is no verdict, and the recounts ban nobody.
//     (TestRule2)
//  3. A machine is banned if one of its counts or recounts contradicts a verdict, or if a ban
//     record says so. An invited user is banned, with all its machines, if three of its machines
//     are. Counts of what is banned are void: they make no task done, and open no dispute.
//     (TestRule3)
//  4. A run has ended if the last record of its log is a mark that says so. If the mark says
//     complete, every task must be done too. (TestRule4)
//  5. A task is checked if it is done and two witnesses agree on it, or it has a verdict.
//     (TestRule5)
//
// [queens.Machine.Witness] says which witness a machine belongs to. A coordinator's recounts are on
// a machine of the user [queens.CoordinatorUser]. Two processes, or two kernels, of a machine count
// as one. (TestOneMachine)

import (
	"nqueens/pkg/queens"
)

// State is what follows from the records of a log. Any number of goroutines may read it while no
// record is applied.
type State struct {
	facts
	header *Header
	totals totals
	stale  bool // the totals must be derived from the facts again: settle does it

	starts    int
	results   uint64
	processes map[queens.Process]bool // the first mostProcesses workers that have counted
	last      *Mark
	isLast    bool // the last record is this mark

	changed []uint64 // the tasks of a [Change]
}

// mostProcesses bounds the names of processes that a state remembers, because each start of a
// worker makes a new one.
const mostProcesses = 1 << 18

// totals are sums of the outcomes of all tasks.
type totals struct {
	done, checked, unsettled, differed uint64
	doneOf                             []uint64 // done tasks of each class
	sums                               queens.Sums
}

// Change says what a record changed.
type Change struct {
	// disputes that must be written before the record, so that no damage removes a dissent
	Disputes []Record
	Tasks    []uint64     // tasks with a new count or recount; valid until the next record
	Banned   []queens.Ban // new bans, sorted by machine
	// tasks, in order, with a count by a machine that is banned now and was not before, or was and is
	// not
	Voided []uint64
}

// NewState returns the state of a log that has a header only.
func NewState(h *Header) *State {
	return &State{
		header: h, facts: newFacts(h), totals: totals{doneOf: make([]uint64, len(h.Manifest.Classes))},
		processes: make(map[queens.Process]bool),
	}
}

// Apply applies a record. A record that can't belong to this log is an error, and leaves the state
// as it was.
func (s *State) Apply(r Record) (Change, error) {
	if err := validate(r, s.header.Manifest.Tasks); err != nil {
		return Change{}, err
	}
	before := s.bans
	s.judged = false
	c := Change{Disputes: s.disputes(r)}
	s.apply(r)
	c.Tasks = s.changed
	c.Voided = s.settle()
	if !s.judged {
		return c, nil // nobody is banned anew
	}
	for _, b := range s.Bans() {
		if _, known := before[b.Machine]; !known {
			c.Banned = append(c.Banned, b)
		}
	}
	return c, nil
}

// disputes returns a [Dispute] for each task in which a new count or recount differs from a
// recount, or from the count of a machine that is not banned.
func (s *State) disputes(r Record) (disputes []Record) {
	switch r := r.(type) {
	case *Result:
		for i, count := range r.Counts {
			if task := r.First + uint64(i); s.differs(task, count) {
				c := WorkerCount{r.Machine, r.Kernel, count}
				disputes = append(disputes, &Dispute{task, append(s.workerCounts(task), c), r.At})
			}
		}
	case *Recount:
		if counts := s.workerCounts(r.Task); len(counts) > 0 && s.differs(r.Task, r.Count) {
			disputes = append(disputes, &Dispute{r.Task, counts, r.At})
		}
	}
	return disputes
}

// apply applies a valid record. Counts of a machine that it bans become void in settle.
func (s *State) apply(r Record) {
	s.changed = s.changed[:0]
	switch r := r.(type) {
	case *Result:
		s.results++
		if len(s.processes) < mostProcesses {
			s.processes[queens.Process{Machine: r.Machine, Name: r.Process}] = true
		}
		source := s.source(r.Machine, source{kernel: r.Kernel})
		for i, count := range r.Counts {
			s.add(r.First+uint64(i), source, count)
		}
	case *Dispute:
		for _, c := range r.Counts {
			s.add(r.Task, s.source(c.Machine, source{kernel: c.Kernel}), c.Count)
		}
	case *Recount:
		on := queens.Machine{User: queens.CoordinatorUser, Name: r.Machine}
		s.add(r.Task, s.source(on, source{
			kernel: r.Kernel, recount: true, deeper: r.Deeper,
			search: Search(s.header.Manifest.Method, r.Kernel, r.Deeper),
		}), r.Count)
	case *Ban:
		keepFirst(s.records, r.Ban)
		s.judge()
	case *Start:
		s.starts = max(s.starts, r.Number)
	case *Mark:
		s.last = r
	}
	_, s.isLast = r.(*Mark)
}

// add adds a count of a task to the facts, and updates the totals unless they are stale.
func (s *State) add(task uint64, source uint32, count uint64) {
	before := s.Task(task)
	if !s.facts.add(task, source, count) {
		return
	}
	s.changed = append(s.changed, task)
	after := s.Task(task)
	if !s.stale {
		class := s.header.Manifest.ClassOf(task)
		s.exclude(class, &before)
		s.include(class, &after)
	}
	if before.Verdict || after.Verdict {
		s.judge()
	}
}

// include adds the outcome of a task of the given class to the totals.
func (s *State) include(class int, o *Outcome) {
	s.tally(class, o, func(n *uint64) { *n++ }, (*queens.Sum).Add)
}

// exclude takes out of the totals what include has added.
func (s *State) exclude(class int, o *Outcome) {
	s.tally(class, o, func(n *uint64) { *n-- }, (*queens.Sum).Subtract)
}

// tally changes the numbers to which the outcome of a task of the given class belongs by 1, and the
// sum of the counts by its count.
func (s *State) tally(
	class int, o *Outcome, change func(number *uint64), changeSum func(sum *queens.Sum, count uint64),
) {
	t := &s.totals
	if o.NeedsRecount {
		change(&t.unsettled)
	}
	if o.Differed {
		change(&t.differed)
	}
	if o.Checked() {
		change(&t.checked)
	}
	if o.Done {
		change(&t.done)
		change(&t.doneOf[class])
		changeSum(&t.sums[s.header.Manifest.Classes[class].Weight], o.Count)
	}
}

// settle makes the counts void of machines that are banned now, and those valid of machines that no
// longer are. It corrects the totals, and returns the tasks with such counts, in order. If the
// totals are stale, it derives them again, and returns nothing. It looks at all tasks, which takes
// 50 ms for 10^7.
func (s *State) settle() (voided []uint64) {
	switch {
	case s.stale:
		turn(s.misjudged())
		m := &s.header.Manifest
		s.totals = totals{doneOf: make([]uint64, len(m.Classes))}
		for class := range m.Classes {
			for task := range m.TasksOf(class) {
				o := s.Task(m.Classes[class].First + task)
				s.include(class, &o)
			}
		}
		s.stale = false
		return nil
	case !s.judged:
		return nil
	}
	machines := s.misjudged()
	if len(machines) == 0 {
		return nil
	}
	voided = s.countedBy(machines)
	for _, task := range voided {
		s.count(task, s.exclude)
	}
	turn(machines)
	for _, task := range voided {
		s.count(task, s.include)
	}
	return voided
}

// count calls include or exclude with the outcome of a task.
func (s *State) count(task uint64, change func(class int, o *Outcome)) {
	o := s.Task(task)
	change(s.header.Manifest.ClassOf(task), &o)
}
