package split

import (
	"context"
	"errors"
	"fmt"

	"nqueens/pkg/halves"
	"nqueens/pkg/queens"
)

// rowSets is the method halves: a task is consecutive row sets.
type rowSets struct{}

// ErrMethod says that a method can't make a count.
var ErrMethod = errors.New("only the method " + string(queens.Prefixes) + " can count this")

func (rowSets) classes(n int, s queens.Symmetry, placed []queens.Square) ([]queens.Class, error) {
	if err := queens.ValidateN(n); err != nil {
		return nil, err
	}
	switch {
	case len(placed) > 0:
		return nil, fmt.Errorf("queens placed beforehand: %w", ErrMethod)
	case s != queens.Full:
		return nil, fmt.Errorf("symmetry %s: %w", s, ErrMethod)
	}
	return []queens.Class{{Weight: 1, Board: queens.FullBoard(n)}}, nil
}

// Bounds for the time of a task, in nanoseconds on a thread with a fast kernel.
const (
	// setTime24 is the time of a row set of a board of side 24.
	setTime24 = 200e6
	// leastSetTime is the least time of a row set, even of a small board.
	leastSetTime = 500e3
	// longestTask is the greatest time of a task, unless a row set takes longer.
	longestTask = 4e9
	// shortestTask is the least time of a task, much longer than its part of a round trip.
	shortestTask = 1e6
)

// leastSetTasks is the least number of tasks in a run that has time for so many.
const leastSetTasks = 1024

// setTime estimates the time of a row set in nanoseconds: about 3.2 times as long for each side
// more. It is a whole number that does not depend on the machine.
func setTime(n int) uint64 {
	time := uint64(setTime24)
	for ; n > 24; n-- {
		time = time * 16 / 5
	}
	for ; n < 24; n++ {
		time = time * 5 / 16
	}
	return max(time, leastSetTime)
}

func (rowSets) sizes(classes []queens.Class, depth int) ([]queens.ClassPlan, error) {
	if depth != 0 {
		return nil, fmt.Errorf("prefixes of %d rows: %w", depth, ErrMethod)
	}
	plans := make([]queens.ClassPlan, len(classes))
	for i, class := range classes {
		n := class.Board.N
		sets, each := halves.Sets(n), setTime(n)
		task := min(max(sets*each/leastSetTasks, shortestTask), longestTask)
		batch := max(task/each, (sets+maxTasks-1)/maxTasks, 1)
		plans[i] = queens.ClassPlan{Class: class, Batch: int(min(batch, queens.MaxRowSets))}
	}
	return plans, nil
}

func (rowSets) index(
	ctx context.Context, plan queens.ClassPlan, within func(passed, tasks uint64) error,
) (classIndex, error) {
	x := setIndex{plan}
	if ctx.Err() != nil {
		return x, context.Cause(ctx)
	}
	return x, within(x.passed(), x.tasks())
}

func (rowSets) cost(plan *queens.ClassPlan) float64 { return float64(halves.Sets(plan.Board.N)) }

// setIndex makes the tasks of a class: a task is the next Batch row sets.
type setIndex struct{ queens.ClassPlan }

func (x setIndex) tasks() uint64 {
	batch := uint64(x.Batch)
	return (halves.Sets(x.Board.N) + batch - 1) / batch
}

func (x setIndex) passed() uint64 { return x.tasks() }
func (setIndex) prefixes() int    { return 0 }
func (setIndex) together() uint64 { return rangePrefixes }

func (x setIndex) fill(b *buffer, id, number, tasks uint64) {
	batch, all := uint64(x.Batch), halves.Sets(x.Board.N)
	for ; tasks > 0; tasks-- {
		first := number * batch
		sets := queens.RowSets{First: first, Number: min(batch, all-first)}
		b.tasks = append(b.tasks, queens.Task{ID: id, Board: x.Board, Sets: sets})
		id++
		number++
	}
}
