package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/kernel"
	"nqueens/pkg/queens"
	"nqueens/pkg/testkit"
	"nqueens/pkg/worker"
)

// nobody is a transport without coordinators.
type nobody struct{ worker.Transport }

func (nobody) Announcements(func(queens.Announcement)) (stop func(), err error) {
	return func() {}, nil
}

func (nobody) Problem() string { return "" }

func (nobody) Connected() bool { return true }

// fakePart returns a part that counts like the reference kernel. The function opened gets the
// number of each counter, from 1, and may return an error instead.
func fakePart(name string, device bool, opened func(number int64) error) part {
	var made atomic.Int64
	k := kernel.Kernel{Name: name, New: func() (kernel.Counter, error) {
		if err := opened(made.Add(1)); err != nil {
			return nil, err
		}
		return kernel.Reference().New()
	}}
	return part{kernel: k, threads: 1, device: device}
}

func works(int64) error { return nil }

// fails returns a function for fakePart. Counters with the numbers first to last can't be made.
func fails(first, last int64, err error) func(number int64) error {
	return func(number int64) error {
		if first <= number && number <= last {
			return err
		}
		return nil
	}
}

func newTeam(log *strings.Builder, parts ...part) *team {
	config := worker.Config{Process: worker.NewProcess(testkit.Machine("m")),
		Log: zerolog.New(zerolog.SyncWriter(log))}
	return &team{parts: parts, transport: nobody{}, config: config}
}

// A device that fails is left out, is tried again after 10 s, 20 s and so on, and then works again.
// The other parts go on. The first counter of a part is that of its self-test, the second one that
// of its worker.
func TestFailedDevice(t *testing.T) {
	for name, c := range map[string]struct {
		first, last int64
		backAfter   time.Duration
	}{
		"in the self-test":            {1, 1, 10 * time.Second},
		"in the self-test, twice":     {1, 2, 30 * time.Second},
		"later":                       {2, 2, 10 * time.Second},
		"later, and when tried again": {2, 4, 70 * time.Second},
	} {
		for _, other := range []part{fakePart("opencl:1", true, works),
			fakePart("generic", false, works)} {
			t.Run(name+" beside "+other.kernel.Name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var log strings.Builder
					failure := errors.New("out of order")
					team := newTeam(&log, fakePart("opencl:0", true, fails(c.first, c.last, failure)), other)
					failed, err := team.test(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					ctx, stop := context.WithCancel(t.Context())
					ended := make(chan error)
					go func() { ended <- team.run(ctx, failed) }()
					time.Sleep(c.backAfter - time.Second)
					if working := team.change(0); working != 1 {
						t.Errorf("%d parts work before the device is tried again", working)
					}
					time.Sleep(2 * time.Second)
					if working := team.change(0); working != 2 {
						t.Errorf("%d parts work after the device was tried again", working)
					}
					stop()
					if err := <-ended; err != nil {
						t.Error(err)
					}
					for _, part := range []string{"opencl:0 has failed", "out of order", "opencl:0 works again"} {
						if !strings.Contains(log.String(), part) {
							t.Errorf("the log does not say %q:\n%s", part, log.String())
						}
					}
				})
			})
		}
	}
}

// A device that counts wrongly is left out, aloud, and never tried again.
func TestBrokenDevice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		var made atomic.Int64
		device := fakePart("opencl:0", true, func(number int64) error {
			made.Store(number)
			return fmt.Errorf("92 is not 93: %w", kernel.ErrBroken)
		})
		team := newTeam(&log, device, fakePart("generic", false, works))
		failed, err := team.test(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithTimeout(t.Context(), 24*time.Hour)
		defer stop()
		if err := team.run(ctx, failed); err != nil {
			t.Error(err)
		}
		if made.Load() != 1 || !strings.Contains(log.String(), "opencl:0 counts wrongly") {
			t.Errorf("%d counters; the log:\n%s", made.Load(), log.String())
		}
	})
}

// The process ends with the error of the processor, or with that of the last device that worked.
func TestLastPart(t *testing.T) {
	failure := errors.New("out of order")
	for name, c := range map[string]struct {
		parts []part
		start bool // the process starts
	}{
		"the only device, later":   {[]part{fakePart("opencl:0", true, fails(2, 99, failure))}, true},
		"the only device, at once": {[]part{fakePart("opencl:0", true, fails(1, 99, failure))}, false},
		"both devices, later": {[]part{fakePart("opencl:0", true, fails(2, 99, failure)),
			fakePart("opencl:1", true, fails(2, 99, failure))}, true},
		"both devices, at once": {[]part{fakePart("opencl:0", true, fails(1, 99, failure)),
			fakePart("opencl:1", true, fails(1, 99, failure))}, false},
		"the processor, later": {[]part{fakePart("opencl:0", true, works),
			fakePart("generic", false, fails(2, 99, failure))}, true},
		"the processor, at once": {[]part{fakePart("opencl:0", true, works),
			fakePart("generic", false, fails(1, 99, failure))}, false},
		"one at once, one later": {[]part{fakePart("opencl:0", true, fails(1, 99, failure)),
			fakePart("opencl:1", true, fails(2, 99, failure))}, true},
		"a processor without a GPU": {[]part{fakePart("generic", false, fails(2, 99, failure))}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				team := newTeam(new(strings.Builder), c.parts...)
				failed, err := team.test(t.Context())
				if (err == nil) != c.start {
					t.Errorf("error %v at the start", err)
				}
				if c.start {
					err = team.run(t.Context(), failed)
				}
				if !errors.Is(err, failure) {
					t.Errorf("error %v", err)
				}
			})
		})
	}
}

// All parts end when they have been idle for long enough, and so does the process.
func TestIdleParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		team := newTeam(new(strings.Builder), fakePart("opencl:0", true, works),
			fakePart("opencl:1", true, fails(1, 99, errors.New("no"))))
		team.config.IdleExit = time.Minute
		failed, err := team.test(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := team.run(t.Context(), failed); err != nil || time.Since(began) > 2*time.Minute {
			t.Errorf("ended after %v with the error %v", time.Since(began), err)
		}
	})
}

// A driver that hangs does not keep a process from ending.
func TestHangingDriver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := make(chan struct{})
		device := fakePart("opencl:0", true, func(number int64) error {
			if number == 3 {
				<-hangs
			}
			return fails(2, 2, errors.New("lost"))(number)
		})
		team := newTeam(new(strings.Builder), device, fakePart("generic", false, works))
		failed, err := team.test(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		began := time.Now()
		err = team.run(ctx, failed)
		if took := time.Since(began); err == nil || !strings.Contains(err.Error(), "hangs") ||
			took > time.Minute+partsTimeout {
			t.Errorf("ended after %v with the error %v", took, err)
		}
		close(hangs)
	})
}
