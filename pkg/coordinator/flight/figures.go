package flight

import (
	"slices"
	"time"

	"nqueens/pkg/schedule"
)

// ChunkInfo is a chunk that is not closed.
type ChunkInfo struct {
	ID, First uint64
	Tasks     int
	Sequence  uint64 // of its message in the queue; 0 before that is stored
}

// Chunk returns a chunk by its id, if it is not closed.
func (f *Flight) Chunk(id uint64) (ChunkInfo, bool) {
	c := f.chunks[id]
	if c == nil {
		return ChunkInfo{}, false
	}
	return c.info(), true
}

// Oldest returns the chunk, among those that are not closed, that was published first.
func (f *Flight) Oldest() (ChunkInfo, bool) {
	for _, w := range f.watch.list {
		if w.chunk != nil {
			return w.chunk.info(), true
		}
	}
	return ChunkInfo{}, false
}

func (c *chunk) info() ChunkInfo { return ChunkInfo{c.id, c.first, c.tasks, c.sequence} }

// Chunks returns the number of chunks that are not closed.
func (f *Flight) Chunks() int { return len(f.chunks) }

// Bytes estimates the bytes of the prefixes in these chunks.
func (f *Flight) Bytes() int { return f.bytes }

// InFlight returns the number of tasks in flight: in a chunk, or waiting to be published again.
func (f *Flight) InFlight() int { return len(f.where) }

// InFlightByClass returns the number of tasks in flight of each class of the manifest.
func (f *Flight) InFlightByClass() []int { return slices.Clone(f.tasks) }

// Waiting returns the number of published chunks that no worker holds. The keys of held are the chunks that workers
// hold.
func (f *Flight) Waiting(held map[uint64]time.Time) int {
	waiting := f.watch.len()
	for id := range held {
		if c := f.chunks[id]; c != nil && c.sequence != 0 {
			waiting--
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
	return f.cursor.isAtEnd() && len(f.again.list) == 0 && len(skipVoid(f.orders.publications)) == 0
}

// Republished returns how many tasks were published again because an earlier chunk of theirs ended without a
// result.
func (f *Flight) Republished() uint64 { return f.republished }

// LongestSearch returns the longest search of a task that was observed.
func (f *Flight) LongestSearch() time.Duration { return f.guide.longest }
