package queens

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// ExportedTask is a task with what is needed to count it again, and its accepted count
// where it has one: a line of a ledger's export. It is written as one JSON object.
type ExportedTask struct {
	Run string
	ID  uint64 // Of the task.
	// Hash is that of the task.
	Hash uint64
	// K is that of the task's class.
	K        int
	Board    Board
	Prefixes []Prefix

	// Counted says whether the task has an accepted count. Where it has none, what
	// follows is zero.
	Counted bool
	Count   uint64 // Solutions on the board below the prefixes, without any weight.
	Worker  string
	Kernel  string
	Attempt uint32
	Seconds float64 // Time of the search alone.
}

// NewExportedTask returns the line of a task, whose class has that k, and of its accepted
// result, or nil.
func NewExportedTask(task *Task, k int, result *Result) ExportedTask {
	s := ExportedTask{Run: task.Run, ID: task.ID, Hash: task.Hash(), K: k, Board: task.Board, Prefixes: task.Prefixes}
	if result != nil {
		s.Counted, s.Count, s.Worker, s.Kernel = true, result.Count, result.Worker, result.Kernel
		s.Attempt, s.Seconds = result.Attempt, result.Elapsed.Seconds()
	}
	return s
}

// Task returns the task to count again. Its attempt is that of the accepted result, or
// 1. The error is that of [Subtotal.Validate].
func (s *ExportedTask) Task() (Task, error) {
	if err := s.Validate(); err != nil {
		return Task{}, err
	}
	return s.task(), nil
}

func (s *ExportedTask) task() Task {
	return Task{Run: s.Run, ID: s.ID, Attempt: max(s.Attempt, 1), Board: s.Board, Prefixes: s.Prefixes}
}

// Validate reports the first thing wrong with a subtotal that came from outside: also
// a hash that is not that of its task.
func (s *ExportedTask) Validate() error {
	task := s.task()
	if err := task.Validate(); err != nil {
		return fmt.Errorf("subtotal of task %d: %w", s.ID, err)
	}
	if s.K < 1 || s.K > images {
		return fmt.Errorf("subtotal of task %d has k = %d, not 1 to %d", s.ID, s.K, images)
	}
	if hash := task.Hash(); hash != s.Hash {
		return fmt.Errorf("subtotal of task %d has hash %016x, its task, board and prefixes have %016x", s.ID, s.Hash, hash)
	}
	if s.Counted {
		return s.validateCount()
	}
	if s.Count != 0 || s.Worker != "" || s.Kernel != "" || s.Attempt != 0 || s.Seconds != 0 {
		return fmt.Errorf("subtotal of task %d has worker, kernel, attempt or seconds without a count", s.ID)
	}
	return nil
}

func (s *ExportedTask) validateCount() error {
	switch {
	case s.Worker == "" || len(s.Worker) > maxName:
		return fmt.Errorf("subtotal of task %d has a worker name of %d bytes, not 1 to %d", s.ID, len(s.Worker), maxName)
	case s.Kernel == "" || len(s.Kernel) > maxName:
		return fmt.Errorf("subtotal of task %d has a kernel name of %d bytes, not 1 to %d", s.ID, len(s.Kernel), maxName)
	case s.Attempt == 0:
		return fmt.Errorf("subtotal of task %d has a count, but no attempt number", s.ID)
	case !(s.Seconds >= 0 && s.Seconds <= math.MaxFloat64):
		return fmt.Errorf("subtotal of task %d took %v seconds, not 0 or more", s.ID, s.Seconds)
	}
	return nil
}

// exportedTaskJSON is the form of an exported line. A count is a string of digits: it may
// pass what other programs' numbers hold exactly.
type exportedTaskJSON struct {
	Run      string     `json:"run"`
	Task     uint64     `json:"task"`
	Hash     string     `json:"hash"`
	K        int        `json:"k"`
	Allow    []uint32   `json:"allow"`
	Prefixes [][]uint32 `json:"prefixes"` // each row, cols, left, right
	Count    *string    `json:"count,omitempty"`
	Worker   string     `json:"worker,omitempty"`
	Kernel   string     `json:"kernel,omitempty"`
	Attempt  uint32     `json:"attempt,omitempty"`
	Seconds  *float64   `json:"seconds,omitempty"`
}

// MarshalJSON returns the exported line, without an end of line, or the error of
// [Subtotal.Validate].
func (s ExportedTask) MarshalJSON() ([]byte, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	line := exportedTaskJSON{
		Run: s.Run, Task: s.ID, Hash: fmt.Sprintf("%016x", s.Hash), K: s.K,
		Allow: s.Board.Allow[:s.Board.N], Prefixes: make([][]uint32, len(s.Prefixes)),
	}
	for i, p := range s.Prefixes {
		line.Prefixes[i] = []uint32{uint32(p.Row), p.Cols, p.Left, p.Right}
	}
	if s.Counted {
		count := strconv.FormatUint(s.Count, 10)
		line.Count, line.Seconds = &count, &s.Seconds
		line.Worker, line.Kernel, line.Attempt = s.Worker, s.Kernel, s.Attempt
	}
	return json.Marshal(line)
}

// UnmarshalJSON reads an exported line, and refuses one that is not valid. Fields that
// it does not know are passed over.
func (s *ExportedTask) UnmarshalJSON(data []byte) error {
	var line exportedTaskJSON
	if err := json.Unmarshal(data, &line); err != nil {
		return fmt.Errorf("subtotal that can't be read: %.200w", err) // a literal in it may be of any length
	}
	read := ExportedTask{
		Run: line.Run, ID: line.Task, K: line.K, Board: Board{N: len(line.Allow)},
		Worker: line.Worker, Kernel: line.Kernel, Attempt: line.Attempt,
	}
	copy(read.Board.Allow[:], line.Allow) // of more rows than there can be the side tells
	var err error
	if read.Hash, err = strconv.ParseUint(line.Hash, 16, 64); err != nil || len(line.Hash) != 16 {
		return fmt.Errorf("subtotal of task %d has the hash %.80q, not 16 hexadecimal digits", read.ID, line.Hash)
	}
	for i, p := range line.Prefixes {
		if len(p) != 4 {
			return fmt.Errorf("prefix %d in the subtotal of task %d has %d numbers, not row, cols, left, right", i, read.ID, len(p))
		}
		read.Prefixes = append(read.Prefixes, Prefix{Row: int(p[0]), Cols: p[1], Left: p[2], Right: p[3]})
	}
	if line.Count != nil {
		read.Counted = true
		if read.Count, err = strconv.ParseUint(*line.Count, 10, 64); err != nil {
			return fmt.Errorf("subtotal of task %d has the count %.80q, not a whole number below 2^64", read.ID, *line.Count)
		}
	}
	if line.Seconds != nil {
		read.Seconds = *line.Seconds
	}
	if err := read.Validate(); err != nil {
		return err
	}
	*s = read
	return nil
}
