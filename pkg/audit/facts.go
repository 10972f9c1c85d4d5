package audit

import (
	"context"
	"math/big"

	"nqueens/pkg/ledger"
	"nqueens/pkg/progress"
	"nqueens/pkg/queens"
	"nqueens/pkg/split"
)

// Facts returns a snapshot of a run on which no coordinator works. For a complete run it computes
// the total again. It returns the same errors as [Total].
func Facts(ctx context.Context, path string) (queens.Snapshot, error) {
	defer frugal()()
	s, _, err := ledger.Load(path)
	if err != nil {
		return queens.Snapshot{}, err
	}
	snapshot := s.Snapshot(split.WorkDone(&s.Header().Manifest, nil, s.DoneByClass()))
	if s.Ended() != queens.Complete {
		return snapshot, nil
	}
	found, err := total(ctx, path, s)
	if err == nil {
		snapshot.SetTotal(found, s.Confirmation(found))
	}
	return snapshot, err
}

// History returns the progress of the run whose ledger is at path, from its marks. If the ledger is
// damaged, History uses the marks that can be read.
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
