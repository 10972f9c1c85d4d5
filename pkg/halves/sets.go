package halves

import (
	"fmt"

	"nqueens/pkg/queens"
)

// A row set and its mirror image have the same weighted sum, so only one of the two has a number.
// The ranks of row sets follow a combinatorial number system over pairs of rows: row i and its
// mirror image n-1-i, from the outside in. A pair has neither row, both, or one. In the first pair
// with one row it is row i: the mirror image of the row set has the other row there. Before this
// pair, mirror images are still to be left out; below it, every choice is a row set of its own.
//
// Consecutive ranks are similar row sets. So that each range of numbers is a fair sample, number i
// has the rank i·step modulo the number of row sets, where step/Sets is about the golden ratio:
// such ranks are evenly spread.
//
// References: [Knuth] D. E. Knuth, "The Art of Computer Programming", volume 4A, section 7.2.1.3,
// on combinatorial number systems, and volume 3, section 6.4, on multiplication by the golden
// ratio.

// choose[m][k] is the number of ways to choose k of m rows.
var choose = func() (c [queens.MaxN + 1][queens.MaxN + 1]uint64) {
	for m := range c {
		c[m][0] = 1
		for k := 1; k <= m; k++ {
			c[m][k] = c[m-1][k-1] + c[m-1][k]
		}
	}
	return c
}()

// chosen returns the number of ways to choose k rows of the given number of pairs.
func chosen(pairs, k int) uint64 {
	if k < 0 || k > 2*pairs {
		return 0
	}
	return choose[2*pairs][k]
}

// unmirrored returns the same number without mirror images: (all + those that are their own mirror
// image) / 2.
func unmirrored(pairs, k int) uint64 {
	if k < 0 || k > 2*pairs {
		return 0
	}
	all := chosen(pairs, k)
	if k%2 == 0 {
		all += choose[pairs][k/2]
	}
	return all / 2
}

// numbering has, for each side, the number of row sets and the step from the rank of a number to
// that of the next.
var numbering = func() (all [queens.MaxN + 1]struct{ sets, step uint64 }) {
	for n := range all {
		size, pairs := n-west(n), n/2
		sets := unmirrored(pairs, size)
		if n%2 == 1 {
			sets += unmirrored(pairs, size-1)
		}
		step := max(sets*610/987, 1)
		for gcd(step, sets) != 1 {
			step++
		}
		all[n].sets, all[n].step = sets, step
	}
	return all
}()

// Sets returns the number of row sets of a board of side n, 1 to [queens.MaxN]. Mirror images are
// left out.
func Sets(n int) uint64 { return numbering[n].sets }

// Set returns the row set with the given number, 0 to Sets(n)-1.
func Set(n int, number uint64) RowSet {
	x := numbering[n]
	return ranked(n, number*x.step%x.sets) // the product has less than 64 bits
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// ranked returns the row set of the given rank.
func ranked(n int, rank uint64) (s RowSet) {
	left, pairs := n-west(n), n/2 // rows still to be chosen, pairs still to come
	if n%2 == 1 {
		if without := unmirrored(pairs, left); rank >= without {
			rank -= without
			s |= 1 << pairs
			left--
		}
	}
	count := unmirrored
	for ; pairs > 0; pairs-- {
		first := n/2 - pairs
		last := n - 1 - first
		neither, both := count(pairs-1, left), count(pairs-1, left-2)
		if rank < neither {
			continue
		}
		rank -= neither
		if rank < both {
			s |= 1<<first | 1<<last
			left -= 2
			continue
		}
		rank -= both
		left--
		one := chosen(pairs-1, left)
		count = chosen
		s |= 1 << first
		if rank >= one { // only below the first such pair
			rank -= one
			s ^= 1<<first | 1<<last
		}
	}
	return s
}

// validate returns an error unless a board of side n has the row sets first to first+sets-1.
func validate(n int, first, sets uint64) error {
	if err := queens.ValidateN(n); err != nil {
		return err
	}
	if all := Sets(n); first > all || sets > all-first {
		return fmt.Errorf("%d row sets from number %d: a board of side %d has %d", sets, first, n, all)
	}
	return nil
}
