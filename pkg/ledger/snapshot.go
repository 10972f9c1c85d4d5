package ledger

import "nqueens/pkg/queens"

// Snapshot returns the facts of a run on which no coordinator works, without a total. The parameter
// workDone is the part of the estimated work that is done, 0 to 1.
func (s *State) Snapshot(workDone float64) queens.Snapshot {
	bans := s.Bans()
	shot := s.header.snapshot()
	shot.State, shot.At = queens.Interrupted, s.header.Created
	if s.last != nil {
		shot.At, shot.Elapsed.Duration = s.last.At, s.last.Wall
	}
	if s.isLast && s.last.State == queens.Stopped {
		shot.State = queens.Stopped
	}
	if s.Ended() == queens.Contradicted {
		shot.State = queens.Contradicted
	}
	shot.Done, shot.WorkDone = s.NumberDone(), queens.Fraction(workDone)
	shot.Solutions = (*queens.Decimal)(s.Solutions())
	shot.Checks = &queens.Checks{
		Checked: s.Checked(), Disputes: s.Disputes(), Recounts: s.Recounts(),
		Recounting: s.totals.unsettled, Recorded: s.Results(),
		Banned: bans[:min(len(bans), queens.MaxBans)],
	}
	shot.Disclaim()
	return shot
}

// Snapshot returns what the header and the last mark of a log say, without a state and a total.
func (h *Header) Snapshot(last *Mark) queens.Snapshot {
	shot := h.snapshot()
	shot.At, shot.Elapsed.Duration = last.At, last.Wall
	shot.Done, shot.WorkDone = last.Done, queens.Fraction(last.Work)
	shot.Solutions = last.Solutions
	return shot
}

// snapshot returns what is counted, and how.
func (h *Header) snapshot() queens.Snapshot {
	m := &h.Manifest
	return queens.Snapshot{
		Run: h.Run, N: m.N, Method: m.Method, Symmetry: m.Symmetry, Placed: m.Placed, Tasks: m.Tasks,
		Redundancy: h.Redundancy, SpotCheck: h.SpotCheck,
	}
}
