package session

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
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
