package queens

import "math/big"

// knownTotals[n-1] is the number of solutions on a board of side n, as published by N. J. A. Sloane
// et al., The On-Line Encyclopedia of Integer Sequences, https://oeis.org/A000170. These numbers
// only serve to check totals: no total is computed from them.
var knownTotals = [...]uint64{
	1, 0, 0, 2, 10, 4, 40, 92, 352, 724,
	2680, 14200, 73712, 365596, 2279184, 14772512, 95815104, 666090624, 4968057848, 39029188884,
	314666222712, 2691008701644, 24233937684440, 227514171973736, 2207893435808352, 22317699616364044,
	234907967154122528,
}

// KnownTotal returns the published number of solutions on a full board of side n, and whether one
// is published.
func KnownTotal(n int) (*big.Int, bool) {
	if n < 1 || n > len(knownTotals) {
		return nil, false
	}
	return new(big.Int).SetUint64(knownTotals[n-1]), true
}

// KnownTotal returns the published total of the manifest's board, or nil if there is none. A board
// with queens placed beforehand has none.
func (m *Manifest) KnownTotal() *big.Int {
	if len(m.Placed) > 0 {
		return nil
	}
	known, _ := KnownTotal(m.N)
	return known
}

// Comparison is how a total compares with the published one, OEIS A000170.
type Comparison string

// The comparisons.
const (
	Match       Comparison = "match"
	Mismatch    Comparison = "mismatch"
	Unpublished Comparison = "none" // no total is given, or none is published
)

// Compare compares the total of a board of side n with the published total. No total of a board
// with placed queens is published.
func Compare(n int, placed []Square, total *big.Int) Comparison {
	known, published := KnownTotal(n)
	switch {
	case !published || len(placed) > 0 || total == nil:
		return Unpublished
	case total.Cmp(known) == 0:
		return Match
	}
	return Mismatch
}
