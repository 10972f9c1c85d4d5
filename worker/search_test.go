package main

import (
	"testing"

	"nqueens/pkg/cli"
	"nqueens/pkg/kernel"
	runs "nqueens/pkg/run"
)

// Coordinators accept the heartbeats of a worker with as many fast devices and threads as it can have, and a
// few fast devices count for what they are.
func TestMaxThreadsOfDevices(t *testing.T) {
	most := search{devices: make([]kernel.Kernel, maxDevices), threads: cli.MaxThreads}
	h := runs.Heartbeat{Worker: "w", Kernel: "k", Threads: most.threads + maxDevices*min(kernel.MaxEquivalent, most.maxThreads())}
	if err := h.Validate(); err != nil {
		t.Error(err)
	}
	few := search{devices: make([]kernel.Kernel, 8), threads: cli.MaxThreads}
	if got := few.maxThreads(); got < kernel.MaxEquivalent {
		t.Errorf("each of 8 devices counts for %d threads at most, want %d", got, kernel.MaxEquivalent)
	}
}
