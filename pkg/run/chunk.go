package run

import (
	"fmt"
	"time"

	"nqueens/pkg/queens"
)

// MaxChunk is the largest number of tasks in a chunk.
const MaxChunk = 1 << 12

// Chunk is some consecutive tasks of one class, which travel in one message. The size of
// chunks falls towards the end of a run (guided self-scheduling).
//
// Reference: C. D. Polychronopoulos and D. J. Kuck, "Guided self-scheduling: a practical
// scheduling scheme for parallel supercomputers", IEEE Transactions on Computers C-36 (1987),
// 1425-1439.
type Chunk struct {
	// Run is the name of the run.
	Run string
	// Manifest is the hash of the run's manifest. A worker does not check it: it signs that it
	// counted for this manifest.
	Manifest queens.ManifestHash
	// ID identifies this message of the run. It is a random number other than 0: it tells
	// nothing of the tasks, nor of earlier chunks with the same tasks.
	ID uint64
	// Suspect says that several workers were lost while they searched these tasks.
	Suspect bool
	// Board is the board of all tasks.
	Board queens.Board
	// First is the id of the first task; the ids of the others follow.
	First uint64
	// Tasks are the prefixes of each task, 1 to MaxChunk of them.
	Tasks [][]queens.Prefix
}

// Task returns the task at an index of Tasks.
func (c *Chunk) Task(i int) queens.Task {
	return queens.Task{Run: c.Run, ID: c.First + uint64(i), Board: c.Board, Prefixes: c.Tasks[i]}
}

// Validate returns the first thing wrong with a chunk from outside. First+len(Tasks) does not
// overflow in a valid chunk.
func (c *Chunk) Validate() error {
	if err := queens.ValidateRun(c.Run); err != nil {
		return err
	}
	switch {
	case c.ID == 0:
		return fmt.Errorf("a chunk of run %s has no id", c.Run)
	case len(c.Tasks) == 0 || len(c.Tasks) > MaxChunk:
		return fmt.Errorf("chunk %016x has %d tasks, not 1 to %d", c.ID, len(c.Tasks), MaxChunk)
	case c.First+uint64(len(c.Tasks)) < c.First:
		return fmt.Errorf("chunk %016x begins with task %d and has %d: their ids overflow", c.ID, c.First, len(c.Tasks))
	}
	if err := c.Board.Validate(); err != nil {
		return err
	}
	for i := range c.Tasks {
		if err := queens.ValidatePrefixes(&c.Board, c.First+uint64(i), c.Tasks[i]); err != nil {
			return err
		}
	}
	return nil
}

// Referee is the worker that the ledger names for a coordinator's own count of a disputed task,
// which settles the dispute. No other worker may have this name.
const Referee = "(coordinator)"

// Checker is the worker that the ledger names for a coordinator's own spot check of a task, by
// another kernel than that of the first count. No other worker may have this name.
const Checker = "(check)"

// ChunkResult is one worker's counts of the first tasks of a chunk: of all of them, unless the
// worker stopped on the way.
type ChunkResult struct {
	Run      string
	Manifest queens.ManifestHash // Of the run, as the chunk says.
	Chunk    uint64              // ID of the chunk.
	First    uint64              // ID of the first task.
	Worker   string              // A name for people.
	Counted  time.Time           // When the worker had counted the last task.
	Counts   []TaskCount         // Of the tasks First, First+1 and so on; at least one.

	// Sealed is the result as its worker signed it, or nil while nobody has signed it.
	Sealed *Sealed
	// Admission proves that the worker's key was admitted by the join token; it may be empty.
	Admission []byte
}

// TaskCount is the count of one task of a chunk.
type TaskCount = queens.TaskCount

// Result returns the result of the task at an index of Counts, for an attempt.
func (r *ChunkResult) Result(i int, attempt uint32) Result {
	c := &r.Counts[i]
	result := Result{
		Run: r.Run, Task: r.First + uint64(i), Hash: c.Hash, Attempt: attempt,
		Count: c.Count, Worker: r.Worker, Kernel: c.Kernel, Elapsed: c.Elapsed,
	}
	if r.Sealed != nil {
		result.Key, result.Sealed = r.Sealed.Key, r.Sealed
	}
	return result
}

// Validate returns the first thing wrong with a result from outside. First+len(Counts) does not
// overflow in a valid result.
func (r *ChunkResult) Validate() error {
	switch {
	case r.Worker == Referee || r.Worker == Checker:
		return fmt.Errorf("a result of run %.80q is by a worker with a name of the coordinator, %s", r.Run, r.Worker)
	case r.Chunk == 0:
		return fmt.Errorf("a result of run %.80q names no chunk", r.Run)
	case len(r.Counts) == 0 || len(r.Counts) > MaxChunk:
		return fmt.Errorf("the result of chunk %016x has %d counts, not 1 to %d", r.Chunk, len(r.Counts), MaxChunk)
	case r.First+uint64(len(r.Counts)) < r.First:
		return fmt.Errorf("the result of chunk %016x begins with task %d and has %d: their ids overflow", r.Chunk, r.First, len(r.Counts))
	}
	for i := range r.Counts {
		result := r.Result(i, 1)
		if err := result.Validate(); err != nil {
			return err
		}
	}
	return nil
}

// Result is one worker's count of one task.
type Result struct {
	Run  string `json:"-"`
	Task uint64 `json:"-"`
	Hash uint64 `json:"-"` // Hash of the task that was counted.
	// Attempt is how often the coordinator that recorded the result had published the task,
	// from 1.
	Attempt uint32        `json:"-"`
	Count   uint64        `json:"count,string"` // solutions on the class's board below the task's prefixes, unweighted
	Worker  string        `json:"worker"`       // who counted it
	Kernel  string        `json:"-"`
	Elapsed time.Duration `json:"-"`   // Time of the search alone.
	Key     string        `json:"key"` // its key; empty for the coordinator's own count
	// Admitted says that the key was admitted when the result was recorded: it is a voter. A key
	// that was not adds nothing to agreement.
	Admitted bool `json:"-"`
	// ByToken says that the join token admitted the key, and no list: whoever has the token can make
	// any number of such keys.
	ByToken bool `json:"-"`
	// Sealed is the signed chunk result that this result came with; nil for a result read from a
	// ledger.
	Sealed *Sealed `json:"-"`
	// StatementID is the number of the statement in the ledger, from 1; 0 for none.
	StatementID uint64 `json:"-"`
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
	if err := queens.ValidateRun(r.Run); err != nil {
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
	err := queens.ValidateName("a worker name", r.Worker)
	if err == nil {
		err = queens.ValidateName("a kernel name", r.Kernel)
	}
	if err != nil {
		return fmt.Errorf("result of task %d has %w", r.Task, err)
	}
	return nil
}
