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
	// Unadmitted says that the key was not admitted: its count adds nothing to agreement.
	Unadmitted bool `json:"unadmitted,omitempty"`

	// Confirmations are the counts of other voters that agree, if the run has ended.
	Confirmations []ExportedConfirmation `json:"confirmations,omitempty"`
}

// ExportedConfirmation is a count of a task that agrees with the accepted one, of another voter. The
// fields are those of [ExportedTask].
type ExportedConfirmation struct {
	Worker     string `json:"worker"`
	Kernel     string `json:"kernel"`
	Key        string `json:"key,omitempty"`
	Report     uint64 `json:"report,omitempty"`
	Signature  []byte `json:"signature,omitempty"`
	Statement  []byte `json:"statement,omitempty"`
	Unadmitted bool   `json:"unadmitted,omitempty"`
}

const (
	// maxStatement bounds the statement of a report, in bytes: that of MaxChunk tasks fits.
	maxStatement = 1 << 20
	// maxConfirmations bounds the confirmations of a task: a ledger has no more votes of one.
	maxConfirmations = 128
)

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
		e.Key, e.Report, e.Unadmitted = result.Key, result.Report, isUnadmitted(result)
	}
	return e
}

// NewExportedConfirmation returns the export of a result that agrees with the accepted one. It lacks
// the signed statement.
func NewExportedConfirmation(r *Result) ExportedConfirmation {
	return ExportedConfirmation{Worker: r.Worker, Kernel: r.Kernel, Key: r.Key, Report: r.Report, Unadmitted: isUnadmitted(r)}
}

func isUnadmitted(r *Result) bool { return r.Key != "" && !r.Admitted }

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
	case e.Count == nil && (e.Key != "" || e.Report != 0 || e.Unadmitted || len(e.Confirmations) > 0):
		return errors.New("a key, report or confirmations without a count")
	case len(e.Confirmations) > maxConfirmations:
		return fmt.Errorf("%d confirmations, more than %d", len(e.Confirmations), maxConfirmations)
	case e.Count == nil:
		return validateSigned(e.Key, e.Report, e.Signature, e.Statement)
	case e.Attempt == 0:
		return errors.New("a count without an attempt number")
	case e.Seconds == nil:
		return errors.New("a count without seconds")
	case !(*e.Seconds >= 0 && *e.Seconds <= math.MaxFloat64):
		return fmt.Errorf("%v seconds, not 0 or more", *e.Seconds)
	}
	err := validateCounter(e.Worker, e.Kernel)
	if err == nil {
		err = validateSigned(e.Key, e.Report, e.Signature, e.Statement)
	}
	for i := 0; i < len(e.Confirmations) && err == nil; i++ {
		c := &e.Confirmations[i]
		if err = validateCounter(c.Worker, c.Kernel); err == nil {
			err = validateSigned(c.Key, c.Report, c.Signature, c.Statement)
		}
	}
	return err
}

// validateCounter checks who counted a task, and with what.
func validateCounter(worker, kernel string) error {
	switch {
	case worker == "" || len(worker) > maxNameBytes:
		return fmt.Errorf("a worker name of %d bytes, not 1 to %d", len(worker), maxNameBytes)
	case kernel == "" || len(kernel) > maxNameBytes:
		return fmt.Errorf("a kernel name of %d bytes, not 1 to %d", len(kernel), maxNameBytes)
	}
	return nil
}

// validateSigned checks the sizes of a report, and that nothing of it is without the rest.
func validateSigned(key string, report uint64, signature, statement []byte) error {
	switch {
	case report == 0 && (len(signature) > 0 || len(statement) > 0):
		return errors.New("a signature or statement without a report")
	case len(signature) > 0 != (len(statement) > 0) || len(signature) > 128 || len(statement) > maxStatement:
		return fmt.Errorf("a signature of %d bytes and a statement of %d", len(signature), len(statement))
	case len(key) > maxNameBytes || report != 0 && key == "":
		return fmt.Errorf("a report, and a key of %d bytes", len(key))
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
