package bus

import (
	"testing"
	"time"

	"nqueens/pkg/testkit"
)

// Flush waits until the server has all that was sent, if there is a connection.
func (b *Bus) Flush(timeout time.Duration) { b.flush(timeout) }

// SetStuckAfter sets how long something must have failed before it is made again.
func (b *Bus) SetStuckAfter(d time.Duration) { b.outages.patience.Store(int64(d)) }

// NoteReadResults notes that reading from the stream of results has failed, or not.
func (b *Bus) NoteReadResults(failed bool) { b.outages.note(ResultsPart, "read", failed) }

func TestMain(m *testing.M) {
	testkit.Parallel(16) // they mostly wait
	m.Run()
}
