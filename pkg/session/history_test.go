package session

import (
	"errors"
	"math/big"
	"testing"
	"testing/synctest"
	"time"

	"nqueens/pkg/progress"
	"nqueens/pkg/queens"
)

// While the ledger is read for the history, neither the page nor the loop of the coordinator waits.
func TestHistoryIsReadBeside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h history
		ledger := make(chan []progress.Point)
		read := func() []progress.Point { return <-ledger }
		add := func(elapsed time.Duration) {
			s := &queens.Snapshot{Solutions: (*queens.Decimal)(new(big.Int))}
			s.Elapsed.Duration = elapsed
			h.add(s)
		}
		add(3 * time.Second) // nobody has asked
		if points := h.points(read); len(points) != 0 {
			t.Errorf("at first, there are %v", points)
		}
		synctest.Wait() // until the ledger is being read
		if isFree := h.lock.TryLock(); !isFree {
			close(ledger)
			t.Fatal("the lock is held while the ledger is read")
		}
		h.lock.Unlock()
		add(4 * time.Second)
		if points := h.points(read); len(points) != 1 {
			t.Errorf("while the ledger is read, there are %v", points)
		}
		ledger <- []progress.Point{{Elapsed: time.Second}, {Elapsed: 2 * time.Second}}
		synctest.Wait()
		if points := h.points(read); len(points) != 3 {
			t.Errorf("in the end, there are %v", points)
		}
	})
}

// A total that gives no whole number of fundamental solutions is no total.
func TestContradictedByUnique(t *testing.T) {
	var shown queens.Snapshot
	s := Session{cfg: Config{Unique: true, OnSnapshot: func(s *queens.Snapshot) { shown = *s }}}
	wrong := (*queens.Decimal)(big.NewInt(93))
	last := queens.Snapshot{N: 8, State: queens.Complete, Solutions: wrong, Total: wrong,
		Confirmed: new(queens.Confirmed)}
	unique, err := s.countUnique(t.Context(), &last)
	if unique != nil || !errors.Is(err, queens.ErrContradiction) ||
		shown.State != queens.Contradicted || last.State != queens.Contradicted || last.Total != nil ||
		last.Solutions != nil || last.Confirmed != nil {
		t.Errorf("%v, error %v, shown %+v, last %+v", unique, err, shown, last)
	}
}
