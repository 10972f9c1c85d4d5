package queens

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"
)

// MaxBatch is the largest number of prefixes in a task.
const MaxBatch = 1 << 14

// Task is a batch of prefixes of one class's board: the unit that a worker counts.
type Task struct {
	// Run is the name of the run.
	Run string
	// ID is the task's number within the run, 0..Manifest.Tasks-1.
	ID uint64
	// Attempt is 1 when the task is first published, and one more each time it is published
	// again.
	Attempt uint32
	// ExcludedWorkers are the names of workers that must not count the task: they have
	// counted it already, and their counts are in dispute.
	ExcludedWorkers []string
	// Board and Prefixes say what to count: the completions of each prefix.
	Board    Board
	Prefixes []Prefix
}

// Hash identifies what is counted: it is the first 64 bits of SHA-256 over the task's id,
// board and prefixes. It does not depend on run, attempt and excluded workers, and so is a
// function of the manifest.
func (t *Task) Hash() uint64 {
	h := sha256.New()
	buf := make([]byte, 0, 256)
	u32 := binary.LittleEndian.AppendUint32
	buf = binary.LittleEndian.AppendUint64(buf, t.ID)
	buf = u32(buf, uint32(t.Board.N))
	for _, allow := range t.Board.Allow[:t.Board.N] {
		buf = u32(buf, allow)
	}
	for _, p := range t.Prefixes {
		buf = u32(u32(u32(u32(buf, uint32(p.Row)), p.Cols), p.Left), p.Right)
		if len(buf) > cap(buf)-16 {
			h.Write(buf)
			buf = buf[:0]
		}
	}
	h.Write(buf)
	var sum [sha256.Size]byte
	return binary.LittleEndian.Uint64(h.Sum(sum[:0]))
}

// Validate returns the first thing wrong with a task from outside.
func (t *Task) Validate() error {
	if err := ValidateRun(t.Run); err != nil {
		return err
	}
	if t.Attempt == 0 {
		return fmt.Errorf("task %d has no attempt number", t.ID)
	}
	if err := t.Board.Validate(); err != nil {
		return err
	}
	if len(t.Prefixes) == 0 || len(t.Prefixes) > MaxBatch {
		return fmt.Errorf("task %d has %d prefixes, not 1 to %d", t.ID, len(t.Prefixes), MaxBatch)
	}
	for _, p := range t.Prefixes {
		if err := p.Validate(&t.Board); err != nil {
			return err
		}
	}
	if len(t.ExcludedWorkers) > MaxExcludedWorkers {
		return fmt.Errorf("task %d excludes %d workers, more than %d", t.ID, len(t.ExcludedWorkers), MaxExcludedWorkers)
	}
	for _, name := range t.ExcludedWorkers {
		// Only the length matters: the name may come from an old ledger, and is not shown.
		if len(name) > maxNameBytes {
			return fmt.Errorf("task %d excludes a worker with a name of %d bytes, more than %d", t.ID, len(name), maxNameBytes)
		}
	}
	return nil
}

// MaxExcludedWorkers bounds [Task.ExcludedWorkers].
const MaxExcludedWorkers = 64

// Result is one worker's count of one task.
type Result struct {
	Run     string
	Task    uint64
	Hash    uint64 // Hash of the task that was counted.
	Attempt uint32 // Attempt of the task message that led to this result.
	Count   uint64 // Solutions on the class's board below the task's prefixes, unweighted.
	Worker  string
	Kernel  string
	Elapsed time.Duration // Time of the search alone.
}

// Validate returns the first thing wrong with a result from outside.
func (r *Result) Validate() error {
	if err := ValidateRun(r.Run); err != nil {
		return err
	}
	switch {
	case r.Attempt == 0:
		return fmt.Errorf("result of task %d has no attempt number", r.Task)
	case r.Worker == "" || r.Kernel == "":
		return fmt.Errorf("result of task %d does not name its worker and kernel", r.Task)
	case r.Elapsed < 0:
		return fmt.Errorf("result of task %d took a negative time", r.Task)
	}
	err := ValidateName("a worker name", r.Worker)
	if err == nil {
		err = ValidateName("a kernel name", r.Kernel)
	}
	if err != nil {
		return fmt.Errorf("result of task %d has %w", r.Task, err)
	}
	return nil
}
