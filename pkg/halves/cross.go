package halves

import "math/bits"

// crosser makes half-boards from quarters. It compares a quarter of the first strips with up to
// lanes quarters of the other strips at once, as the join compares half-boards.
type crosser struct {
	kernel Kernel
	used   int // tables
	tables *tables[narrow]
	block  binBlock[narrow]
	// withLong has a bit for each second quarter that may be combined with a first quarter with 0,
	// 1 or 2 queens on long diagonals. Quarter 4·i+w has bit i of word w.
	withLong [4]narrow
	clashes  [lanes]uint64
	masks    [lanes + laneWords]uint64 // of the second quarters
	fits     [crossRound]narrow
}

const (
	// lanes is the number of second quarters, and laneWords that of the words with a bit for each.
	lanes, laneWords = 64 * laneWords, len(narrow{})
	// crossRound is the greatest number of first quarters that are compared in a round.
	crossRound = 32
	// crossAhead is the number of half-boards that are written before their number is looked at.
	crossAhead = 3
	// roundMasks is the room that a round needs.
	roundMasks = crossRound*lanes + crossAhead
)

// fitFunc looks up each clash in the first tables, and sets fits to the intersections of the rows.
// There is a fitFunc for each number of tables.
type fitFunc func(clashes []uint64, tables *tables[narrow], fits *[crossRound]narrow)

// load sets the second quarters, at most lanes, and the number of queens on long diagonals that
// both quarters have together.
func (c *crosser) load(other []quarter, long int) {
	clear(c.withLong[:])
	for i, q := range other {
		c.clashes[i], c.masks[i] = q.clash, q.mask&^onLong
		if need := long - q.long(); need >= 0 {
			c.withLong[need][i%laneWords] |= 1 << (i / laneWords)
		}
	}
	c.block.load(c.clashes[:len(other)])
	c.kernel.build(&c.block, c.tables, c.used)
}

// cross appends the half-boards of the pairs of a first quarter, of which there are at most
// crossRound, and a second one.
func (c *crosser) cross(to []uint64, one []quarter) []uint64 {
	for i, q := range one {
		c.clashes[i] = q.clash
	}
	c.kernel.fits[c.used-1](c.clashes[:len(one)], c.tables, &c.fits)
	n := len(to)
	to = to[:cap(to)]
	for i, q := range one {
		mask, fits, with := q.mask&^onLong, &c.fits[i%crossRound], &c.withLong[q.long()]
		for w := range fits {
			fit := fits[w] & with[w]
			most := n + bits.OnesCount64(fit)
			for {
				// Most words have few bits, so that a branch for each bit would often be predicted
				// wrong.
				for j := range crossAhead {
					to[n+j] = mask | c.masks[laneWords*bits.TrailingZeros64(fit)+w]
					fit &= fit - 1
				}
				n += crossAhead
				if n >= most {
					break
				}
			}
			n = most
		}
	}
	return to[:n]
}

// plainFits returns the fitFuncs in plain Go.
func plainFits() (fits [chunks]fitFunc) {
	for i := range fits {
		fits[i] = func(clashes []uint64, tables *tables[narrow], fits *[crossRound]narrow) {
			fitPlain(clashes, tables, i+1, fits)
		}
	}
	return fits
}

// fitPlain does what a fitFunc for the given number of tables does.
func fitPlain(clashes []uint64, tables *tables[narrow], used int, fits *[crossRound]narrow) {
	others := tables[1:used]
	for k, x := range clashes {
		row := &tables[0][x%(1<<chunk)]
		a, b, c, d := row[0], row[1], row[2], row[3]
		for i := range others {
			x >>= chunk
			row := &others[i][x%(1<<chunk)]
			a, b, c, d = a&row[0], b&row[1], c&row[2], d&row[3]
		}
		fits[k%crossRound] = narrow{a, b, c, d}
	}
}
