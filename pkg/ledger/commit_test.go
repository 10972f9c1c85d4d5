package ledger_test

import (
	"testing"
	"time"

	"nqueens/pkg/run"
)

// OnCommit reports each transaction that is on disk, and no other.
func TestOnCommit(t *testing.T) {
	l := create(t, t.TempDir(), 10)
	commits := 0
	l.OnCommit(func(took time.Duration) {
		if took <= 0 {
			t.Errorf("a transaction took %v", took)
		}
		commits++
	})
	for i := range uint64(3) {
		if _, err := l.Accept([]run.Result{result(i, 1, 1)}, 0, position(i)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.Accept(nil, 0, l.Position()); err != nil { // nothing to write
		t.Fatal(err)
	}
	if _, err := l.Accept([]run.Result{result(10, 1, 1)}, 0, position(4)); err == nil {
		t.Error("a task that the run does not have is accepted")
	}
	if commits != 3 {
		t.Errorf("%d transactions, want 3", commits)
	}
}
