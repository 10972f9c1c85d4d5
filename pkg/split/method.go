package split

import (
	"context"

	"nqueens/pkg/queens"
)

// method is how a method divides a count into tasks. Another method adds an implementation in a
// file of its own.
type method interface {
	// classes returns the classes of a count.
	classes(n int, s queens.Symmetry, placed []queens.Square) ([]queens.Class, error)
	// sizes chooses the sizes of the tasks: see [New].
	sizes(classes []queens.Class, depth int) ([]queens.ClassPlan, error)
	// index makes the index of a class. It calls within with what it has passed over and with its
	// tasks so far, from time to time and at the end, and returns its error.
	index(
		ctx context.Context, plan queens.ClassPlan, within func(passed, tasks uint64) error,
	) (classIndex, error)
	// cost estimates the cost of all tasks of a class. The unit is the method's own.
	cost(plan *queens.ClassPlan) float64
}

// methods has the implementation of each method.
var methods = map[queens.Method]method{queens.Prefixes: prefixes{}, queens.Halves: rowSets{}}

// classIndex makes the tasks of a class, in any order.
type classIndex interface {
	// tasks returns the number of tasks.
	tasks() uint64
	// passed returns a measure of the time of a pass over the tasks.
	passed() uint64
	// prefixes returns the number of prefixes in the largest task.
	prefixes() int
	// together returns how many tasks a goroutine of a pass makes at once.
	together() uint64
	// fill appends consecutive tasks to a buffer. The first of them has the given id, and is the task
	// with the given number of the class, from 0.
	fill(b *buffer, id, number, tasks uint64)
}

// Classes returns the classes of a count by the method, of a board of side n. The error says what
// the method can't count.
func Classes(
	m queens.Method, n int, s queens.Symmetry, placed ...queens.Square,
) ([]queens.Class, error) {
	if err := m.Validate(); err != nil {
		return nil, err
	}
	return methods[m].classes(n, s, placed)
}
