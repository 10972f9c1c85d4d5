package session_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rs/zerolog"

	"nqueens/pkg/bus"
	"nqueens/pkg/bus/natsserver"
	"nqueens/pkg/kernel"
	"nqueens/pkg/queens"
	"nqueens/pkg/report"
	"nqueens/pkg/runs"
	"nqueens/pkg/session"
	"nqueens/pkg/testkit"
)

// place is a store and a configuration for the sessions of a test.
type place struct {
	*testing.T
	session.Config
	log    bytes.Buffer
	starts []string
	last   queens.Snapshot
}

func newPlace(t *testing.T) *place {
	store, err := runs.NewStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &place{T: t}
	generic, err := kernel.Choose("generic")
	if err != nil {
		t.Fatal(err)
	}
	p.Config = session.Config{
		Store: store, Threads: 1, Kernel: generic, Version: "test", Machine: "m",
		HidesHardware: "this is a test",
		Log:           zerolog.New(zerolog.SyncWriter(&p.log)).Level(zerolog.InfoLevel),
		Recount: func(context.Context, queens.Task, string, bool) (uint64, error) {
			t.Error("a recount of a count whose total is published")
			return 0, nil
		},
		Resume:     func(run string) string { return "resume " + run },
		OnStart:    func(run string) { p.starts = append(p.starts, run) },
		OnSnapshot: func(s *queens.Snapshot) { p.last = *s },
	}
	return p
}

var eight = session.Job{N: 8, Symmetry: queens.Full, Redundancy: 1, SpotCheck: 0.01}

// count opens a session, runs it and closes it.
func (p *place) count(
	ctx context.Context, job session.Job,
) (s *session.Session, r *report.Result, err error) {
	p.Helper()
	if s, err = session.Count(ctx, p.Config, job); err != nil {
		return nil, nil, err
	}
	r, err = s.Run(ctx)
	return s, r, errors.Join(err, s.Close(ctx))
}

// runs returns the number of runs on disk.
func (p *place) runs() int {
	list, err := p.Store.List()
	if err != nil {
		p.Fatal(err)
	}
	return len(list)
}

func (p *place) check(r *report.Result, err error) {
	p.Helper()
	if err != nil || r.Total == nil || r.Total.String() != "92" || r.Confirmed == nil ||
		r.Confirmed.Level != queens.Published {
		p.Fatalf("result %+v, error %v", r, err)
	}
	if p.last.State != queens.Complete || p.last.Done != p.last.Tasks || p.last.Total == nil {
		p.Fatalf("the last snapshot is %+v", p.last)
	}
}

// A count is one run. Counting the same again only audits its ledger: nothing is counted, and
// nothing is written.
func TestCount(t *testing.T) {
	p := newPlace(t)
	p.Unique = true
	s, r, err := p.count(t.Context(), eight)
	p.check(r, err)
	if r.Unique == nil || r.Unique.String() != "12" || s.Earlier() != 0 || s.Ended() ||
		len(p.starts) != 1 || p.starts[0] != s.Name() {
		t.Errorf("result %+v of %s, starts %v", r, s.Name(), p.starts)
	}
	if strings.Contains(p.log.String(), p.HidesHardware) {
		t.Errorf("a count by one machine asks for its name: %s", &p.log)
	}
	own := queens.Machine{User: queens.CoordinatorUser, Name: "m"}
	if state, _, err := p.Store.Load(s.Name()); err != nil || state.Counter(0) != own {
		t.Errorf("the worker of this process is not of its user: %v", err)
	}
	before, err := os.ReadFile(p.Store.Ledger(s.Name()))
	if err != nil {
		t.Fatal(err)
	}
	again, r, err := p.count(t.Context(), eight)
	p.check(r, err)
	after, err := os.ReadFile(p.Store.Ledger(s.Name()))
	isSame := string(after) == string(before)
	if err != nil || !isSame || again.Name() != s.Name() || !again.Ended() || len(p.starts) != 1 {
		t.Errorf("again: run %s, ended %v, starts %v, error %v, same ledger: %v", again.Name(),
			again.Ended(), p.starts, err, isSame)
	}
	anew := eight
	anew.New = true
	_, r, err = p.count(t.Context(), anew)
	p.check(r, err)
	if p.runs() != 2 {
		t.Errorf("%d runs, want 2", p.runs())
	}
}

// If a ledger was cut at any place after its header, its run can be counted to the end. Tasks that
// the ledger still has are not counted again.
func TestResume(t *testing.T) {
	p := newPlace(t)
	deep := eight
	deep.Depth = 3
	s, r, err := p.count(t.Context(), deep)
	p.check(r, err)
	path := p.Store.Ledger(s.Name())
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []struct {
		size int
		done bool // all tasks
	}{{len(whole) - 1, true}, {len(whole) * 2 / 3, false}} {
		if err := os.WriteFile(path, whole[:part.size], 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := session.Resume(t.Context(), p.Config, s.Name())
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.Run(t.Context())
		p.check(r, errors.Join(err, s.Close(t.Context())))
		if all := s.Earlier() == p.last.Tasks; all != part.done || s.Earlier() == 0 {
			t.Errorf("cut to %d of %d bytes: %d of %d tasks were done", part.size, len(whole), s.Earlier(),
				p.last.Tasks)
		}
	}
	// a cut between two groups leaves no trace
	if said := strings.Count(p.log.String(), "not written as a whole"); said == 0 {
		t.Errorf("the log does not say that the ledger was cut: %s", &p.log)
	}
}

// A run that is interrupted before a task is done leaves nothing on disk. The error wraps the cause
// of the context.
func TestInterrupted(t *testing.T) {
	p := newPlace(t)
	interrupt := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	p.OnStart = func(string) { cancel(interrupt) }
	_, r, err := p.count(ctx, eight)
	if !errors.Is(err, interrupt) || r == nil || r.Total != nil || r.Last.State != queens.Stopped ||
		p.runs() != 0 {
		t.Errorf("result %+v, error %v, %d runs", r, err, p.runs())
	}
}

// If the fundamental solutions can't be counted, the run is complete and its total is printed, when
// it is counted and when it is audited again. The error says what is missing.
func TestInterruptedUnique(t *testing.T) {
	p := newPlace(t)
	p.Unique = true
	interrupt := errors.New("interrupted")
	for range 2 {
		ctx, cancel := context.WithCancelCause(t.Context())
		p.OnSnapshot = func(s *queens.Snapshot) {
			p.last = *s
			if s.State == queens.Complete {
				cancel(interrupt)
			}
		}
		_, r, err := p.count(ctx, eight)
		p.check(r, nil)
		if !errors.Is(err, interrupt) || !strings.Contains(err.Error(), "fundamental") ||
			r.Unique != nil || r.Last.State != queens.Complete {
			t.Errorf("result %+v, error %v", r, err)
		}
	}
}

// A count succeeds on a server with the least max_payload that a connection accepts. The size of a
// chunk is computed from the prefixes that its tasks have, not from the greatest batch.
func TestSmallServer(t *testing.T) {
	small, err := natsserver.Start(
		natsserver.Config{Listen: testkit.Address(t), Authorization: "max_payload: 131072",
			Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	defer small.Stop()
	p := newPlace(t)
	p.Config.Server = &bus.Options{URL: "nats://" + small.Addresses("")[0]}
	_, r, err := p.count(t.Context(), eight)
	p.check(r, err)
}

// A coordinator that starts before its server waits for the server, says so in its snapshots, and
// then counts. It can be stopped meanwhile, and leaves no run behind.
func TestServerComesLater(t *testing.T) {
	for _, comes := range []bool{true, false} {
		p := newPlace(t)
		address := testkit.Address(t)
		p.Config.Server = &bus.Options{URL: "nats://" + address}
		stop := errors.New("stopped")
		ctx, cancel := context.WithCancelCause(t.Context())
		t.Cleanup(func() { cancel(nil) })
		waited := false
		p.OnSnapshot = func(s *queens.Snapshot) {
			p.last = *s
			if s.Waits == nil || s.Waits.Reason != queens.NoServer || s.State != queens.Running || waited {
				return
			}
			waited = true
			if !comes {
				cancel(stop)
				return
			}
			server, err := natsserver.Start(natsserver.Config{Listen: address, Log: zerolog.Nop()})
			if err != nil {
				t.Error(err)
				return
			}
			t.Cleanup(server.Stop)
		}
		_, r, err := p.count(ctx, eight)
		switch {
		case !waited:
			t.Error("no snapshot says that the run waits for a server")
		case comes:
			p.check(r, err)
		case !errors.Is(err, stop) || r.Last.State != queens.Stopped || p.runs() != 0:
			t.Errorf("stopped while it waits: %+v, %v, %d runs", r.Last, err, p.runs())
		}
	}
}

// wrong is a counter whose counts are one too high.
type wrong struct{ kernel.Counter }

func (w wrong) Count(
	ctx context.Context, b *queens.Board, prefixes []queens.Prefix, pulse *atomic.Uint64,
) (uint64, error) {
	count, err := w.Counter.Count(ctx, b, prefixes, pulse)
	return count + 1, err
}

// A count that can't start gives an error that says why, and leaves no run on disk.
func TestErrors(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	closed := testkit.Address(t)
	server, err := natsserver.Start(natsserver.Config{
		Listen: closed, Authorization: "authorization { user: a, password: b }", Log: zerolog.Nop(),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Stop()
	for name, c := range map[string]struct {
		change func(*session.Config)
		job    session.Job
		is     error  // which the error wraps
		says   string // which its text contains
	}{
		"no address": {
			func(c *session.Config) {
				c.Server = &bus.Options{URL: "nats://a b"}
			}, eight, queens.ErrNoConnection, "a b",
		},
		"refused credentials": {
			func(c *session.Config) {
				c.Server = &bus.Options{URL: "nats://" + closed}
			}, eight, queens.ErrNoConnection, closed,
		},
		"port in use": {
			func(c *session.Config) {
				c.Listen = taken.Addr().String()
			}, eight, nil, "address already in use",
		},
		"redundancy": {
			func(*session.Config) {}, session.Job{N: 8, Symmetry: queens.Full, Redundancy: 2}, nil,
			"redundancy of 2",
		},
		"a wrong kernel": {
			func(c *session.Config) { c.Kernel = lying(c.Kernel) }, eight, nil, "choose another kernel",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			c.change(&p.Config)
			_, r, err := p.count(t.Context(), c.job)
			if err == nil || c.is != nil && !errors.Is(err, c.is) ||
				!strings.Contains(err.Error(), c.says) || r != nil && r.Total != nil {
				t.Errorf("result %+v, error %v", r, err)
			}
			if p.runs() != 0 {
				t.Errorf("%d runs are left", p.runs())
			}
		})
	}
}

func lying(k kernel.Kernel) kernel.Kernel {
	honest := k.New
	k.New = func() (kernel.Counter, error) {
		c, err := honest()
		return wrong{c}, err
	}
	return k
}
