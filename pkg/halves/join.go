package halves

import (
	"math/bits"
)

// The join counts the pairs of a western and an eastern half-board that have no diagonal in common.
// Western half-boards go into bins of at most lanes masks that have their first bits in common.
// Eastern half-boards that have none of these bits, which are a few ranges of the sorted list, are
// compared with a whole bin at once.

const (
	// lanes is the greatest number of masks in a bin, and laneWords the number of words with a bit
	// for each.
	lanes, laneWords = 256, lanes / 64
	// chunk is the number of bits of an eastern mask with which a table is looked up, and chunks
	// the greatest number of tables.
	chunk, chunks = 7, 9
)

// tables has, for each chunk and each value of its bits, the masks of a bin that have none of these
// bits: a bit for each. A chunk with higher bits has a higher index.
type tables [chunks][1 << chunk][laneWords]uint64

// countFunc looks up each mask of a stream in the first tables, and adds the numbers of masks in
// the intersections of the rows that it finds to a tally. There is a countFunc for each number of
// tables.
type countFunc func(stream []uint64, tables *tables, t *tally)

// tally holds a number of pairs. Each word of ones and of single stands for as many pairs as it has
// bits, or for its value. Those of twos and fours stand for two and for four times as many.
type tally struct{ ones, twos, single, fours [laneWords]uint64 }

// sum returns the number of pairs.
func (t *tally) sum() (sum uint64) {
	for i := range laneWords {
		sum += uint64(bits.OnesCount64(t.ones[i]) + 2*bits.OnesCount64(t.twos[i]))
		sum += t.single[i] + 4*t.fours[i]
	}
	return sum
}

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
	kernel      Kernel
	poll        func() bool
	tables      *tables // on a heap object of its own, so that rows are aligned
	block       binBlock
	found       tally
}

// join adds the number of pairs that have no diagonal in common to found. It returns false if poll
// did.
func (j *joiner) join() bool { return j.below(0, 0) }

// below counts the pairs whose western half-board has the given first bits, depth in number. It
// returns false if poll did.
func (j *joiner) below(prefix, depth int) bool {
	shift := j.depth - depth
	from, end := j.west.from[prefix<<shift], j.west.from[(prefix+1)<<shift]
	switch {
	case from == end:
		return true
	case end-from > lanes && depth < j.depth:
		return j.below(2*prefix, depth+1) && j.below(2*prefix+1, depth+1)
	}
	for ; from < end; from += lanes {
		if !j.poll() || !j.bin(j.west.masks[from:min(end, from+lanes)], prefix, depth) {
			return false
		}
	}
	return true
}

// streamBlock is the greatest number of masks that a bin is compared with between two polls.
const streamBlock = 1 << 11

// bin counts the pairs of a bin. Its masks have the given first bits in common. It returns false if
// poll did.
func (j *joiner) bin(masks []uint64, prefix, depth int) bool {
	used := max(1, (j.bits-depth+chunk-1)/chunk)
	j.block.load(masks)
	j.kernel.build(&j.block, j.tables, used)
	count := j.kernel.counts[used-1]
	// Enumerate the values of the first bits that are compatible with prefix. Trailing zeros of
	// prefix make one range.
	free := ^prefix & (1<<depth - 1)
	low := bits.TrailingZeros(uint(prefix) | 1<<depth)
	size, shift := 1<<low, j.depth-depth
	free = free >> low << low
	for value := 0; ; {
		from, end := j.east.from[value<<shift], j.east.from[(value+size)<<shift]
		for ; from < end; from += streamBlock {
			count(j.east.masks[from:min(end, from+streamBlock)], j.tables, &j.found)
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

// binBlock holds the masks of a bin, and the places of the bin that are in use. Mask 4·i+w is word
// w of row i, and its place is bit i of word w. A place that is not in use has a mask of ones.
type binBlock struct {
	rows [64][laneWords]uint64
	used [laneWords]uint64
}

// load puts masks into a block, at most lanes.
func (b *binBlock) load(masks []uint64) {
	for i := range b.rows {
		from := min(laneWords*i, len(masks))
		n := copy(b.rows[i][:], masks[from:])
		for ; n < laneWords; n++ {
			b.rows[i][n] = ^uint64(0)
		}
	}
	for w := range b.used {
		b.used[w] = 1<<((len(masks)+laneWords-1-w)/laneWords) - 1
	}
}

// buildFunc makes the first tables of a bin. It changes the block.
type buildFunc func(block *binBlock, tables *tables, used int)

// buildPlain is a buildFunc in plain Go.
func buildPlain(block *binBlock, tables *tables, used int) {
	for step, mask := 32, uint64(1)<<32-1; step != 0; step >>= 1 {
		for i := 0; i < 64; i = (i + step + 1) &^ step {
			a, b := &block.rows[i], &block.rows[i+step]
			for w := range a {
				swap := (a[w]>>step ^ b[w]) & mask
				a[w] ^= swap << step
				b[w] ^= swap
			}
		}
		mask ^= mask << (step / 2)
	}
	// Now bit i of word w of row k is bit k of mask 4·i+w.
	all := block.used
	for i := range used {
		t := &tables[i]
		t[0] = all
		for bit := range chunk {
			with := block.rows[chunk*i+bit]
			for x := range 1 << bit {
				without, row := &t[x], &t[x+1<<bit]
				for w := range row {
					row[w] = without[w] &^ with[w]
				}
			}
		}
		for w := range all {
			all[w] = ^uint64(0)
		}
	}
}

// plainCounts returns the countFuncs in plain Go.
func plainCounts() (counts [chunks]countFunc) {
	for i := range counts {
		counts[i] = func(stream []uint64, tables *tables, t *tally) {
			t.single[0] += countPlain(stream, tables, i+1)
		}
	}
	return counts
}

// countPlain returns the number of pairs that a countFunc for the given number of tables adds.
func countPlain(stream []uint64, tables *tables, used int) uint64 {
	if used == 5 {
		return countFive(stream, tables)
	}
	found, others := 0, tables[1:used]
	for _, x := range stream {
		row := &tables[0][x%(1<<chunk)]
		a, b, c, d := row[0], row[1], row[2], row[3]
		for i := range others {
			x >>= chunk
			row := &others[i][x%(1<<chunk)]
			a, b, c, d = a&row[0], b&row[1], c&row[2], d&row[3]
		}
		found += bits.OnesCount64(a) + bits.OnesCount64(b) + bits.OnesCount64(c) + bits.OnesCount64(d)
	}
	return uint64(found)
}

// countFive does the same for five tables, which most bins of large boards have, twice as fast.
func countFive(stream []uint64, tables *tables) uint64 {
	found := 0
	for _, x := range stream {
		row := &tables[0][x%(1<<chunk)]
		a, b, c, d := row[0], row[1], row[2], row[3]
		row = &tables[1][x>>chunk%(1<<chunk)]
		a, b, c, d = a&row[0], b&row[1], c&row[2], d&row[3]
		row = &tables[2][x>>(2*chunk)%(1<<chunk)]
		a, b, c, d = a&row[0], b&row[1], c&row[2], d&row[3]
		row = &tables[3][x>>(3*chunk)%(1<<chunk)]
		a, b, c, d = a&row[0], b&row[1], c&row[2], d&row[3]
		row = &tables[4][x>>(4*chunk)%(1<<chunk)]
		found += bits.OnesCount64(a&row[0]) + bits.OnesCount64(b&row[1]) +
			bits.OnesCount64(c&row[2]) + bits.OnesCount64(d&row[3])
	}
	return uint64(found)
}
