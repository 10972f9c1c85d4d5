package queens

import (
	"fmt"
	"time"
)

// TaskCount is the count of one task by one search.
type TaskCount struct {
	Count   uint64        // solutions on the class's board below the task's prefixes, unweighted
	Kernel  string        // the kernel that searched
	Elapsed time.Duration // time of the search; an equal part of it if tasks were searched together
}

// ExportedTask is a line of an exported ledger: a task, everything that is needed to count it again, and its count in the
// run.
type ExportedTask struct {
	Task     uint64   `json:"task"`   // its id
	Weight   int      `json:"weight"` // of its class: how often each solution below the prefixes counts
	Board    Board    `json:"allow"`
	Prefixes []Prefix `json:"prefixes"`
	// Count is the number of solutions below the prefixes, unweighted. In JSON it is a string, because numbers in other
	// programs may not hold it exactly. It is nil if the task is not done. Then the fields below are zero.
	Count   *uint64 `json:"count,omitempty,string"`
	User    string  `json:"user,omitempty"`    // whose machine made the count
	Machine string  `json:"machine,omitempty"` // that made the count
	Kernel  string  `json:"kernel,omitempty"`
	Seconds float64 `json:"seconds,omitempty"` // time of the search, divided equally among the tasks of a result
}

// Search returns the task, to be counted again. It returns an error if the board or a prefix is invalid.
func (e *ExportedTask) Search() (Task, error) {
	err := e.Board.Validate()
	if err == nil {
		err = ValidatePrefixes(&e.Board, e.Task, e.Prefixes)
	}
	if err != nil {
		return Task{}, fmt.Errorf("exported task %d: %w", e.Task, err)
	}
	return Task{ID: e.Task, Board: e.Board, Prefixes: e.Prefixes}, nil
}
