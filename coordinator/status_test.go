//go:build unix

package main_test

import (
	"syscall"
	"testing"
	"time"

	"nqueens/pkg/testkit"
)

// Each SIGUSR1 logs a line of progress, even with --no-progress, and changes nothing else.
func TestSIGUSR1LogsProgress(t *testing.T) {
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
