package session_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/rs/zerolog"

	"nqueens/pkg/kernel"
	"nqueens/pkg/queens"
	"nqueens/pkg/report"
	"nqueens/pkg/run"
	"nqueens/pkg/runstore"
	"nqueens/pkg/session"
)

// idle returns the configuration of a session without workers, whose embedded server accepts
// others: its run does not end by itself.
func idle(store *runstore.Store, onStart func()) session.Config {
	return session.Config{
		Store: store, Listen: "127.0.0.1:0", OnStop: func() {}, OnStart: func(string) { onStart() }, OnSnapshot: func(run.Snapshot) {}, OnStatus: func(string) {}, Log: zerolog.Nop(),
	}
}

func newStore(t *testing.T) *runstore.Store {
	t.Helper()
	store, err := runstore.New(t.TempDir(), zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// A session whose context ends leaves a run that the next session of the same count resumes,
// to the total; after that, a session audits the run again.
func TestInterruptedRunIsResumed(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	first, err := session.Count(ctx, idle(store, func() { cancel(stop) }), mirror8)
	if err != nil {
		t.Fatal(err)
	}
	name := first.Name()
	result, err := first.Run(ctx)
	if !errors.Is(err, stop) || result.End != report.Stopped || result.Total != nil || result.Count == nil || !result.Count.Resumable {
		t.Fatalf("the first session ends %s, resumable %+v, error %v", result.End, result.Count, err)
	}
	result, err = count(t, store.Path(), func(ctx context.Context, cfg session.Config) (*session.Session, error) {
		s, err := session.Count(ctx, cfg, mirror8)
		if err == nil && (s.Name() != name || !s.Interrupted()) {
			t.Errorf("run %s is opened, interrupted %v, want run %s", s.Name(), s.Interrupted(), name)
		}
		return s, err
	})
	if err != nil || result.Total.String() != "92" || result.Known != queens.Match || result.Run != name {
		t.Errorf("the second session comes to %v (%s) for run %s, error %v", result.Total, result.Known, result.Run, err)
	}
	again, err := count(t, store.Path(), func(ctx context.Context, cfg session.Config) (*session.Session, error) {
		cfg.Unique = true
		return session.Resume(ctx, cfg, name, false)
	})
	if err != nil || again.Total.String() != "92" || again.Unique.String() != "12" || again.Count != nil {
		t.Errorf("the third session comes to %v and %v, error %v", again.Total, again.Unique, err)
	}
}

// A run that another process cancels ends as cancelled, and can't be resumed.
func TestCancelledRun(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	cancelled := make(chan error, 1)
	var s *session.Session
	s, err := session.Count(t.Context(), idle(store, func() {
		go func() { cancelled <- store.Cancel(t.Context(), s.Name()) }()
	}), mirror8)
	if err != nil {
		t.Fatal(err)
	}
	name := s.Name()
	result, err := s.Run(t.Context())
	if !errors.Is(err, run.ErrCancelled) || result.End != report.Cancelled || result.Count == nil || result.Count.Resumable {
		t.Errorf("the session ends %s, error %v", result.End, err)
	}
	if err := <-cancelled; err != nil {
		t.Errorf("cancel: %v", err)
	}
	if _, err := session.Resume(t.Context(), idle(store, func() {}), name, false); !errors.Is(err, run.ErrCancelled) {
		t.Errorf("resume: %v", err)
	}
	if _, err := os.Stat(filepath.Join(store.Folder(name), "cancel")); err == nil {
		t.Error("the request to cancel stays")
	}
}

// A session surveys the ledger of a run that it has counted, or that was finished. A session that fails before it
// counts has no survey: its report would replace one that says more.
func TestSurvey(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	ended := func(ctx context.Context, cfg session.Config) report.Result {
		t.Helper()
		cfg.Survey = true
		s, err := session.Count(ctx, cfg, mirror8)
		if err != nil {
			t.Fatal(err)
		}
		result, _ := s.Run(ctx) // the result is valid with any error
		return result
	}
	ctx, cancel := context.WithCancel(t.Context())
	if r := ended(ctx, idle(store, cancel)); r.End != report.Stopped || r.Survey == nil || r.Survey.Done != 0 {
		t.Errorf("a session that ends %s has the survey %+v", r.End, r.Survey)
	}
	away := idle(store, func() { t.Error("it starts") })
	away.Listen, away.URL = "", "nats://127.0.0.1:1"
	if r := ended(t.Context(), away); r.End != report.Failed || r.Survey != nil {
		t.Errorf("a session that ends %s without a server has the survey %+v", r.End, r.Survey)
	}
	working := idle(store, func() {})
	working.Workers, working.Kernel = 1, kernel.Reference()
	for range 2 { // the second finds it finished
		if r := ended(t.Context(), working); r.End != report.Complete || r.Survey == nil || r.Survey.Done != r.Tasks {
			t.Errorf("a session that ends %s has the survey %+v", r.End, r.Survey)
		}
	}
}

// A run that can't start leaves nothing on disk.
func TestFailedStartLeavesNothing(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	cfg := idle(store, func() { t.Error("it starts") })
	cfg.Listen, cfg.URL = "", "nats://127.0.0.1:1"
	s, err := session.Count(t.Context(), cfg, mirror8)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Run(t.Context()); !errors.Is(err, run.ErrNoConnection) {
		t.Errorf("error %v, want %v", err, run.ErrNoConnection)
	}
	if runs, err := store.List(); err != nil || len(runs) > 0 {
		t.Errorf("%v are left, error %v", runs, err)
	}
}

// A session refuses configurations and jobs that no run can have.
func TestRefused(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	for name, change := range map[string]func(*session.Config, *session.Job){
		"no store":    func(c *session.Config, _ *session.Job) { c.Store = nil },
		"no observer": func(c *session.Config, _ *session.Job) { c.OnStart = nil },
		"no workers":  func(c *session.Config, _ *session.Job) { c.Listen = "" },
		"unique with placed": func(c *session.Config, j *session.Job) {
			c.Unique, j.Symmetry, j.Placed = true, queens.None, make([]queens.Square, 1)
		},
		"symmetry with placed":  func(_ *session.Config, j *session.Job) { j.Placed = make([]queens.Square, 1) },
		"a board without sides": func(_ *session.Config, j *session.Job) { j.N = 0 },
	} {
		cfg, job := idle(store, func() {}), mirror8
		change(&cfg, &job)
		if _, err := session.Count(t.Context(), cfg, job); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := session.Resume(t.Context(), idle(store, func() {}), "n8-none", false); !errors.Is(err, runstore.ErrNoRun) {
		t.Errorf("resume of no run: %v", err)
	}
}
