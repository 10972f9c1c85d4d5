package session

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"nqueens/pkg/run"
)

// Nothing is called any more once the run has ended, even if it is due at the same moment: a request to cancel a run
// that has just come to its total must not end it without one.
func TestEveryEndsWithItsContext(t *testing.T) {
	for range 100 {
		synctest.Test(t, func(t *testing.T) {
			ctx, end := context.WithCancel(t.Context())
			calls := 0
			if err := every(ctx, time.Second, func() error {
				calls++
				end()
				time.Sleep(2 * time.Second) // the next call is due
				return nil
			}); err != nil || calls != 1 {
				t.Errorf("%d calls, error %v", calls, err)
			}
		})
	}
}

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

// A person is told once in each outage that lasts, and never of short ones.
func TestOutage(t *testing.T) {
	var o outage
	var told []int
	start := time.Now()
	for second := range 400 {
		lost := second >= 10 && second < 60 || second >= 100 && second < 250 || second >= 251
		if o.observe(lost, start.Add(time.Duration(second)*time.Second)) {
			told = append(told, second)
		}
	}
	if want := []int{160, 311}; !slices.Equal(told, want) {
		t.Errorf("told at %v s, want %v", told, want)
	}
}

// Other processes learn all addresses of a cluster, and no password.
func TestPublicURL(t *testing.T) {
	for _, c := range []struct{ urls, address, want string }{
		{"nats://127.0.0.1:4222", "nats://127.0.0.1:4222", "nats://127.0.0.1:4222"},
		{"nats://me:secret@a:4222, b,tls://token@c:1", "nats://***@a:4222", "nats://a:4222,nats://b:4222,tls://c:1"},
		{"", "nats://127.0.0.1:1234", "nats://127.0.0.1:1234"},
		{"", embedded, ""},
	} {
		if got := (&connection{urls: c.urls, address: c.address}).publicURL(); got != c.want {
			t.Errorf("the public URL of %q is %q, want %q", c.urls, got, c.want)
		}
	}
}
