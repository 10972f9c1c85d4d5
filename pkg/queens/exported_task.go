package queens

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
)

// ExportedTask is a task with all that is needed to count it again, and its accepted count
// if it has one. It is a line of a ledger's export, a JSON object.
type ExportedTask struct {
	Run      string
	ID       uint64
	Hash     uint64 // See [Task.Hash].
	K        int    // See [Class].
	Board    Board
	Prefixes []Prefix

	// Counted says whether the task has an accepted count. If not, the fields below are
	// zero.
	Counted bool
	Count   uint64 // Solutions on the board below the prefixes, unweighted.
	Worker  string
	Kernel  string
	Attempt uint32
	Seconds float64 // Time of the search alone.
}

// NewExportedTask returns the export of a task of a class with that k, and of its accepted
// result, or nil.
func NewExportedTask(task *Task, k int, result *Result) ExportedTask {
	e := ExportedTask{Run: task.Run, ID: task.ID, Hash: task.Hash(), K: k, Board: task.Board, Prefixes: task.Prefixes}
	if result != nil {
		e.Counted, e.Count, e.Worker, e.Kernel = true, result.Count, result.Worker, result.Kernel
		e.Attempt, e.Seconds = result.Attempt, result.Elapsed.Seconds()
	}
	return e
}

// Task returns the task to count again. Its attempt is that of the accepted result, or 1.
// The error is that of [ExportedTask.Validate].
func (e *ExportedTask) Task() (Task, error) {
	if err := e.Validate(); err != nil {
		return Task{}, err
	}
	return e.task(), nil
}

func (e *ExportedTask) task() Task {
	return Task{Run: e.Run, ID: e.ID, Attempt: max(e.Attempt, 1), Board: e.Board, Prefixes: e.Prefixes}
}

// Validate returns the first thing wrong with an exported task from outside, also a hash
// that is not the task's.
func (e *ExportedTask) Validate() error {
	task := e.task()
	err := task.Validate()
	if err == nil {
		err = e.validate(task.Hash())
	}
	if err != nil {
		return fmt.Errorf("exported task %d: %w", e.ID, err)
	}
	return nil
}

func (e *ExportedTask) validate(hash uint64) error {
	switch {
	case e.K < 1 || e.K > images:
		return fmt.Errorf("k = %d, not 1 to %d", e.K, images)
	case hash != e.Hash:
		return fmt.Errorf("the hash is %016x, but id, board and prefixes have %016x", e.Hash, hash)
	case !e.Counted && (e.Count != 0 || e.Worker != "" || e.Kernel != "" || e.Attempt != 0 || e.Seconds != 0):
		return errors.New("a worker, kernel, attempt or seconds without a count")
	case !e.Counted:
		return nil
	case e.Worker == "" || len(e.Worker) > maxNameBytes:
		return fmt.Errorf("a worker name of %d bytes, not 1 to %d", len(e.Worker), maxNameBytes)
	case e.Kernel == "" || len(e.Kernel) > maxNameBytes:
		return fmt.Errorf("a kernel name of %d bytes, not 1 to %d", len(e.Kernel), maxNameBytes)
	case e.Attempt == 0:
		return errors.New("a count without an attempt number")
	case !(e.Seconds >= 0 && e.Seconds <= math.MaxFloat64):
		return fmt.Errorf("%v seconds, not 0 or more", e.Seconds)
	}
	return nil
}

// exportedTaskJSON is an exported line. The count is a string of digits, because other
// programs' numbers may not hold it exactly.
type exportedTaskJSON struct {
	Run      string     `json:"run"`
	Task     uint64     `json:"task"`
	Hash     string     `json:"hash"`
	K        int        `json:"k"`
	Allow    []uint32   `json:"allow"`
	Prefixes [][]uint32 `json:"prefixes"` // Each is row, cols, left, right.
	Count    *string    `json:"count,omitempty"`
	Worker   string     `json:"worker,omitempty"`
	Kernel   string     `json:"kernel,omitempty"`
	Attempt  uint32     `json:"attempt,omitempty"`
	Seconds  *float64   `json:"seconds,omitempty"`
}

// MarshalJSON returns the exported line, without a newline, or the error of
// [ExportedTask.Validate].
func (e ExportedTask) MarshalJSON() ([]byte, error) {
	if err := e.Validate(); err != nil {
		return nil, err
	}
	line := exportedTaskJSON{
		Run: e.Run, Task: e.ID, Hash: fmt.Sprintf("%016x", e.Hash), K: e.K,
		Allow: e.Board.Allow[:e.Board.N], Prefixes: make([][]uint32, len(e.Prefixes)),
	}
	for i, p := range e.Prefixes {
		line.Prefixes[i] = []uint32{uint32(p.Row), p.Cols, p.Left, p.Right}
	}
	if e.Counted {
		count := strconv.FormatUint(e.Count, 10)
		line.Count, line.Seconds = &count, &e.Seconds
		line.Worker, line.Kernel, line.Attempt = e.Worker, e.Kernel, e.Attempt
	}
	return json.Marshal(line)
}

// UnmarshalJSON decodes an exported line, and rejects an invalid one. It ignores unknown
// fields.
func (e *ExportedTask) UnmarshalJSON(data []byte) error {
	var line exportedTaskJSON
	if err := json.Unmarshal(data, &line); err != nil {
		return fmt.Errorf("exported task can't be read: %.200w", err) // it may quote a literal of any length
	}
	read, err := line.decode()
	if err != nil {
		return fmt.Errorf("exported task %d: %w", line.Task, err)
	}
	if err := read.Validate(); err != nil {
		return err
	}
	*e = read
	return nil
}

func (line *exportedTaskJSON) decode() (e ExportedTask, err error) {
	e = ExportedTask{
		Run: line.Run, ID: line.Task, K: line.K, Board: Board{N: len(line.Allow)},
		Worker: line.Worker, Kernel: line.Kernel, Attempt: line.Attempt,
	}
	copy(e.Board.Allow[:], line.Allow) // Validate rejects the side if there are too many rows
	if e.Hash, err = strconv.ParseUint(line.Hash, 16, 64); err != nil || len(line.Hash) != 16 {
		return e, fmt.Errorf("the hash is %.80q, not 16 hexadecimal digits", line.Hash)
	}
	for i, p := range line.Prefixes {
		if len(p) != 4 {
			return e, fmt.Errorf("prefix %d has %d numbers, not row, cols, left, right", i, len(p))
		}
		e.Prefixes = append(e.Prefixes, Prefix{Row: int(p[0]), Cols: p[1], Left: p[2], Right: p[3]})
	}
	if line.Count != nil {
		e.Counted = true
		if e.Count, err = strconv.ParseUint(*line.Count, 10, 64); err != nil {
			return e, fmt.Errorf("the count is %.80q, not an integer below 2^64", *line.Count)
		}
	}
	if line.Seconds != nil {
		e.Seconds = *line.Seconds
	}
	return e, nil
}
