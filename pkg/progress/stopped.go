package progress

import (
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/split"
)

// WorkDone returns the part of the estimated work of a run that is done, with so many tasks of each class done. Large
// boards take it half a second.
func WorkDone(m *queens.Manifest, doneByClass []uint64) run.Fraction {
	done := uint64(0)
	for _, n := range doneByClass {
		done += n
	}
	switch done {
	case m.Tasks:
		return 1
	case 0:
		return 0
	}
	return run.Fraction(split.WorkDone(m, split.Shares(m), doneByClass))
}
