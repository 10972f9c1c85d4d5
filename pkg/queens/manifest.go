package queens

import (
	"crypto/sha256"
	"sort"
)

// Manifest is all that determines a run's task set. Two manifests with the same
// Hash have the same tasks, whatever machine split them.
type Manifest struct {
	// SplitVersion is the version of the splitting rules that made the task set.
	SplitVersion int
	N            int
	Symmetry     Symmetry
	// Placed are the queens that stand beforehand, sorted by row; symmetry is then None.
	Placed  []Square
	Classes []ClassPlan
	// Tasks is the number of tasks; their ids are 0..Tasks-1.
	Tasks uint64
	// Hash is SHA-256 over every task's hash (little endian) in order of id.
	Hash [sha256.Size]byte
}

// ClassPlan says how one class is split.
type ClassPlan struct {
	Class
	// Depth is the number of rows in the class's prefixes.
	Depth int
	// Batch is the number of prefixes in a task; the class's last may hold fewer.
	Batch int
	// First is the id of the class's first task. A class without a prefix has no
	// task, and the same First as the next class.
	First uint64
}

// ClassOf returns the index in Classes of the class that task id belongs to.
// The id must be below Tasks.
func (m *Manifest) ClassOf(id uint64) int {
	return sort.Search(len(m.Classes), func(i int) bool { return m.Classes[i].First > id }) - 1
}

// TasksOf returns the number of tasks of the class with that index in Classes.
func (m *Manifest) TasksOf(class int) uint64 {
	end := m.Tasks
	if class+1 < len(m.Classes) {
		end = m.Classes[class+1].First
	}
	return end - m.Classes[class].First
}
