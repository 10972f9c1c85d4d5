package halves

import "math/bits"

// The join counts the pairs of a western and an eastern half-board that have no diagonal in common.
// Western half-boards go into bins of masks that have their first bits in common.
// Eastern half-boards that have none of these bits, which are a few ranges of the sorted list, are
// compared with a whole bin at once.

// sorted is a list of half-boards, sorted by their first bits.
type sorted struct {
	masks []uint64
	from  []uint32 // see sorter.cells
}

func (s *sorted) reserve(masks int) {
	s.masks, s.from = make([]uint64, 0, masks), make([]uint32, 1<<depthOf(masks)+1)
}

// joiner counts pairs.
type joiner struct {
	bits, depth int // of the masks, and of those by which the lists are sorted
	east, west  sorted
	bin         bin
	poll        func() bool
}

// join counts the pairs that have no diagonal in common; the bin has their number. It returns false
// if poll did.
func (j *joiner) join() bool { return j.below(0, 0) }

// below counts the pairs whose western half-board has the given first bits, depth in number. It
// returns false if poll did.
func (j *joiner) below(prefix, depth int) bool {
	shift, size := j.depth-depth, uint32(j.bin.size())
	from, end := j.west.from[prefix<<shift], j.west.from[(prefix+1)<<shift]
	switch {
	case from == end:
		return true
	case end-from > size && depth < j.depth:
		return j.below(2*prefix, depth+1) && j.below(2*prefix+1, depth+1)
	}
	for ; from < end; from += size {
		if !j.poll() || !j.compare(j.west.masks[from:min(end, from+size)], prefix, depth) {
			return false
		}
	}
	return true
}

// streamBlock is the greatest number of masks that a bin is compared with between two polls.
const streamBlock = 1 << 11

// compare counts the pairs of some western masks, which go into the bin. They have the given first
// bits in common. It returns false if poll did.
func (j *joiner) compare(west []uint64, prefix, depth int) bool {
	j.bin.load(west, max(1, (j.bits-depth+chunk-1)/chunk))
	// Enumerate the values of the first bits that are compatible with prefix. Trailing zeros of
	// prefix make one range.
	free := ^prefix & (1<<depth - 1)
	low := bits.TrailingZeros(uint(prefix) | 1<<depth)
	size, shift := 1<<low, j.depth-depth
	free = free >> low << low
	for value := 0; ; {
		from, end := j.east.from[value<<shift], j.east.from[(value+size)<<shift]
		for ; from < end; from += streamBlock {
			j.bin.count(j.east.masks[from:min(end, from+streamBlock)])
			if end-from > streamBlock && !j.poll() {
				return false
			}
		}
		value = (value - free) & free
		if value == 0 {
			return true
		}
	}
}
