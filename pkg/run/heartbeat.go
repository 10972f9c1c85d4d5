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
	Leaving bool // This is the last heartbeat of a worker that stops.
	// Held are the tasks that the worker is searching.
	Held []ActiveTask
}

// ActiveTask is a task that a worker is searching.
type ActiveTask struct {
	Run  string
	Task uint64
	// Elapsed is how long the worker has been searching it.
	Elapsed time.Duration
}

// Bounds of what one worker may report: a task for each thread.
const (
	maxThreads = 1 << 16
	maxHeld    = maxThreads
)

// Validate returns the first thing wrong with a heartbeat from outside.
func (h *Heartbeat) Validate() error {
	if h.Worker == "" {
		return errors.New("heartbeat of a worker without a name")
	}
	if err := queens.ValidateName("a worker name", h.Worker); err != nil {
		return fmt.Errorf("heartbeat with %w", err)
	}
	err := queens.ValidateName("a version", h.Version)
	if err == nil {
		err = queens.ValidateName("a kernel name", h.Kernel)
	}
	switch {
	case err != nil:
		return fmt.Errorf("heartbeat of worker %q with %w", h.Worker, err)
	case h.Threads < 1 || h.Threads > maxThreads:
		return fmt.Errorf("heartbeat of worker %q with %d threads, not 1 to %d", h.Worker, h.Threads, maxThreads)
	case len(h.Held) > maxHeld:
		return fmt.Errorf("heartbeat of worker %q with %d tasks, more than %d", h.Worker, len(h.Held), maxHeld)
	}
	for _, held := range h.Held {
		if err := queens.ValidateRun(held.Run); err != nil {
			return fmt.Errorf("heartbeat of worker %q: %w", h.Worker, err)
		}
		if held.Elapsed < 0 {
			return fmt.Errorf("heartbeat of worker %q with task %d for a negative time", h.Worker, held.Task)
		}
	}
	return nil
}
