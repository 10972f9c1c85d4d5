package queens

import (
	"crypto/sha256"
	"sort"
)

// Manifest is everything that determines a run's task set. Manifests with the same Hash have
// the same tasks, on any machine.
type Manifest struct {
	// SplitVersion is the version of the rules that split the count.
	SplitVersion int
	N            int
	Symmetry     Symmetry
	// Placed are the queens placed beforehand, sorted by row. With any, Symmetry is None.
	Placed  []Square
	Classes []ClassPlan
	// Tasks is the number of tasks; their ids are 0..Tasks-1.
	Tasks uint64
	// Hash is SHA-256 over the hashes of all tasks (little endian) in order of id.
	Hash [sha256.Size]byte
}

// ClassPlan is a class and how it is split.
type ClassPlan struct {
	Class
	// Depth is the number of rows in the class's prefixes.
	Depth int
	// Batch is the number of prefixes in a task; the class's last task may have fewer.
	Batch int
	// First is the id of the class's first task. A class without prefixes has no tasks,
	// and the same First as the next class.
	First uint64
}

// ClassOf returns the index in Classes of the class to which a task belongs. The id must be
// less than Tasks.
func (m *Manifest) ClassOf(id uint64) int {
	return sort.Search(len(m.Classes), func(i int) bool { return m.Classes[i].First > id }) - 1
}

// TasksOf returns the number of tasks of a class, given by its index in Classes.
func (m *Manifest) TasksOf(class int) uint64 {
	end := m.Tasks
	if class+1 < len(m.Classes) {
		end = m.Classes[class+1].First
	}
	return end - m.Classes[class].First
}
