//go:build unix

package estimate

import (
	"testing"
	"time"
)

// The CPU clock of this process advances while it works.
func TestProcessTime(t *testing.T) {
	before, known := processTime()
	if !known {
		t.Fatal("the time of this process is not known")
	}
	for start := time.Now(); time.Since(start) < 10*time.Second; {
		if now, _ := processTime(); now-before >= 20*time.Millisecond {
			return
		}
	}
	t.Error("in ten seconds of work the clock does not go on by 20 ms")
}
