package queens

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// MaxBatch is the largest number of prefixes in a task.
const MaxBatch = 1 << 14

// Task is a batch of prefixes of a class. The ledger records a count for each task. Workers get tasks in chunks.
type Task struct {
	// Run is the name of the run.
	Run string
	// ID is the task's number within the run, 0..Manifest.Tasks-1.
	ID uint64
	// Board and Prefixes say what to count: the completions of each prefix.
	Board    Board
	Prefixes []Prefix
}

// Hash identifies what is counted: it is the first 64 bits of SHA-256 over the task's id, board and prefixes. It does not
// depend on the name of the run.
func (t *Task) Hash() uint64 { return new(Hasher).Hash(t) }

// Hasher computes the same hashes as [Task.Hash], and reuses its buffer for many tasks.
type Hasher struct{ hashed []byte }

// Hash returns the hash of a task.
func (h *Hasher) Hash(t *Task) uint64 {
	const prefixSize = 4 * 4
	size := 8 + 4 + 4*t.Board.N + prefixSize*len(t.Prefixes)
	if cap(h.hashed) < size {
		h.hashed = make([]byte, size)
	}
	order := binary.LittleEndian
	buf := order.AppendUint64(h.hashed[:0], t.ID)
	buf = order.AppendUint32(buf, uint32(t.Board.N))
	for _, allow := range t.Board.Allow[:t.Board.N] {
		buf = order.AppendUint32(buf, allow)
	}
	rest := buf[len(buf):size]
	for _, p := range t.Prefixes { // two numbers of 4 bytes at once
		order.PutUint64(rest, uint64(uint32(p.Row))|uint64(p.Cols)<<32)
		order.PutUint64(rest[8:], uint64(p.Left)|uint64(p.Right)<<32)
		rest = rest[prefixSize:]
	}
	buf = buf[:size]
	return first64(buf)
}

// first64 returns the first 64 bits of SHA-256 over data, little endian.
func first64(data []byte) uint64 {
	sum := sha256.Sum256(data)
	return binary.LittleEndian.Uint64(sum[:])
}

// Validate returns the first thing that is wrong with a task. Tasks from outside need it.
func (t *Task) Validate() error {
	if err := ValidateRun(t.Run); err != nil {
		return err
	}
	if err := t.Board.Validate(); err != nil {
		return err
	}
	return ValidatePrefixes(&t.Board, t.ID, t.Prefixes)
}

// ValidatePrefixes returns the first thing that is wrong with the prefixes of a task.
func ValidatePrefixes(b *Board, task uint64, prefixes []Prefix) error {
	if len(prefixes) == 0 || len(prefixes) > MaxBatch {
		return fmt.Errorf("task %d has %d prefixes, not 1 to %d", task, len(prefixes), MaxBatch)
	}
	for i := range prefixes {
		if err := prefixes[i].Validate(b); err != nil {
			return err
		}
	}
	return nil
}
