package queens

import (
	"fmt"
	"time"
)

// TaskCount is the count of one task by one search.
type TaskCount struct {
	Count   uint64        // solutions on the class's board below the task's prefixes, unweighted
	Kernel  string        // the kernel that searched
	Elapsed time.Duration // of the search alone
}

// ExportedTask is a task with all that is needed to count it again, and the count that a run has of it: a line of an
// exported ledger.
type ExportedTask struct {
	Task     uint64   `json:"task"`   // its id
	Weight   int      `json:"weight"` // each solution below its prefixes counts as so many
	Board    Board    `json:"allow"`
	Prefixes []Prefix `json:"prefixes"`
	// Count is the number of solutions below the prefixes, unweighted: a string in JSON, because other programs' numbers
	// may not hold it exactly. It is nil if the run has no count of the task; then the fields below are zero.
	Count   *uint64 `json:"count,omitempty,string"`
	Machine string  `json:"machine,omitempty"` // whose count it is
	Kernel  string  `json:"kernel,omitempty"`
	Seconds float64 `json:"seconds,omitempty"` // of the search alone
}

// Search returns what to search to count the task again. The error is the first thing wrong with the board or the prefixes.
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
