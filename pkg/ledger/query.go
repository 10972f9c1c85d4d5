package ledger

import (
	"cmp"
	"maps"
	"math/big"
	"slices"

	"nqueens/pkg/queens"
)

// Header returns the header of the log.
func (s *State) Header() *Header { return s.header }

// Count is a recorded count or recount of a task.
type Count struct {
	Machine queens.Machine // that of the coordinator, for a recount
	Kernel  string
	Recount bool
	Deeper  bool // see [Recount]
	Count   uint64
	Void    bool // the machine is banned
}

// Counts returns the counts and recounts of a task, sorted by machine, kernel and count.
func (s *State) Counts(task uint64) (counts []Count) {
	for c := &s.first[task]; c.source != 0; c = &s.more[c.next] {
		by := s.sources[c.source]
		counts = append(counts, Count{by.Machine, by.kernel, by.recount, by.deeper, c.count, by.void})
	}
	slices.SortFunc(counts, func(a, b Count) int {
		return cmp.Or(a.Machine.Compare(b.Machine), cmp.Compare(a.Kernel, b.Kernel),
			cmp.Compare(a.Count, b.Count))
	})
	return counts
}

// Counter returns the first machine that has counted a task and is not banned, or the zero Machine
// if there is none. A task that needs another count by a worker has no such machine of another
// witness.
func (s *State) Counter(task uint64) queens.Machine {
	for c := &s.first[task]; c.source != 0; c = &s.more[c.next] {
		if by := s.sources[c.source]; !by.recount && !by.void {
			return by.Machine
		}
	}
	return queens.Machine{}
}

// Unsettled returns the tasks that need a recount, in order. It looks at all tasks up to the last
// one that it returns.
func (s *State) Unsettled() (tasks []uint64) {
	for task := uint64(0); uint64(len(tasks)) < s.totals.unsettled; task++ {
		if s.Task(task).NeedsRecount {
			tasks = append(tasks, task)
		}
	}
	return tasks
}

// Bans returns the bans, sorted by machine. A ban has the reason from its record, or else the first
// task in which the machine contradicts a verdict.
func (s *State) Bans() []queens.Ban { return slices.SortedFunc(maps.Values(s.bans), compareBans) }

// Ban returns the ban of a machine, if there is one.
func (s *State) Ban(m queens.Machine) (b queens.Ban, banned bool) {
	b, banned = s.bans[m]
	return b, banned
}

// NumberDone returns the number of tasks that are done.
func (s *State) NumberDone() uint64 { return s.totals.done }

// DoneByClass returns the number of tasks that are done, for each class of the manifest.
func (s *State) DoneByClass() []uint64 { return slices.Clone(s.totals.doneOf) }

// Checked returns the number of tasks that are done by more than one count: see [Outcome.Checked].
func (s *State) Checked() uint64 { return s.totals.checked }

// Sources returns how many different machines and kernels the results have, each machine with each
// of its kernels: those of a user, and all.
func (s *State) Sources(user string) (ofUser, all int) { return s.byUser[user], s.workers }

// HasSource reports whether there is a result of a machine by a kernel.
func (s *State) HasSource(m queens.Machine, kernel string) bool {
	_, known := s.ids[source{machine: s.machines[m], kernel: kernel}]
	return known
}

// Differs reports whether a count of a task would differ from a recount, or from the count of a
// machine that is not banned.
func (s *State) Differs(task, count uint64) bool { return s.differs(task, count) }

// Disputes returns the number of tasks whose counts or recounts differ, with or without a verdict.
func (s *State) Disputes() uint64 { return s.totals.differed }

// Results returns the number of results, void and repeated ones included.
func (s *State) Results() uint64 { return s.results }

// Recounts returns the number of recounts, without repetitions.
func (s *State) Recounts() uint64 { return uint64(len(s.recounted)) }

// Workers returns the number of worker processes that have counted tasks, without the processes of
// banned machines. Only the first 262,144 processes count.
func (s *State) Workers() (n int) {
	for p := range s.processes {
		if !s.Banned(p.Machine) {
			n++
		}
	}
	return n
}

// Starts returns the highest number of a [Start], or 0 if there is none.
func (s *State) Starts() int { return s.starts }

// Mark returns the last mark, or nil.
func (s *State) Mark() *Mark { return s.last }

// Ended returns the state of the mark that ends the log, if that is [queens.Complete] or
// [queens.Contradicted]. Otherwise the run has not ended, and Ended returns "". A mark that says
// complete does not end the run while a task is not done.
func (s *State) Ended() queens.State {
	allDone := s.totals.done == s.header.Manifest.Tasks
	if !s.isLast || !s.last.State.Ended() || s.last.State == queens.Complete && !allDone {
		return ""
	}
	return s.last.State
}

// Solutions returns the number of solutions that are found so far, weighted.
func (s *State) Solutions() *big.Int { return s.totals.sums.Total() }

// Confirmation returns what confirms a total. It looks at all tasks.
func (s *State) Confirmation(total *big.Int) queens.Confirmation {
	m := &s.header.Manifest
	c := queens.Confirmation{
		Published: queens.Compare(m.N, m.Placed, total) == queens.Match,
		Tasks:     m.Tasks, Checked: s.totals.checked, Banned: len(s.bans),
	}
	in, proven := make(map[*machine]bool), make(map[queens.Witness]bool)
	for task := range c.Tasks {
		o := s.Task(task)
		switch {
		case o.Verdict:
			c.Verdicts++
		case o.Done && (c.Redundancy == 0 || o.Agree < c.Redundancy):
			c.Redundancy = o.Agree
		}
		for f := &s.first[task]; o.Done && f.source != 0; f = &s.more[f.next] {
			if by := s.sources[f.source]; f.count == o.Count && !by.recount && !by.void {
				in[by.machine] = true
			}
		}
	}
	c.Machines = len(in)
	for m := range in {
		isProven, known := proven[m.Witness()]
		proven[m.Witness()] = m.User != queens.WorkerUser && (isProven || !known)
	}
	c.Witnesses = len(proven)
	for _, isProven := range proven {
		if isProven {
			c.Proven++
		}
	}
	return c
}
