package session

import (
	"testing"

	"nqueens/pkg/run"
)

// The newer ledger is the one that has had more results, with those that it has lost. It is not said that a ledger
// has only so many tasks if the newer one has fewer.
func TestWhyNewer(t *testing.T) {
	for _, c := range []struct {
		done, lost uint64 // of the record
		has, gone  uint64 // of the ledger
		want       string
	}{
		{100, 0, 100, 0, ""},
		{100, 0, 99, 1, ""},
		{100, 0, 101, 0, ""},
		{100, 5, 99, 5, "with 100 tasks; the ledger here has only 99"},
		{100, 0, 10, 20, "with 100 tasks; the ledger here has only 10"},
		{100, 900, 500, 0, "with 100 tasks, after results became void; the ledger here, with 500 tasks, is from before that"},
	} {
		if got := whyNewer(&run.Record{Done: c.done, Lost: c.lost}, c.has, c.gone); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
