package runs

import "nqueens/pkg/queens"

// Snapshot returns what the header and the last mark of a ledger say about a run that can be read:
// no rates, no workers and no checks, because these are not known. The total is confirmed only if
// it equals the published one. For other totals an audit says what confirms them.
func (r *Run) Snapshot() queens.Snapshot {
	s := r.Header.Snapshot(r.Mark)
	s.Run, s.State = r.Name, r.State
	if total := r.Total(); total != nil {
		s.SetTotal(total, queens.Confirmation{Tasks: s.Tasks, Published: true})
		if s.Known() != queens.Match {
			s.Confirmed = nil
		}
	}
	s.Disclaim()
	return s
}
