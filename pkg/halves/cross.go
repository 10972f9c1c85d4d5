package halves

import "math/bits"

// crosser makes half-boards from quarters. It compares a quarter of the first strips with up to
// lanes quarters of the other strips at once, as the join compares half-boards.
type crosser struct {
	kernel Kernel
	used   int // tables
	tables *tables[narrow]
	block  binBlock[narrow]
	// once and twice have a bit for each second quarter with which a first quarter with 0, 1 or 2
	// queens on long diagonals makes half-boards that count once or twice. Quarter 64·w+i has bit i
	// of word w.
	once, twice [3]narrow
	words       int // that have such bits
	clashes     [lanes]uint64
	masks       [lanes + 64]uint64 // of the second quarters
	fits        [crossRound]narrow
}

const (
	// lanes is the number of second quarters.
	lanes = 64 * len(narrow{})
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

// load sets the second quarters, at most lanes.
func (c *crosser) load(other []quarter, wanted kinds) {
	clear(c.once[:])
	clear(c.twice[:])
	c.words = wordsFor(len(other))
	for i, q := range other {
		c.clashes[i], c.masks[i] = q.clash, q.mask&^onLong
		for long := range c.once {
			switch together := long + q.long(); {
			case wanted.once.has(together):
				c.once[long][i/64] |= 1 << (i % 64)
			case wanted.twice.has(together):
				c.twice[long][i/64] |= 1 << (i % 64)
			}
		}
	}
	c.block.load(0, c.clashes[:len(other)])
	c.kernel.build(&c.block, c.tables, c.used)
}

// cross appends the half-boards of the pairs of a first quarter, of which there are at most
// crossRound, and a second one: those that count once, and those that count twice.
func (c *crosser) cross(once, twice []uint64, one []quarter) (_, _ []uint64) {
	for i, q := range one {
		c.clashes[i] = q.clash
	}
	c.kernel.fits[c.used-1](c.clashes[:len(one)], c.tables, &c.fits)
	once = c.combine(once, one, &c.once)
	if c.twice != [3]narrow{} {
		twice = c.combine(twice, one, &c.twice)
	}
	return once, twice
}

// combine appends the half-boards of the pairs that fit and are wanted.
func (c *crosser) combine(to []uint64, one []quarter, wanted *[3]narrow) []uint64 {
	n := len(to)
	to = to[:cap(to)]
	for i, q := range one {
		mask, fits, with := q.mask&^onLong, &c.fits[i%crossRound], &wanted[q.long()]
		for w := range c.words {
			fit := fits[w] & with[w]
			most := n + bits.OnesCount64(fit)
			for {
				// Most words have few bits, so that a branch for each bit would often be predicted
				// wrong.
				for j := range crossAhead {
					to[n+j] = mask | c.masks[64*w+bits.TrailingZeros64(fit)]
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
