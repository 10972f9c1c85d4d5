package halves

import (
	"math/bits"
	"sync"
)

// The join counts the pairs of a western and an eastern half-board that have no diagonal in common.
// Western half-boards go into bins of masks that have their first bits in common. Eastern
// half-boards that have none of these bits, which are a few ranges of the sorted list, are compared
// with a whole bin at once.

// sorted is a list of half-boards, sorted by their first bits, which are the highest.
type sorted struct {
	mu    sync.Mutex // in a phase
	masks []uint64
	// Masks from[i] to from[i+1]-1 have the first bits i, depth in number.
	from []uint32
}

func (s *sorted) reserve(masks int) {
	s.masks, s.from = make([]uint64, 0, masks), make([]uint32, 1<<depthOf(masks)+1)
}

// append appends masks, and reports whether there was room. Members copy at the same time, each to
// its own part. So the list is read only after the phase.
func (s *sorted) append(masks []uint64) bool {
	s.mu.Lock()
	from := len(s.masks)
	end := from + len(masks)
	if end > cap(s.masks) {
		s.mu.Unlock()
		return false
	}
	s.masks = s.masks[:end]
	to := s.masks[from:]
	s.mu.Unlock()
	copy(to, masks)
	return true
}

// joiner counts pairs.
type joiner struct {
	bits, depth int // of the masks, and of those by which the lists are sorted
	east, west  sorted

	mu   sync.Mutex // in a phase; between two phases only the goroutine of Count is here
	cell uint32     // the first bits of the next western half-board
	at   uint32     // its index
}

// start makes join begin.
func (j *joiner) start() { j.cell, j.at = 0, 0 }

// join is a phase of a crew. It counts the pairs that have no diagonal in common. The bin of each
// member keeps the number that the member has counted.
func (j *joiner) join(m *member) {
	for m.stays() {
		p, ok := j.take(uint32(m.bin.size()))
		if !ok || !m.poll() || !j.compare(m, p) {
			return
		}
	}
}

// part is a part of the western list: the masks from to end-1. They have the same first bits, depth
// in number: those of prefix.
type part struct {
	from, end     uint32
	prefix, depth int
}

// take returns the next part that has at most the given number of masks, or false if none is left.
// A part has all masks that have their first bits, unless these are more masks than a part may
// have, and no more bits are sorted.
func (j *joiner) take(size uint32) (p part, ok bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for cells := uint32(1) << j.depth; j.cell < cells; {
		from, end := j.west.from[j.cell], j.west.from[j.cell+1]
		if end-from > size {
			if j.at == end {
				j.cell++
				continue
			}
			from = j.at
			j.at = min(end, from+size)
			return part{from, j.at, int(j.cell), j.depth}, true
		}
		height := 0
		for height < j.depth && j.cell>>height&1 == 0 {
			wider := j.west.from[j.cell+1<<(height+1)]
			if wider-from > size {
				break
			}
			end = wider
			height++
		}
		p = part{from, end, int(j.cell >> height), j.depth - height}
		j.cell += 1 << height
		j.at = end
		if from < end {
			return p, true
		}
	}
	return part{}, false
}

// streamBlock is the greatest number of masks that a bin is compared with between two polls.
const streamBlock = 1 << 11

// compare counts the pairs of a part of the western list, which goes into the bin. It returns false
// if poll did.
func (j *joiner) compare(m *member, p part) bool {
	m.bin.load(j.west.masks[p.from:p.end], max(1, (j.bits-p.depth+chunk-1)/chunk))
	// Enumerate the values of the first bits that are compatible with prefix. Trailing zeros of
	// prefix make one range.
	free := ^p.prefix & (1<<p.depth - 1)
	low := bits.TrailingZeros(uint(p.prefix) | 1<<p.depth)
	size, shift := 1<<low, j.depth-p.depth
	free = free >> low << low
	for value := 0; ; {
		from, end := j.east.from[value<<shift], j.east.from[(value+size)<<shift]
		for ; from < end; from += streamBlock {
			m.bin.count(j.east.masks[from:min(end, from+streamBlock)])
			if end-from > streamBlock && !m.poll() {
				return false
			}
		}
		value = (value - free) & free
		if value == 0 {
			return true
		}
	}
}
