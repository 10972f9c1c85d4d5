package queens

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"
)

// MaxBatch is the largest number of prefixes in a task.
const MaxBatch = 1 << 14

// Task is a batch of prefixes of one class's board: the unit of the accounts. Tasks travel in
// chunks.
type Task struct {
	// Run is the name of the run.
	Run string
	// ID is the task's number within the run, 0..Manifest.Tasks-1.
	ID uint64
	// Board and Prefixes say what to count: the completions of each prefix.
	Board    Board
	Prefixes []Prefix
}

// Hash identifies what is counted: it is the first 64 bits of SHA-256 over the task's id,
// board and prefixes. It does not depend on the run, and so is a function of the manifest.
func (t *Task) Hash() uint64 { return new(Hasher).Hash(t) }

// Hasher computes the hashes of many tasks, as [Task.Hash] does, in one buffer.
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
	sum := sha256.Sum256(buf)
	return binary.LittleEndian.Uint64(sum[:])
}

// Validate returns the first thing wrong with a task from outside.
func (t *Task) Validate() error {
	if err := ValidateRun(t.Run); err != nil {
		return err
	}
	if err := t.Board.Validate(); err != nil {
		return err
	}
	return validatePrefixes(&t.Board, t.ID, t.Prefixes)
}

// validatePrefixes returns the first thing wrong with the prefixes of a task.
func validatePrefixes(b *Board, task uint64, prefixes []Prefix) error {
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

// Result is one worker's count of one task.
type Result struct {
	Run  string
	Task uint64
	Hash uint64 // Hash of the task that was counted.
	// Attempt is how often the coordinator that recorded the result had published the task,
	// from 1.
	Attempt uint32
	Count   uint64 // Solutions on the class's board below the task's prefixes, unweighted.
	Worker  string
	Kernel  string
	Elapsed time.Duration // Time of the search alone.
	// Key is the public key of the worker; empty for the coordinator's own counts.
	Key string
	// Admitted says that the key was admitted when the result was recorded: it is a voter. A key
	// that was not adds nothing to agreement.
	Admitted bool
	// ByToken says that the join token admitted the key, and no list: whoever has the token can make
	// any number of such keys.
	ByToken bool
	// Sealed is the signed chunk result that this result came with; nil for a result read from a
	// ledger.
	Sealed *Sealed
	// Report is the number of the signed chunk result in the ledger, from 1; 0 for none.
	Report uint64
}

// Voter returns who counted the result, admitted or not: the key, or [Referee] or [Checker] for the
// coordinator's own counts. Two results of one voter are worth as much as one.
func (r *Result) Voter() string {
	if r.IsOwn() {
		return r.Worker
	}
	return r.Key
}

// IsOwn reports whether the coordinator has counted the result itself. Such a result is not admitted: it
// adds nothing to the agreement of keys.
func (r *Result) IsOwn() bool { return r.Worker == Referee || r.Worker == Checker }

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
