package flight

import (
	"slices"
	"time"

	"nqueens/pkg/schedule"
)

// Chunk returns the first task of a chunk, if that is not closed.
func (f *Flight) Chunk(id uint64) (first uint64, found bool) {
	if c := f.chunks[id]; c != nil {
		return c.first, true
	}
	return 0, false
}

// Oldest returns the chunk, among those that are not closed, that was published first, and its first task.
func (f *Flight) Oldest() (chunk, first uint64, found bool) {
	for _, c := range f.sent {
		if c.state != closed {
			return c.id, c.first, true
		}
	}
	return 0, 0, false
}

// Chunks returns the number of chunks that are not closed.
func (f *Flight) Chunks() int { return len(f.chunks) }

// Bytes estimates the bytes of the prefixes in these chunks.
func (f *Flight) Bytes() int { return f.bytes }

// InFlightByClass returns the number of tasks in flight of each class of the manifest: in a chunk, or waiting to be
// published again.
func (f *Flight) InFlightByClass() []int { return slices.Clone(f.tasks) }

// Waiting returns the number of published chunks that no worker holds. The keys of held are the chunks that workers
// hold.
func (f *Flight) Waiting(held map[uint64]time.Time) int {
	waiting := 0
	for _, c := range f.sent {
		if _, isHeld := held[c.id]; !isHeld && c.state != closed {
			waiting++
		}
	}
	return waiting
}

// IsFull reports whether the chunks take as much of the window as they may for any number of threads.
func (f *Flight) IsFull() bool { return schedule.IsFull(len(f.chunks), f.bytes) }

// IsWithdrawing reports whether the message of a chunk is to be deleted: a worker may still get it.
func (f *Flight) IsWithdrawing() bool {
	for _, c := range f.chunks {
		if c.state == recalled || c.state == withdrawing {
			return true
		}
	}
	return false
}

// AllPublished reports whether the cursor has passed over all tasks, none waits to be published again, and no
// Publish command waits.
func (f *Flight) AllPublished() bool {
	return f.cursor.isAtEnd() && len(f.again.list) == 0 && len(skipClosed(f.orders.publications)) == 0
}

// Republished returns how many tasks were published again because an earlier chunk of theirs ended without a
// result.
func (f *Flight) Republished() uint64 { return f.republished }

// LongestSearch returns the longest search of a task that was observed and can be true.
func (f *Flight) LongestSearch() time.Duration { return f.longest }
