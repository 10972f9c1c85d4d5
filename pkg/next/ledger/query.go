package ledger

import "slices"

// Counters returns the names of the machines that have counted a task, those that are banned left out, in order: the first
// two of them, where "" is none.
func (s *State) Counters(task uint64) (names [2]string) {
	s.settle()
	n := 0
	for _, f := range s.facts.of(task) {
		m := &s.facts.machines[s.facts.sources[f.source].machine]
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
	if r := s.facts.rare[task]; r != nil {
		for _, x := range r.recounts {
			list = append(list, Recount{Task: task, Count: x.count, Kernel: x.kernel, Deeper: x.deeper})
		}
	}
	return list
}

// DoneByClass returns the number of tasks that are done, for each class of the manifest. It passes over all tasks.
func (s *State) DoneByClass() []uint64 {
	m := &s.header.Manifest
	done := make([]uint64, len(m.Classes))
	for class := range done {
		first := m.Classes[class].First
		for task := first; task < first+m.TasksOf(class); task++ {
			if s.Done(task) {
				done[class]++
			}
		}
	}
	return done
}
