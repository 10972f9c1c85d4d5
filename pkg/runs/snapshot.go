package runs

import (
	"math/big"

	"nqueens/pkg/queens"
)

// Snapshot returns what the header and the last mark of a ledger say, without rates and workers. The total is confirmed only
// if it equals the published one. For other totals an audit says what confirms them.
func (r *Run) Snapshot() queens.Snapshot {
	s := queens.Snapshot{Run: r.Name, State: r.State, At: r.Modified, Solutions: (*queens.Decimal)(new(big.Int))}
	if r.Header == nil {
		return s
	}
	m := &r.Header.Manifest
	s.N, s.Symmetry, s.Placed, s.Tasks = m.N, m.Symmetry, m.Placed, m.Tasks
	s.Redundancy, s.SpotCheck = r.Header.Redundancy, r.Header.SpotCheck
	if r.Mark == nil {
		return s
	}
	s.At, s.Done, s.Solutions = r.Mark.At, r.Mark.Done, r.Mark.Solutions
	s.WorkDone = queens.Fraction(r.Mark.Work)
	s.Elapsed.Duration = r.Mark.Wall
	if total := r.Total(); total != nil {
		s.SetTotal(total, queens.Confirmation{Tasks: m.Tasks, Published: true})
		if s.Known() != queens.Match {
			s.Confirmed = nil
		}
	}
	return s
}
