package runs

import "nqueens/pkg/queens"

// Snapshot returns what the header and the last mark of a ledger say, without rates and workers. The total is confirmed only
// if it equals the published one. For other totals an audit says what confirms them.
func (r *Run) Snapshot() queens.Snapshot {
	s := queens.Snapshot{Solutions: new(queens.Decimal)}
	if r.Header != nil {
		s = r.Header.Snapshot(r.Mark)
	}
	s.Run, s.State = r.Name, r.State
	if r.Mark == nil {
		s.At = r.Modified
	}
	if total := r.Total(); total != nil {
		s.SetTotal(total, queens.Confirmation{Tasks: s.Tasks, Published: true})
		if s.Known() != queens.Match {
			s.Confirmed = nil
		}
	}
	s.Disclaim()
	return s
}
