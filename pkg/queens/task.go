package queens

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"
)

// MaxBatch is the largest number of prefixes in a task.
const MaxBatch = 1 << 14

// Task is a batch of prefixes of one class's board: what a worker takes and counts.
type Task struct {
	// Run names the count that the task belongs to.
	Run string
	// ID is the task's number within the run, 0..Manifest.Tasks-1.
	ID uint64
	// Attempt is 1 when the task is first published and grows by 1 each time it
	// is published again.
	Attempt uint32
	// ExcludedWorkers names workers that are to leave the task to others: they have counted it
	// already, and what they counted is in dispute.
	ExcludedWorkers []string
	// Board and Prefixes say what to count: the completions of each prefix.
	Board    Board
	Prefixes []Prefix
}

// Hash identifies what is counted: the first 64 bits of SHA-256 over the task's
// id, board and prefixes. Run and Attempt play no part, so the hash is a function
// of the manifest.
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

// Validate reports the first thing wrong with a task that came from outside.
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
		return fmt.Errorf("task %d is kept from %d workers, more than %d", t.ID, len(t.ExcludedWorkers), MaxExcludedWorkers)
	}
	for _, name := range t.ExcludedWorkers {
		// No more is asked of a name: it may be from a ledger of old, and is not shown.
		if len(name) > maxName {
			return fmt.Errorf("task %d is kept from a worker with a name of %d bytes, more than %d", t.ID, len(name), maxName)
		}
	}
	return nil
}

// MaxExcludedWorkers bounds [Task.NotBy].
const MaxExcludedWorkers = 64

// Result is one worker's count of one task.
type Result struct {
	Run     string
	Task    uint64
	Hash    uint64 // Hash of the task that was really counted.
	Attempt uint32 // Attempt of the task message that led to this result.
	Count   uint64 // Solutions on the class's board: completions of the task's prefixes.
	Worker  string
	Kernel  string
	Elapsed time.Duration // Time of the search alone.
}

// Validate reports the first thing wrong with a result that came from outside.
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

// maxRun bounds a run's name: it becomes part of subjects and folders.
const maxRun = 64

// ValidateRun returns nil when name can name a run: 1 to 64 lower-case letters,
// digits and dashes, starting with a letter or digit.
func ValidateRun(name string) error {
	ok := len(name) >= 1 && len(name) <= maxRun && name[0] != '-'
	for _, c := range []byte(name) {
		ok = ok && (c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-')
	}
	if !ok {
		return fmt.Errorf("run name %.80q is not 1 to %d lower-case letters, digits and dashes", name, maxRun)
	}
	return nil
}
