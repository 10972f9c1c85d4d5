package queens

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

// ExportedTask is a task with all that is needed to count it again, and its accepted count
// if it has one. It is a line of a ledger's export, a JSON object.
type ExportedTask struct {
	Run      string   `json:"run"`
	ID       uint64   `json:"task"`
	Hash     TaskHash `json:"hash"`
	K        int      `json:"k"` // See [Class].
	Board    Board    `json:"allow"`
	Prefixes []Prefix `json:"prefixes"`

	// Count is the number of solutions on the board below the prefixes, unweighted: a string
	// in JSON, because other programs' numbers may not hold it exactly. If the task has no
	// accepted count, Count and Seconds are nil and the others zero.
	Count   *uint64  `json:"count,omitempty,string"`
	Worker  string   `json:"worker,omitempty"`
	Kernel  string   `json:"kernel,omitempty"`
	Attempt uint32   `json:"attempt,omitempty"`
	Seconds *float64 `json:"seconds,omitempty"` // Time of the search alone.

	// Key is the public key of the worker, and Report the number of its signed statement in the
	// ledger, from 1; empty and 0 for a count of the coordinator itself.
	Key    string `json:"key,omitempty"`
	Report uint64 `json:"report,omitempty"`
	// Signature and Statement are the report: base64 in JSON. Of the lines with a report only the
	// first has them.
	Signature []byte `json:"signature,omitempty"`
	Statement []byte `json:"statement,omitempty"`
}

// maxStatement bounds the statement of a report, in bytes: that of MaxChunk tasks fits.
const maxStatement = 1 << 20

// NewExportedTask returns the export of a task of a class with that k, and of its accepted
// result, or nil. It lacks the signed statement.
func NewExportedTask(task *Task, k int, result *Result) ExportedTask {
	e := ExportedTask{
		Run: task.Run, ID: task.ID, Hash: TaskHash(task.Hash()), K: k, Board: task.Board, Prefixes: task.Prefixes,
	}
	if result != nil {
		seconds := result.Elapsed.Seconds()
		e.Count, e.Seconds = &result.Count, &seconds
		e.Worker, e.Kernel, e.Attempt = result.Worker, result.Kernel, result.Attempt
		e.Key, e.Report = result.Key, result.Report
	}
	return e
}

// Task returns the task to count again. The error is the first thing wrong with an exported
// task from outside, also a hash that is not the task's.
func (e *ExportedTask) Task() (Task, error) {
	task := Task{Run: e.Run, ID: e.ID, Board: e.Board, Prefixes: e.Prefixes}
	err := task.Validate()
	if err == nil {
		err = e.validate(TaskHash(task.Hash()))
	}
	if err != nil {
		return Task{}, fmt.Errorf("exported task %d: %w", e.ID, err)
	}
	return task, nil
}

func (e *ExportedTask) validate(hash TaskHash) error {
	switch {
	case e.K < 1 || e.K > images:
		return fmt.Errorf("k = %d, not 1 to %d", e.K, images)
	case hash != e.Hash:
		return fmt.Errorf("the hash is %016x, but id, board and prefixes have %016x", e.Hash, hash)
	case e.Count == nil && (e.Worker != "" || e.Kernel != "" || e.Attempt != 0 || e.Seconds != nil):
		return errors.New("a worker, kernel, attempt or seconds without a count")
	case e.Count == nil && (e.Key != "" || e.Report != 0):
		return errors.New("a key or report without a count")
	case e.Report == 0 && (len(e.Signature) > 0 || len(e.Statement) > 0):
		return errors.New("a signature or statement without a report")
	case len(e.Signature) > 0 != (len(e.Statement) > 0) || len(e.Signature) > 128 || len(e.Statement) > maxStatement:
		return fmt.Errorf("a signature of %d bytes and a statement of %d", len(e.Signature), len(e.Statement))
	case len(e.Key) > maxNameBytes || e.Report != 0 && e.Key == "":
		return fmt.Errorf("a report, and a key of %d bytes", len(e.Key))
	case e.Count == nil:
		return nil
	case e.Worker == "" || len(e.Worker) > maxNameBytes:
		return fmt.Errorf("a worker name of %d bytes, not 1 to %d", len(e.Worker), maxNameBytes)
	case e.Kernel == "" || len(e.Kernel) > maxNameBytes:
		return fmt.Errorf("a kernel name of %d bytes, not 1 to %d", len(e.Kernel), maxNameBytes)
	case e.Attempt == 0:
		return errors.New("a count without an attempt number")
	case e.Seconds == nil:
		return errors.New("a count without seconds")
	case !(*e.Seconds >= 0 && *e.Seconds <= math.MaxFloat64):
		return fmt.Errorf("%v seconds, not 0 or more", *e.Seconds)
	}
	return nil
}

// MarshalJSON returns the exported line, without a newline, or the error of
// [ExportedTask.Task].
func (e ExportedTask) MarshalJSON() ([]byte, error) {
	if _, err := e.Task(); err != nil {
		return nil, err
	}
	type fields ExportedTask
	return json.Marshal(fields(e))
}

// UnmarshalJSON decodes an exported line, and rejects an invalid one. It ignores unknown
// fields.
func (e *ExportedTask) UnmarshalJSON(data []byte) error {
	type fields ExportedTask
	var read fields
	if err := json.Unmarshal(data, &read); err != nil {
		return fmt.Errorf("exported task can't be read: %.200w", err) // it may quote a literal of any length
	}
	if read.Count != nil && read.Seconds == nil {
		read.Seconds = new(float64)
	}
	if _, err := (*ExportedTask)(&read).Task(); err != nil {
		return err
	}
	*e = ExportedTask(read)
	return nil
}
