package audit

import (
	"context"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
)

// Facts returns the facts of a run on which no coordinator works, with the total of a complete one, which is computed again.
// The error is one of [Total], or of [ledger.Load].
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
	if err != nil {
		return snapshot, err
	}
	snapshot.SetTotal(found, s.Confirmation(found))
	return snapshot, nil
}
