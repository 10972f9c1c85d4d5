package halves

import "math/bits"

// A row has a bit for each mask of a bin. Mask words·i+w has bit i of word w, where words is the
// number of words. Each kernel has the rows that are faster.
type row interface{ narrow | wide }

type (
	narrow = [4]uint64
	wide   = [8]uint64
)

const (
	// chunk is the number of bits of an eastern mask with which a table is looked up, and chunks
	// the greatest number of tables.
	chunk, chunks = 7, 9
)

// tables has, for each chunk and each value of its bits, the masks of a bin that have none of these
// bits. A chunk with higher bits has a higher index.
type tables[R row] [chunks][1 << chunk]R

// tablesSize is the number of bytes of the larger tables.
const tablesSize = chunks << chunk * 64

// buildFunc makes the first tables of a bin. It changes the block.
type buildFunc[R row] func(block *binBlock[R], tables *tables[R], used int)

// countFunc looks up each mask of a stream in the first tables, and adds the numbers of masks in
// the intersections of the rows that it finds to a tally. There is a countFunc for each number of
// tables.
type countFunc[R row] func(stream []uint64, tables *tables[R], t *tally[R])

// tally holds a number of pairs. A bit that is set in ones stands for one pair, in twos for two. A
// word of single stands for its value in pairs, and a word of fours for four times its value.
type tally[R row] struct{ ones, twos, single, fours R }

// sum returns the number of pairs.
func (t *tally[R]) sum() (sum uint64) {
	for i := range len(t.ones) {
		sum += uint64(bits.OnesCount64(t.ones[i]) + 2*bits.OnesCount64(t.twos[i]))
		sum += t.single[i] + 4*t.fours[i]
	}
	return sum
}

// bin compares up to size masks, which are in it, with streams of masks.
type bin interface {
	size() int
	// load replaces the masks in the bin. Only the lowest used·chunk bits of masks are compared: the
	// caller makes sure that the bits above them have nothing in common.
	load(masks []uint64, used int)
	// count counts the pairs of a mask of the stream and a mask in the bin that have no bit in
	// common.
	count(stream []uint64)
	// take returns the number of pairs that were counted since the last take.
	take() uint64
}

// tableBin is a bin with rows of type R.
type tableBin[R row] struct {
	build  buildFunc[R]
	counts [chunks]countFunc[R] // for each number of tables, minus 1

	block  binBlock[R]
	tables *tables[R] // on a heap object of its own, so that rows are aligned
	used   int
	found  tally[R]
}

// binsOf returns a function that makes bins.
func binsOf[R row](build buildFunc[R], counts [chunks]countFunc[R]) func() bin {
	return func() bin { return &tableBin[R]{build: build, counts: counts, tables: new(tables[R])} }
}

func (b *tableBin[R]) size() int { return 64 * len(b.block.used) }

func (b *tableBin[R]) load(masks []uint64, used int) {
	b.used = used
	b.block.load(masks)
	b.build(&b.block, b.tables, used)
}

func (b *tableBin[R]) count(stream []uint64) { b.counts[b.used-1](stream, b.tables, &b.found) }

func (b *tableBin[R]) take() uint64 {
	sum := b.found.sum()
	b.found = tally[R]{}
	return sum
}

// binBlock holds the masks of a bin, and the places of the bin that are in use, as in a row. Mask
// words·i+w is word w of row i. A place that is not in use has a mask of ones.
type binBlock[R row] struct {
	rows [64]R
	used R
}

// load puts masks into a block.
func (b *binBlock[R]) load(masks []uint64) {
	words := len(b.used)
	for i := range b.rows {
		for w := range words {
			b.rows[i][w] = ^uint64(0)
			if m := words*i + w; m < len(masks) {
				b.rows[i][w] = masks[m]
			}
		}
	}
	for w := range words {
		b.used[w] = 1<<((len(masks)+words-1-w)/words) - 1
	}
}

// buildPlain is a buildFunc in plain Go.
func buildPlain(block *binBlock[narrow], tables *tables[narrow], used int) {
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
func plainCounts() (counts [chunks]countFunc[narrow]) {
	for i := range counts {
		counts[i] = func(stream []uint64, tables *tables[narrow], t *tally[narrow]) {
			t.single[0] += countPlain(stream, tables, i+1)
		}
	}
	return counts
}

// countPlain returns the number of pairs that a countFunc for the given number of tables adds.
func countPlain(stream []uint64, tables *tables[narrow], used int) uint64 {
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
func countFive(stream []uint64, tables *tables[narrow]) uint64 {
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
