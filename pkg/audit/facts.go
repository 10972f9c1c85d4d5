package audit

import (
	"context"
	"math/big"

	"nqueens/pkg/ledger"
	"nqueens/pkg/progress"
	"nqueens/pkg/queens"
	"nqueens/pkg/split"
)

// Facts returns a snapshot of a run on which no coordinator works. For a complete run it computes the total again. It returns
// the same errors as [Total].
func Facts(ctx context.Context, path string) (queens.Snapshot, error) {
	s, _, err := ledger.Load(path)
	if err != nil {
		return queens.Snapshot{}, err
	}
	snapshot := Snapshot(s)
	if s.Ended() != queens.Complete {
		return snapshot, nil
	}
	found, err := total(ctx, path, s)
	if err == nil {
		snapshot.SetTotal(found, s.Confirmation(found))
	}
	return snapshot, err
}

// Snapshot returns a snapshot, without a total, of a run on which no coordinator works, from the state of its ledger.
func Snapshot(s *ledger.State) queens.Snapshot {
	h := s.Header()
	m, bans := &h.Manifest, s.Bans()
	snapshot := queens.Snapshot{
		Run: h.Run, N: m.N, Symmetry: m.Symmetry, Placed: m.Placed, State: queens.Stopped, At: h.Created,
		Done: s.NumberDone(), Tasks: m.Tasks, Solutions: (*queens.Decimal)(s.Solutions()),
		WorkDone:   queens.Fraction(split.WorkDone(m, nil, s.DoneByClass())),
		Redundancy: h.Redundancy, SpotCheck: h.SpotCheck, Checked: s.Checked(), Disputes: s.Disputes(),
		Recounts: s.Recounts(), Recounting: uint64(len(s.Unsettled())), Recorded: s.Results(),
		Banned: bans[:min(len(bans), queens.MaxBans)],
	}
	if mark := s.Mark(); mark != nil {
		snapshot.At, snapshot.Elapsed.Duration = mark.At, mark.Wall
	}
	if s.Ended() == queens.Contradicted {
		snapshot.State = queens.Contradicted
	}
	return snapshot
}

// History returns the progress of the run whose ledger is at path, from its marks. If the ledger is damaged, History uses the
// marks that can be read.
func History(path string) []progress.Point {
	var h progress.History
	_ = ledger.Read(path, func(r ledger.Record) error {
		if m, ok := r.(*ledger.Mark); ok {
			solutions, _ := (*big.Int)(m.Solutions).Float64()
			h.Add(progress.Point{Elapsed: m.Wall, Work: m.Work, Solutions: solutions})
		}
		return nil
	})
	return h.Points()
}
