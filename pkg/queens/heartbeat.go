package queens

import "fmt"

// Heartbeat is what a worker says of itself every few seconds.
type Heartbeat struct {
	Worker  string
	Version string // Version of the program the worker runs.
	Kernel  string
	Threads int
	Leaving bool // Set in the last heartbeat of a worker that stops.
}

// maxThreads bounds what one worker may claim.
const maxThreads = 1 << 16

// Validate reports the first thing wrong with a heartbeat that came from outside.
func (h *Heartbeat) Validate() error {
	switch {
	case h.Worker == "" || len(h.Worker) > maxName:
		return fmt.Errorf("heartbeat with a worker name of %d bytes, not 1 to %d", len(h.Worker), maxName)
	case len(h.Version) > maxName || len(h.Kernel) > maxName:
		return fmt.Errorf("heartbeat of worker %q with a version or kernel name over %d bytes", h.Worker, maxName)
	case h.Threads < 1 || h.Threads > maxThreads:
		return fmt.Errorf("heartbeat of worker %q with %d threads, not 1 to %d", h.Worker, h.Threads, maxThreads)
	}
	return nil
}
