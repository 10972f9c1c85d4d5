package kerneltest

import "testing"

// fault is a mistake that a windowCounter makes.
type fault string

const (
	ignoreLeft       fault = "ignores diagonals that enter the window on its left"
	ignoreRight      fault = "ignores diagonals that enter the window on its right"
	ignoreFar        fault = "ignores diagonals more than eight columns outside the window"
	ignoreInside     fault = "ignores where diagonals go once they have entered the window"
	firstLeft        fault = "takes the diagonals left of the window from the first prefix for all"
	firstRight       fault = "takes the diagonals right of the window from the first prefix for all"
	dropFilled       fault = "drops prefixes with a queen in an outer column unless all have one there"
	allFilled        fault = "leaves an outer column to all prefixes if one has a queen there"
	keepPlaced       fault = "keeps prefixes that attack a queen in an outer column"
	placedAttackDown fault = "lets queens in outer columns attack downwards only"
	sharedList       fault = "overwrites the list of prefixes for the other squares of a column"
	wrapAround       fault = "lets diagonals leave the window and return on its other side"
	wideBoard        fault = "takes columns beyond a small board for open ones"

	keepFixed       fault = "keeps prefixes that attack a fixed row"
	fixedAttackDown fault = "lets fixed rows attack downwards only"
	fixTogether     fault = "fixes two rows that attack each other"
	fixAbove        fault = "fixes rows above the prefixes' depth"
	keepBoard       fault = "leaves rows fixed for the prefixes of the next depth"
	forgetColumn    fault = "forgets that a fixed row fills its column"
	firstGapZero    fault = "ignores fixed rows between the prefixes and the first row left"
	gapsOne         fault = "ignores fixed rows between rows left"
	lastGapOne      fault = "takes the last two rows left for neighbours"
	gapsModulo16    fault = "shifts by gaps modulo 16"
	nothingLeft     fault = "counts nothing if no row is left"
)

// faults are all mistakes.
var faults = []fault{
	ignoreLeft, ignoreRight, ignoreFar, ignoreInside, firstLeft, firstRight, dropFilled, allFilled, keepPlaced,
	placedAttackDown, sharedList, wrapAround, wideBoard,
	keepFixed, fixedAttackDown, fixTogether, fixAbove, keepBoard, forgetColumn, firstGapZero, gapsOne, lastGapOne,
	gapsModulo16, nothingLeft,
}

// The suite passes a right kernel that fixes rows, places outer columns and searches a window, and finds each
// mistake of such a kernel more than once.
func TestSuiteKillsMutants(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: runs without -short")
	}
	t.Run("no mistake", func(t *testing.T) {
		c := windowKernel(t, "")
		for _, p := range counting {
			for _, b := range p.batches() {
				check(t, c, b)
			}
		}
	})

	batches := once(randomOuter)()
	for _, fault := range faults {
		t.Run(string(fault), func(t *testing.T) {
			const enough = 3
			counter, found := windowKernel(t, fault), 0
			for _, b := range batches {
				if err := b.countedBy(t.Context(), counter); err != nil {
					t.Logf("found: %.200v", err)
					if found++; found == enough {
						return
					}
				}
			}
			t.Errorf("%d of %d batches find it, want %d", found, len(batches), enough)
		})
	}
}
