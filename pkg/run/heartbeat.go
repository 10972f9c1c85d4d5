package run

import (
	"errors"
	"fmt"
	"time"

	"nqueens/pkg/queens"
)

// Heartbeat is what a worker reports every few seconds.
type Heartbeat struct {
	Worker  string
	Version string // Of the worker program.
	Kernel  string
	Threads int
	// Busy is the number of threads that search, where a device counts as several; 0 from workers that
	// do not say it, of which one searches each chunk in search.
	Busy    int
	Leaving bool // This is the last heartbeat of a worker that stops.
	// Held are the chunks that the worker holds: at most [MaxHeld], of more first those in search, and
	// of these the longest searches.
	Held []HeldChunk
	// Sent is when the worker sent it, by its clock. It grows with each heartbeat of a worker. It is zero
	// in one that the receiver has made itself.
	Sent time.Time
	// Key is the public key that has signed the heartbeat, with which the worker signs its results too,
	// and Admission the proof that the join token admitted it, which may be empty.
	Key       string
	Admission []byte
}

// HeldChunk is a chunk that a worker holds.
type HeldChunk struct {
	Run   string
	Chunk uint64 // ID of the chunk.
	// Searching is set while a thread searches the chunk.
	Searching bool
	// Elapsed is how long the worker has been searching it.
	Elapsed time.Duration
}

// MaxHeld bounds the chunks that one heartbeat names.
const MaxHeld = 1 << 12

// MaxThreads bounds the threads that one worker may report.
const MaxThreads = 1 << 16

// Validate returns the first thing wrong with a heartbeat from outside, except with its key and time.
func (h *Heartbeat) Validate() error {
	err := validateWorker(h.Worker, h.Kernel, h.Threads, len(h.Held))
	if err == nil && len(h.Held) > MaxHeld {
		err = fmt.Errorf("worker %q with a list of %d chunks, more than %d", h.Worker, len(h.Held), MaxHeld)
	}
	if err == nil && (h.Busy < 0 || h.Busy > h.Threads) {
		err = fmt.Errorf("worker %q with %d of %d threads busy", h.Worker, h.Busy, h.Threads)
	}
	if err == nil {
		err = queens.ValidateName("a version", h.Version)
	}
	if err == nil && len(h.Admission) > queens.MaxAdmission {
		err = fmt.Errorf("an admission of %d bytes, more than %d", len(h.Admission), queens.MaxAdmission)
	}
	if err != nil {
		return fmt.Errorf("heartbeat with %w", err)
	}
	for _, held := range h.Held {
		if err := queens.ValidateRun(held.Run); err != nil {
			return fmt.Errorf("heartbeat of worker %q: %w", h.Worker, err)
		}
		switch {
		case held.Chunk == 0:
			return fmt.Errorf("heartbeat of worker %q with a chunk of run %s without an id", h.Worker, held.Run)
		case held.Elapsed < 0:
			return fmt.Errorf("heartbeat of worker %q with chunk %016x for a negative time", h.Worker, held.Chunk)
		}
	}
	return nil
}

// validateWorker returns the first thing wrong with what a worker reports.
func validateWorker(name, kernel string, threads, held int) error {
	if name == "" {
		return errors.New("a worker without a name")
	}
	if err := queens.ValidateName("a worker name", name); err != nil {
		return err
	}
	err := queens.ValidateName("a kernel name", kernel)
	switch {
	case err != nil:
		return fmt.Errorf("worker %q with %w", name, err)
	case threads < 1 || threads > MaxThreads:
		return fmt.Errorf("worker %q with %d threads, not 1 to %d", name, threads, MaxThreads)
	case held < 0 || held > MaxThreads:
		return fmt.Errorf("worker %q with %d chunks, not 0 to %d", name, held, MaxThreads)
	}
	return nil
}
