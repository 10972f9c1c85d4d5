package core

import (
	"time"

	"nqueens/pkg/queens"
)

const (
	// longestChunk is about the longest time for which the chunks of one reply keep a searcher busy,
	// if they have several tasks.
	longestChunk = 1500 * time.Millisecond
	// partOfShare is the part that a searcher gets at once of its share of the waiting work.
	//
	// References: [Guided] C. D. Polychronopoulos, D. J. Kuck, "Guided self-scheduling", IEEE
	// Transactions on Computers C-36 (1987), 1425-1439.
	partOfShare = 1.0 / 4
	// mostChunks bounds the chunks of a reply, because each takes bytes in every request that lists
	// it.
	mostChunks = 1024
	// newcomerChunks bounds the chunks that a process without a result holds. A process with 128
	// threads needs as many: one to search and one to wait for each thread.
	newcomerChunks = 256
)

// searcherWork returns how much of the waiting work one searcher of the given speed gets at once:
// see [Guided]. It also gets the work of a round trip: the next chunk arrives so much later.
// While its speed is unknown, that is 0, which means a single task. While the speed of all
// searchers is unknown, all count as fast as this one.
func (f *fleet) searcherWork(speed, waiting float64, roundTrip time.Duration) float64 {
	if speed == 0 {
		return 0
	}
	all := f.speed
	if all == 0 {
		all = speed * float64(f.sums.searchers)
	}
	return min(longestChunk.Seconds()*speed, waiting*speed/max(all, speed)*partOfShare) +
		min(roundTrip, queens.LongestReply).Seconds()*speed
}

// room is what still fits into a reply.
type room struct {
	chunks int
	bytes  int
}

// tasks returns how many tasks of a class a searcher gets: as many as make the given work, but no
// more than fit. If the parameter alone is true, the searcher has nothing yet, and gets at least
// one task if one fits.
func (r *room) tasks(work, workOfTask float64, bytesOfTask int, alone bool) uint64 {
	if r.chunks <= 0 {
		return 0
	}
	n := max(work/max(workOfTask, 1e-300), 0)
	if alone {
		n = max(n, 1)
	}
	fit := float64(r.bytes / max(bytesOfTask, 1))
	return uint64(min(n, fit, queens.MaxChunkTasks))
}

// take notes a chunk.
func (r *room) take(tasks uint64, bytesOfTask int) {
	r.chunks--
	r.bytes -= int(tasks) * bytesOfTask
}
