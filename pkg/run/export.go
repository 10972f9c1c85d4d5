package run

import (
	"cmp"
	"fmt"

	"nqueens/pkg/queens"
)

// ExportedTask is a task with all that is needed to count it again, and its accepted count
// if it has one. It is a line of a ledger's export, a JSON object.
type ExportedTask struct {
	Run      string          `json:"run"`
	ID       uint64          `json:"task"`
	Hash     queens.TaskHash `json:"hash"`
	Weight   int             `json:"weight"` // See [queens.Class].
	Board    queens.Board    `json:"allow"`
	Prefixes []queens.Prefix `json:"prefixes"`

	// Count is the number of solutions on the board below the prefixes, unweighted: a string
	// in JSON, because other programs' numbers may not hold it exactly. If the task has no
	// accepted count, Count and Seconds are nil and the others zero.
	Count   *uint64  `json:"count,omitempty,string"`
	Worker  string   `json:"worker,omitempty"`
	Kernel  string   `json:"kernel,omitempty"`
	Attempt uint32   `json:"attempt,omitempty"`
	Seconds *float64 `json:"seconds,omitempty"` // Time of the search alone.

	// Key is the public key of the worker, and StatementID the number of its statement in the
	// ledger, from 1; empty and 0 for a count of the coordinator itself.
	Key         string `json:"key,omitempty"`
	StatementID uint64 `json:"statement_id,omitempty"`
	// Signature and Statement are what the worker signed: base64 in JSON. Of the lines with a statement only the
	// first has them.
	Signature []byte `json:"signature,omitempty"`
	Statement []byte `json:"statement,omitempty"`
	// Unadmitted says that the key was not admitted: its count adds nothing to agreement.
	Unadmitted bool `json:"unadmitted,omitempty"`

	// Confirmations are the counts of other voters that agree, if the run has ended.
	Confirmations []ExportedConfirmation `json:"confirmations,omitempty"`
}

// ExportedConfirmation is a count of a task that agrees with the accepted one, of another voter. The
// fields are those of [ExportedTask].
type ExportedConfirmation struct {
	Worker      string `json:"worker"`
	Kernel      string `json:"kernel"`
	Key         string `json:"key,omitempty"`
	StatementID uint64 `json:"statement_id,omitempty"`
	Signature   []byte `json:"signature,omitempty"`
	Statement   []byte `json:"statement,omitempty"`
	Unadmitted  bool   `json:"unadmitted,omitempty"`
}

// NewExportedTask returns the export of a task of a class with that k, and of its accepted
// result, or nil. It lacks the signed statement.
func NewExportedTask(task *queens.Task, weight int, result *Result) ExportedTask {
	e := ExportedTask{
		Run: task.Run, ID: task.ID, Hash: queens.TaskHash(task.Hash()), Weight: weight, Board: task.Board, Prefixes: task.Prefixes,
	}
	if result != nil {
		seconds := result.Elapsed.Seconds()
		e.Count, e.Seconds = &result.Count, &seconds
		e.Worker, e.Kernel, e.Attempt = result.Worker, result.Kernel, result.Attempt
		e.Key, e.StatementID, e.Unadmitted = result.Key, result.StatementID, isUnadmitted(result)
	}
	return e
}

// NewExportedConfirmation returns the export of a result that agrees with the accepted one. It lacks
// the signed statement.
func NewExportedConfirmation(r *Result) ExportedConfirmation {
	return ExportedConfirmation{Worker: r.Worker, Kernel: r.Kernel, Key: r.Key, StatementID: r.StatementID, Unadmitted: isUnadmitted(r)}
}

func isUnadmitted(r *Result) bool { return r.Key != "" && !r.Admitted }

// Task returns the task to count again. The error is the first thing wrong with an exported task from outside, as far as
// that matters to a recount: also a hash that is not the task's.
func (e *ExportedTask) Task() (queens.Task, error) {
	task := queens.Task{Run: e.Run, ID: e.ID, Board: e.Board, Prefixes: e.Prefixes}
	err := cmp.Or(task.Validate(), queens.ValidateWeight(e.Weight))
	if err == nil {
		if hash := queens.TaskHash(task.Hash()); hash != e.Hash {
			err = fmt.Errorf("the hash is %016x, but id, board and prefixes have %016x", e.Hash, hash)
		}
	}
	if err != nil {
		return queens.Task{}, fmt.Errorf("exported task %d: %w", e.ID, err)
	}
	return task, nil
}
