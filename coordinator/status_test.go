//go:build unix

package main_test

import (
	"syscall"
	"testing"
	"time"

	"nqueens/pkg/testkit"
)

// SIGUSR1 prints a line of progress, also where none is wanted otherwise, as often as it is
// sent, and changes nothing else.
func TestStatusOnSignal(t *testing.T) {
	t.Parallel()
	coordinator, url := startCluster(t, "12", "--no-progress")
	testkit.Eventually(t, "two lines of progress", func() bool {
		coordinator.Signal(syscall.SIGUSR1)
		elapse(t, 100*time.Millisecond)
		return coordinator.Lines(`"message":"progress"`) >= 2
	})
	startWorker(t, url)
	coordinator.ExpectTotal(known(12))
}
