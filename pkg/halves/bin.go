package halves

import "math/bits"

// A row has a bit for each mask of a bin: bit i of word w stands for mask i of the masks of this
// word. Each kernel has the rows that are faster.
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

// tally holds, for each word of a row, the number of pairs of the masks of this word. A bit that is
// set in ones stands for one pair, in twos for two. A word of single stands for its value in pairs,
// and a word of fours for four times its value.
type tally[R row] struct{ ones, twos, single, fours R }

// pairs returns the number of pairs of the masks of a word.
func (t *tally[R]) pairs(word int) uint64 {
	return uint64(bits.OnesCount64(t.ones[word])+2*bits.OnesCount64(t.twos[word])) +
		t.single[word] + 4*t.fours[word]
}

// bin compares the masks in it with streams of masks. It has room for 64 masks in each of its
// words. Each of its masks counts once or twice, which is the same for all masks of a word.
type bin interface {
	words() int
	// load replaces the masks in the bin. Only the lowest used·chunk bits of masks are compared: the
	// caller makes sure that the bits above them have nothing in common.
	load(once, twice []uint64, used int)
	// count counts the pairs of a mask of the stream and a mask in the bin that have no bit in
	// common.
	count(stream []uint64)
	// take returns the number of pairs that were counted since the last take or load. Pairs of masks
	// that count twice are counted twice.
	take() uint64
}

// wordsFor returns the number of words that have room for a number of masks.
func wordsFor(masks int) int { return (masks + 63) / 64 }

// tableBin is a bin with rows of type R.
type tableBin[R row] struct {
	build  buildFunc[R]
	counts [chunks]countFunc[R] // for each number of tables, minus 1

	block  binBlock[R]
	tables *tables[R] // on a heap object of its own, so that rows are aligned
	used   int
	once   int // the first words, whose masks count once
	found  tally[R]
}

// binsOf returns a function that makes bins.
func binsOf[R row](build buildFunc[R], counts [chunks]countFunc[R]) func() bin {
	return func() bin { return &tableBin[R]{build: build, counts: counts, tables: new(tables[R])} }
}

func (b *tableBin[R]) words() int { return len(b.block.used) }

func (b *tableBin[R]) load(once, twice []uint64, used int) {
	b.used, b.once, b.found = used, wordsFor(len(once)), tally[R]{}
	b.block.load(0, once)
	b.block.load(b.once, twice)
	b.build(&b.block, b.tables, used)
}

func (b *tableBin[R]) count(stream []uint64) { b.counts[b.used-1](stream, b.tables, &b.found) }

func (b *tableBin[R]) take() (pairs uint64) {
	for word := range b.words() {
		found := b.found.pairs(word)
		if word >= b.once {
			found *= 2
		}
		pairs += found
	}
	b.found = tally[R]{}
	return pairs
}

// binBlock holds the masks of a bin, and the places of the bin that are in use, as in a row. Mask i
// of word w is word w of row i. A place that is not in use has a mask of ones.
type binBlock[R row] struct {
	rows [64]R
	used R
}

// load puts masks into the words from the given one on, and leaves the places after them unused.
func (b *binBlock[R]) load(word int, masks []uint64) {
	for ; word < len(b.used); word++ {
		here := masks[:min(64, len(masks))]
		masks = masks[len(here):]
		for i, mask := range here {
			b.rows[i][word] = mask
		}
		for i := len(here); i < len(b.rows); i++ {
			b.rows[i][word] = ^uint64(0)
		}
		b.used[word] = 1<<len(here) - 1
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
	// Now bit i of word w of row k is bit k of mask i of word w.
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
			countPlain(stream, tables, i+1, t)
		}
	}
	return counts
}

// countPlain does what a countFunc for the given number of tables does.
func countPlain(stream []uint64, tables *tables[narrow], used int, t *tally[narrow]) {
	if used == 5 {
		countFive(stream, tables, t)
		return
	}
	found, others := [4]int{}, tables[1:used]
	for _, x := range stream {
		row := tables[0][x%(1<<chunk)]
		for i := range others {
			x >>= chunk
			for word, masks := range &others[i][x%(1<<chunk)] {
				row[word] &= masks
			}
		}
		for word, masks := range row {
			found[word] += bits.OnesCount64(masks)
		}
	}
	for word := range found {
		t.single[word] += uint64(found[word])
	}
}

// countFive does the same for five tables, which most bins of large boards have, twice as fast.
func countFive(stream []uint64, tables *tables[narrow], t *tally[narrow]) {
	var first, second, third, fourth int
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
		first += bits.OnesCount64(a & row[0])
		second += bits.OnesCount64(b & row[1])
		third += bits.OnesCount64(c & row[2])
		fourth += bits.OnesCount64(d & row[3])
	}
	for word, found := range [4]int{first, second, third, fourth} {
		t.single[word] += uint64(found)
	}
}
