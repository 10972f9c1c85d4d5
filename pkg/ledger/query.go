package ledger

import (
	"cmp"
	"iter"
	"maps"
	"math/big"
	"slices"

	"nqueens/pkg/queens"
	"nqueens/pkg/symmetry"
)

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
		m := s.facts.by(f)
		counts = append(counts, Count{m.name, s.facts.sources[f.source].kernel, f.count, m.void})
	}
	slices.SortFunc(counts, func(a, b Count) int {
		return cmp.Or(cmp.Compare(a.Machine, b.Machine), cmp.Compare(a.Kernel, b.Kernel), cmp.Compare(a.Count, b.Count))
	})
	return counts
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
	o, recounts := s.facts.outcome(task), s.facts.recounts[task]
	if o.verdict || o.broken || !o.disputed && len(recounts) == 0 {
		return nil, false
	}
	for _, f := range s.facts.of(task) {
		kernels = append(kernels, s.facts.sources[f.source].kernel)
	}
	for _, r := range recounts {
		kernels = append(kernels, r.kernel)
	}
	slices.Sort(kernels)
	return slices.Compact(kernels), true
}

// Unsettled returns the tasks that need a recount, in order. It passes over all tasks.
func (s *State) Unsettled() (tasks []uint64) {
	for task := range s.header.Manifest.Tasks {
		if _, needed := s.NeedsRecount(task); needed {
			tasks = append(tasks, task)
		}
	}
	return tasks
}

// Broken returns the first task with two unequal recounts, and whether there is one: the coordinator's machine is not to
// be trusted.
func (s *State) Broken() (task uint64, broken bool) {
	for other := range s.facts.recounts {
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
func (s *State) Banned(name string) bool { s.settle(); return s.facts.isBanned(name) }

// Bans returns why machines are banned, sorted by name: by the record of the ban, or else by the first task whose
// verdict one of its counts contradicts.
func (s *State) Bans() []queens.Ban {
	s.settle()
	return slices.SortedFunc(maps.Values(s.facts.bans), compareBans)
}

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
func (s *State) Recounts() uint64 { return s.facts.number }

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
		Tasks: s.header.Manifest.Tasks, Checked: s.totals.checked, Verdicts: s.totals.verdicts, Banned: len(s.facts.bans),
	}
	in := make(map[*machine]bool)
	for task := range c.Tasks {
		o := s.facts.outcome(task)
		if o.done && !o.verdict && (c.Redundancy == 0 || o.agree < c.Redundancy) {
			c.Redundancy = o.agree
		}
		for _, f := range s.facts.of(task) {
			if m := s.facts.by(f); o.done && f.count == o.count && !m.void {
				in[m] = true
			}
		}
	}
	c.Machines = len(in)
	return c
}

// Counters returns the names of the machines that have counted a task, those that are banned left out, in order: the first
// two of them, where "" is none.
func (s *State) Counters(task uint64) (names [2]string) {
	s.settle()
	n := 0
	for _, f := range s.facts.of(task) {
		m := s.facts.by(f)
		if n < len(names) && !m.void && !slices.Contains(names[:n], m.name) {
			names[n] = m.name
			n++
		}
	}
	if n == 2 && names[0] > names[1] {
		names[0], names[1] = names[1], names[0]
	}
	return names
}

// RecountsOf returns the recounts of a task, in the order of the log, without time and reason.
func (s *State) RecountsOf(task uint64) (list []Recount) {
	for _, r := range s.facts.recounts[task] {
		list = append(list, Recount{Task: task, Count: r.count, Kernel: r.kernel, Deeper: r.deeper})
	}
	return list
}

// DoneByClass returns the number of tasks that are done, for each class of the manifest.
func (s *State) DoneByClass() []uint64 { s.settle(); return slices.Clone(s.totals.doneOf) }
