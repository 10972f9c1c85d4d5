// Package schedule says in which chunks the tasks of a run travel, and how many chunks at once.
package schedule

import (
	"math"
	"sort"
)

// A chunk is a part of what is left of a run. [ChunksLeft] says of what a thread would get of it:
// with 2, a thread would hold all its share from the start, because it fetches a chunk ahead
// (docs/decisions/0018).
const (
	// ChunksLeft is into how many chunks a thread's share of what is left is cut.
	ChunksLeft = 4
	// MaxChunkSeconds is the greatest work of a chunk of more than one task, in seconds of a
	// median thread.
	MaxChunkSeconds = 1.5
	// MaxChunkBytes bounds the prefixes of a chunk of more than one task.
	MaxChunkBytes = 256 << 10
	// PrefixBytes is what a prefix takes in a message, about.
	PrefixBytes = 16
)

// The window has room for ChunksPerThread chunks a thread, so that every thread finds its next one
// in the queue, and for more while they are less than FlightSeconds of work a thread, up to a bound
// on their number. Its messages never exceed MaxWindowBytes: memory and server stay small for a
// run of any size. And there are never more than MaxWindowChunks: the server's queue takes a few
// more.
const (
	ChunksPerThread    = 3
	MaxChunksPerThread = 4 * ChunksPerThread
	MinChunks          = 64
	FlightSeconds      = 4
	MaxWindowBytes     = 256 << 20
	MaxWindowChunks    = 1<<20 - 1<<16
)

// IsFull reports whether the window has as many chunks, or bytes, as it may have for any number of
// threads.
func IsFull(chunks, bytes int) bool { return bytes >= MaxWindowBytes || chunks >= MaxWindowChunks }

// HasRoom reports whether the window has room for another chunk, if it has so many for so many
// threads, whose prefixes take so many bytes and a median thread so many seconds.
func HasRoom(threads, chunks, bytes int, seconds float64) bool {
	switch {
	case IsFull(chunks, bytes):
		return false
	case chunks < max(MinChunks, ChunksPerThread*threads):
		return true
	}
	return chunks < MaxChunksPerThread*threads && seconds < FlightSeconds*float64(threads)
}

// Window returns how many chunks are in flight to so many threads, where each takes a median thread
// seconds and its prefixes take bytes.
func Window(threads int, seconds, bytes float64) int {
	return sort.Search(MaxWindowChunks, func(chunks int) bool {
		return !HasRoom(threads, chunks, int(bytes*float64(chunks)), seconds*float64(chunks))
	})
}

// ChunkTasks returns of how many tasks the next chunk is, by guided self-scheduling, at least 1:
// as many as 1/parts of a thread's share of the work that is left, and no more than the longest
// chunk, if they take each as much as estimated. All work is in the same unit.
//
// Reference: C. D. Polychronopoulos and D. J. Kuck, "Guided self-scheduling: a practical
// scheduling scheme for parallel supercomputers", IEEE Transactions on Computers C-36 (1987),
// 1425-1439.
func ChunkTasks(left float64, parts, threads int, longest, task float64) int {
	if !(task > 0) {
		return 1
	}
	return int(min(max(min(left/float64(parts*threads), longest)/task, 1), math.MaxInt32))
}
