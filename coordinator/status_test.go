//go:build unix

package main_test

import (
	"syscall"
	"testing"
	"time"
)

// SIGUSR1 prints a line of progress, also where none is wanted otherwise, as often as it is
// sent, and changes nothing else.
func TestStatusOnSignal(t *testing.T) {
	t.Parallel()
	coordinator, url := startCluster(t, "12", "--no-progress")
	for deadline := time.Now().Add(patience); coordinator.lines(`"message":"progress"`) < 2; time.Sleep(100 * time.Millisecond) {
		coordinator.signal(syscall.SIGUSR1)
		if time.Now().After(deadline) {
			t.Fatal("no lines of progress")
		}
	}
	startWorker(t, url)
	coordinator.expectTotal(known(12))
}
