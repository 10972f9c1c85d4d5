package bus

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// connected returns a bus with a connection.
func connected(t *testing.T) *Bus {
	b := &Bus{permitted: t.Context()}
	b.beginLifetime()
	return b
}

// answer makes a request that the server answers after that time, or too late.
func answer(ctx context.Context, b *Bus, after time.Duration) (timeout time.Duration, err error) {
	start := time.Now()
	ctx, done := b.request(ctx)
	deadline, _ := ctx.Deadline()
	select {
	case <-ctx.Done():
		err = ctx.Err()
	case <-time.After(after):
	}
	return deadline.Sub(start), done(err)
}

// The timeout of requests doubles for a server that does not answer, up to a bound, so that an
// overloaded server is asked less often, and falls back when it answers quickly again. The
// error says the timeout that was used.
func TestTimeoutsAdaptToTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := connected(t)
		for _, step := range []struct{ after, timeout time.Duration }{
			{time.Second, 5 * time.Second},
			{time.Hour, 5 * time.Second},
			{time.Hour, 10 * time.Second},
			{15 * time.Second, 20 * time.Second}, // in time, but not quickly: it stays
			{time.Hour, 20 * time.Second},
			{time.Hour, 40 * time.Second},
			{time.Hour, 40 * time.Second},
			{0, 40 * time.Second},
			{0, 20 * time.Second},
			{0, 10 * time.Second},
			{0, 5 * time.Second},
			{0, 5 * time.Second},
		} {
			timeout, err := answer(t.Context(), b, step.after)
			if timeout != step.timeout {
				t.Errorf("the timeout is %v, want %v", timeout, step.timeout)
			}
			if late := step.after > step.timeout; late != errors.Is(err, context.DeadlineExceeded) ||
				late && !strings.Contains(err.Error(), "no answer within "+step.timeout.String()) {
				t.Errorf("an answer after %v, with the timeout %v: error %v", step.after, step.timeout, err)
			}
		}
	})
}

// A request ends with the connection over which it was sent, and tells nothing of the server's speed.
// The next one is not affected.
func TestRequestsEndWithTheirConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := connected(t)
		time.AfterFunc(2*time.Second, b.beginLifetime)
		start := time.Now()
		if _, err := answer(t.Context(), b, time.Hour); !errors.Is(err, errDisconnected) || time.Since(start) != 2*time.Second {
			t.Errorf("after %v: error %v, want %v after 2s", time.Since(start), err, errDisconnected)
		}
		if timeout, err := answer(t.Context(), b, time.Second); err != nil || timeout != requestTimeout {
			t.Errorf("the next request has the timeout %v, error %v", timeout, err)
		}
		ctx, stop := context.WithCancel(t.Context())
		stop()
		if _, err := answer(ctx, b, time.Hour); !errors.Is(err, context.Canceled) {
			t.Errorf("a request whose caller has ended: error %v", err)
		}
	})
}

// Requests that expire together double the timeout once.
func TestTimeoutsOfConcurrentRequestsDoubleOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := connected(t)
		for range 16 {
			go func() { _, _ = answer(t.Context(), b, time.Hour) }()
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if timeout, _ := answer(t.Context(), b, 0); timeout != 10*time.Second {
			t.Errorf("the timeout is %v after 16 requests expired together, want 10s", timeout)
		}
	})
}

// The end of the caller's context says nothing of the server, and its deadline is kept.
func TestTimeoutsIgnoreTheCallersContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := connected(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		timeout, err := answer(ctx, b, time.Hour)
		if timeout != time.Second || !errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "answer") {
			t.Errorf("with a deadline of a second: timeout %v, error %v", timeout, err)
		}
		if timeout, _ = answer(t.Context(), b, 0); timeout != requestTimeout {
			t.Errorf("the timeout is %v, want %v", timeout, requestTimeout)
		}
	})
}
