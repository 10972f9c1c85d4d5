package queens

import (
	"errors"
	"fmt"
	"time"
)

// TaskCount is the count of one task by one search.
type TaskCount struct {
	Count   uint64        // solutions on the class's board that the task stands for, unweighted
	Kernel  string        // the kernel that searched
	Elapsed time.Duration // time of the search; an equal part of it if tasks were searched together
}

// ExportedTask is a line of an exported ledger: a task, everything that is needed to count it
// again, and its count in the run.
type ExportedTask struct {
	Task uint64 `json:"task"` // its id
	// of its class: how often each solution below the prefixes counts
	Weight   int      `json:"weight"`
	Board    Board    `json:"allow,omitzero"`
	Prefixes []Prefix `json:"prefixes,omitempty"`
	// N and Sets take the place of Board and Prefixes in a task of the method halves.
	N    int     `json:"n,omitempty"`
	Sets RowSets `json:"sets,omitzero"`
	// Count is the number of solutions below the prefixes, unweighted, or the weighted sum of the row
	// sets. In JSON it is a string, because numbers in other programs may not hold it exactly. It is
	// nil if the task is not done. Then the fields below are zero.
	Count   *uint64 `json:"count,omitempty,string"`
	User    string  `json:"user,omitempty"`    // whose machine made the count
	Machine string  `json:"machine,omitempty"` // that made the count
	Kernel  string  `json:"kernel,omitempty"`
	// time of the search, divided equally among the tasks of a result
	Seconds float64 `json:"seconds,omitempty"`
}

// Exported returns the line of a task without a count.
func Exported(t *Task, weight int) ExportedTask {
	e := ExportedTask{Task: t.ID, Weight: weight}
	if t.Method() == Halves {
		e.N, e.Sets = t.Board.N, t.Sets
	} else {
		e.Board, e.Prefixes = t.Board, t.Prefixes
	}
	return e
}

// Search returns the task, to be counted again. It returns an error if what it searches is invalid.
func (e *ExportedTask) Search() (Task, error) {
	t := Task{ID: e.Task, Board: e.Board, Prefixes: e.Prefixes, Sets: e.Sets}
	if e.N != 0 || t.Method() == Halves {
		err := ValidateN(e.N)
		if err == nil && e.Board != (Board{}) {
			err = errors.New("it has a side and a board")
		}
		if err != nil {
			return Task{}, fmt.Errorf("exported task %d: %w", e.Task, err)
		}
		t.Board = FullBoard(e.N)
	}
	if err := t.ValidateSearch(); err != nil {
		return Task{}, fmt.Errorf("exported task %d: %w", e.Task, err)
	}
	return t, nil
}
