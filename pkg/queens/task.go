package queens

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// MaxBatch is the largest number of prefixes in a task.
const MaxBatch = 1 << 14

// Task is a part of a count: a batch of prefixes of a class or, by the method [Halves], consecutive
// row sets. The ledger records a count for each task. Workers get tasks in chunks.
type Task struct {
	// Run is the name of the run.
	Run string
	// ID is the task's number within the run, 0..Manifest.Tasks-1.
	ID uint64
	// Board and Prefixes say what to count: the completions of each prefix.
	Board    Board
	Prefixes []Prefix
	// By the method [Halves], Board is the full board, there are no prefixes, and the weighted sums
	// of the row sets are counted.
	Sets RowSets
}

// Method returns the method that counts the task.
func (t *Task) Method() Method {
	if t.Sets != (RowSets{}) {
		return Halves
	}
	return Prefixes
}

// Hash identifies what is counted: it is the first 64 bits of SHA-256 over the task's id, board and
// prefixes, or over its id and row sets. It does not depend on the name of the run.
func (t *Task) Hash() uint64 { return new(Hasher).Hash(t) }

// Hasher computes the same hashes as [Task.Hash], and reuses its buffer for many tasks.
type Hasher struct{ hashed []byte }

// Hash returns the hash of a task.
func (h *Hasher) Hash(t *Task) uint64 {
	if t.Method() == Halves {
		return h.hashSets(t)
	}
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

// hashSets returns the hash of a task of the method halves. What is hashed has a 0 where a task of
// prefixes has its side, so the two never hash the same.
func (h *Hasher) hashSets(t *Task) uint64 {
	order := binary.LittleEndian
	h.hashed = order.AppendUint64(h.hashed[:0], t.ID)
	h.hashed = order.AppendUint32(h.hashed, 0)
	h.hashed = append(h.hashed, Halves...)
	h.hashed = order.AppendUint32(h.hashed, uint32(t.Board.N))
	h.hashed = order.AppendUint64(h.hashed, t.Sets.First)
	h.hashed = order.AppendUint64(h.hashed, t.Sets.Number)
	return first64(h.hashed)
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
	return t.ValidateSearch()
}

// ValidateSearch returns the first thing that is wrong with what a task counts.
func (t *Task) ValidateSearch() error {
	if err := t.Board.Validate(); err != nil {
		return err
	}
	if t.Method() == Prefixes {
		return ValidatePrefixes(&t.Board, t.ID, t.Prefixes)
	}
	switch err := t.Sets.Validate(); {
	case err != nil:
		return fmt.Errorf("task %d: %w", t.ID, err)
	case len(t.Prefixes) > 0 || t.Board != FullBoard(t.Board.N):
		return fmt.Errorf("task %d has row sets, and prefixes or a board that is not full", t.ID)
	}
	return nil
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
