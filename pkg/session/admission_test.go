package session_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nqueens/pkg/kernel"
	"nqueens/pkg/keyring"
	"nqueens/pkg/queens"
	"nqueens/pkg/runstore"
	"nqueens/pkg/session"
	"nqueens/pkg/testkit"
)

// placed is a job without a published total.
var placed = session.Job{N: 5, Symmetry: queens.None, Placed: []queens.Square{{Row: 0, Column: 0}}}

// makeKeys makes a folder of keys.
func makeKeys(t *testing.T) *keyring.Ring {
	t.Helper()
	ring, _, err := keyring.Init(filepath.Join(t.TempDir(), "keys"), keyring.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

// A run is refused, new or interrupted, where fewer keys can ever be admitted than must agree on each task.
// Where others can be, it starts.
func TestTooFewVoters(t *testing.T) {
	t.Parallel()
	const server = "nats://127.0.0.1:1" // nobody is there, and nobody is asked
	ring := makeKeys(t)
	list := filepath.Join(t.TempDir(), "admitted")
	if err := os.WriteFile(list, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		url, listen string
		workers     int
		from        keyring.Sources
		refused     bool
	}{
		"alone":                              {workers: 2, refused: true},
		"alone with a list":                  {workers: 2, from: keyring.Sources{List: list}, refused: true},
		"listening":                          {listen: "127.0.0.1:0"},
		"listening, with workers":            {listen: "127.0.0.1:0", workers: 2},
		"an open server":                     {url: server, refused: true},
		"an open server, with workers":       {url: server, workers: 2, refused: true},
		"a server, and a list that is empty": {url: server, from: keyring.Sources{List: list}},
		"a server, and a folder of keys":     {url: server, from: keyring.Sources{Folder: ring.Dir()}},
		"a server, and a token":              {url: server, from: keyring.Sources{TokenFile: ring.TokenFile()}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := newStore(t)
			cfg := idle(store, func() {})
			cfg.URL, cfg.Listen, cfg.Workers, cfg.Kernel, cfg.Admission = c.url, c.listen, c.workers, kernel.Reference(), c.from
			job := placed
			job.Redundancy = 2
			expect := func(s *session.Session, err error, run string) {
				t.Helper()
				switch {
				case err == nil:
					ctx, cancel := context.WithCancel(t.Context())
					cancel()
					_, _ = s.Run(ctx) // closes it
					if c.refused {
						t.Error("it can start")
					}
				case !c.refused, !errors.Is(err, session.ErrVoters), !strings.Contains(err.Error(), run), !strings.Contains(err.Error(), "2 admitted keys"):
					t.Errorf("error %v", err)
				}
			}
			s, err := session.Count(t.Context(), cfg, job)
			expect(s, err, "")
			if names, err := store.Names(); c.refused && (err != nil || len(names) > 0) {
				t.Errorf("it leaves %v, error %v", names, err)
			}
			store = newStore(t)
			run := interrupted(t, store, job)
			cfg.Store = store
			s, err = session.Resume(t.Context(), cfg, run, false)
			expect(s, err, run)
			job.Redundancy = 0
			s, err = session.Count(t.Context(), cfg, job)
			expect(s, err, run)
		})
	}
}

// interrupted leaves a run in a store, and returns its name.
func interrupted(t *testing.T, store *runstore.Store, job session.Job) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	s, err := session.Count(ctx, idle(store, cancel), job)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	return s.Name()
}

// A new run whose board has no published total must be told its redundancy. One with placed queens only warns,
// and an interrupted run has it.
func TestRedundancyMustBeChosen(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	var log testkit.Log
	large := session.Job{N: 28, Symmetry: queens.Full, Depth: 2}
	start := func(job session.Job) error {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		cfg := idle(store, cancel)
		cfg.Log = log.Logger()
		s, err := session.Count(ctx, cfg, job)
		if err == nil {
			if _, err = s.Run(ctx); errors.Is(err, context.Canceled) {
				err = nil // it has started
			}
		}
		return err
	}
	if err := start(large); !errors.Is(err, session.ErrRedundancy) {
		t.Errorf("a new run: %v", err)
	}
	large.Redundancy = 1
	if err := start(large); err != nil {
		t.Errorf("a new run with 1: %v", err)
	}
	large.Redundancy = 0
	if err := start(large); err != nil {
		t.Errorf("the interrupted run: %v", err)
	}
	if large.New = true; !errors.Is(start(large), session.ErrRedundancy) {
		t.Error("another new run starts")
	}
	large.New, large.Symmetry = false, queens.Mirror
	if err := start(large); !errors.Is(err, session.ErrRedundancy) {
		t.Errorf("a new run beside that of other tasks: %v", err)
	}
	const warning = "no total is published"
	if n := len(log.Lines(warning)); n > 0 {
		t.Errorf("it warns %d times", n)
	}
	job := placed
	for _, want := range []int{1, 1} { // the second goes on with the first
		if err := start(job); err != nil || len(log.Lines(warning)) != want {
			t.Errorf("with placed queens: %v, %d warnings, want %d", err, len(log.Lines(warning)), want)
		}
	}
	job.Redundancy, job.New = 1, true
	if err := start(job); err != nil || len(log.Lines(warning)) != 1 {
		t.Errorf("with placed queens and a choice: %v, %q", err, log.Lines(warning))
	}
}
