//go:build opencl && linux

package opencl

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"nqueens/pkg/kernel"
	"nqueens/pkg/kernel/opencl/internal/cl"
	"nqueens/pkg/queens"
	"nqueens/pkg/testkit"
)

// A step that does not end is given up after 30 s, or 5 s after its context has ended, whichever
// comes first. If it ends before that, its error is returned.
func TestStepTimes(t *testing.T) {
	for name, c := range map[string]struct {
		takes, canceledAt, returnedAt time.Duration
		silent                        bool
	}{
		"in time":                {20 * time.Second, time.Hour, 20 * time.Second, false},
		"hangs":                  {time.Hour, time.Hour, 30 * time.Second, true},
		"canceled, in time":      {14 * time.Second, 10 * time.Second, 14 * time.Second, false},
		"canceled, hangs":        {time.Hour, 10 * time.Second, 15 * time.Second, true},
		"canceled before, hangs": {time.Hour, 0, 5 * time.Second, true},
		"canceled late, hangs":   {32 * time.Second, 28 * time.Second, 30 * time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := startDriver(new(int))
				began, failure := time.Now(), errors.New("of the step")
				ctx, cancel := context.WithTimeout(t.Context(), c.canceledAt)
				defer cancel()
				err := d.do(ctx, func(*int) error {
					time.Sleep(c.takes)
					return failure
				})
				want := failure
				if c.silent {
					want = errSilent
				}
				if took := time.Since(began); took != c.returnedAt || !errors.Is(err, want) {
					t.Errorf("error %v after %v, want %v after %v", err, took, want, c.returnedAt)
				}
				close(d.steps)
				time.Sleep(2 * time.Hour) // until the step has ended
			})
		})
	}
}

// hangingCounter returns a counter of the first device. Its steps hang until the test calls the
// function answer.
func hangingCounter(t *testing.T) (c *counter, answer func()) {
	t.Helper()
	c, err := open(0, settings{})
	if err != nil {
		t.Fatal(err)
	}
	c.tick = time.Millisecond // after the setup, which may take long
	answers, hangs := make(chan struct{}), make(chan struct{})
	c.steps <- func(*counter) error { close(hangs); <-answers; return nil }
	<-hangs
	return c, func() { close(answers) }
}

// If a device hangs, a count ends with ErrDeviceLost, whether it is canceled or not. Close also
// ends, and its error says when the memory is freed: when the device answers after all.
func TestHangingDevice(t *testing.T) {
	firstDevice(t)
	for name, test := range map[string]struct{ counts, canceled bool }{
		"in a count":          {true, false},
		"in a canceled count": {true, true},
		"in Close":            {false, false},
	} {
		t.Run(name, func(t *testing.T) {
			before := cl.Live()
			c, answer := hangingCounter(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if test.canceled {
				cancel()
			}
			board := queens.FullBoard(8)
			var pulse atomic.Uint64
			for range 2 {
				if !test.counts {
					break
				}
				if got, err := c.Count(ctx, &board, []queens.Prefix{{}}, &pulse); got != 0 ||
					!errors.Is(err, kernel.ErrDeviceLost) {
					t.Errorf("count %d with the error %v, want 0 with %v", got, err, kernel.ErrDeviceLost)
				}
			}
			if test.counts {
				c.tick = time.Hour // Close does not wait a second time
			}
			if err := c.Close(); !errors.Is(err, errSilent) ||
				!strings.Contains(err.Error(), "freed when it answers") {
				t.Errorf("Close returns %v", err)
			}
			answer()
			for deadline := time.Now().Add(testkit.Stall); cl.Live() !=
				before; time.Sleep(time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatalf("%d objects of OpenCL after the device answers, %d before", cl.Live(), before)
				}
			}
		})
	}
}
