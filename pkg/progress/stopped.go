package progress

import (
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/split"
)

// Stopped returns how far a run is that nobody works on, with so many tasks of each class done: what
// the last snapshot of its coordinator said. Large boards take it half a second.
func Stopped(m *queens.Manifest, doneByClass []uint64) run.Pace {
	var p run.Pace
	for _, n := range doneByClass {
		p.Done += n
	}
	switch p.Done {
	case m.Tasks:
		p.WorkDone = 1
	case 0:
	default:
		p.WorkDone = split.WorkDone(m, split.Shares(m), doneByClass)
	}
	return p
}
