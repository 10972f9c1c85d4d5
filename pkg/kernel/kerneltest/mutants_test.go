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

// The suite passes a right kernel that fixes rows, places outer columns and searches a window, and
// for each mistake of such a kernel has a property that finds it.
func TestSuiteKillsMutants(t *testing.T) {
	properties := map[string][]*batch{}
	for _, p := range counting {
		p.batches(func(b *batch) { properties[p.name] = append(properties[p.name], b) })
	}

	t.Run("no mistake", func(t *testing.T) {
		c := windowKernel(t, "")
		for _, batches := range properties {
			for _, b := range batches {
				check(t, c, b)
			}
		}
	})

	for _, c := range []struct {
		fault    fault
		property string
	}{
		{ignoreLeft, "diagonals enter the window"},
		{ignoreRight, "diagonals enter the window"},
		{ignoreFar, "16 outer columns filled"},
		{ignoreInside, "diagonals enter the window"},
		{firstLeft, "different diagonals in a batch"},
		{firstRight, "different diagonals in a batch"},
		{dropFilled, "outer columns filled by some prefixes"},
		{allFilled, "outer columns filled by some prefixes"},
		{keepPlaced, "attacks between outer columns and window"},
		{placedAttackDown, "attacks between outer columns and window"},
		{sharedList, "full batches"},
		{wrapAround, "more than 15 rows apart"},
		{wideBoard, "every prefix of small boards"},

		{keepFixed, "prefixes attack a fixed row"},
		{fixedAttackDown, "fixed rows attack the rows left"},
		{fixTogether, "fixed rows attack each other"},
		{fixAbove, "fixed rows above the depth"},
		{keepBoard, "mixed depths with fixed rows"},
		{forgetColumn, "few rows left"},
		{firstGapZero, "first rows fixed"},
		{gapsOne, "last rows fixed"},
		{lastGapOne, "last rows fixed"},
		{gapsModulo16, "more than 15 rows apart"},
		{nothingLeft, "few rows left"},
	} {
		t.Run(string(c.fault), func(t *testing.T) {
			counter := windowKernel(t, c.fault)
			for _, b := range properties[c.property] {
				if err := b.countedBy(t.Context(), counter); err != nil {
					t.Logf("found: %.200v", err)
					return
				}
			}
			t.Errorf("the property %q does not find it", c.property)
		})
	}
}
