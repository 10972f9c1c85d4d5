package session_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/audit"
	"nqueens/pkg/kernel"
	"nqueens/pkg/kernel/kerneltest"
	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/report"
	"nqueens/pkg/run"
	"nqueens/pkg/runstore"
	"nqueens/pkg/session"
	"nqueens/pkg/split"
)

// written creates a ledger of mirror8 in a state, with the true counts after doctor changed
// them. It returns the folder of runs and the run's name.
func written(t *testing.T, state run.State, doctor func(m *queens.Manifest, results []run.Result) []run.Result) (data, name string) {
	t.Helper()
	m, err := session.Plan(t.Context(), mirror8)
	if err != nil {
		t.Fatal(err)
	}
	counter := kerneltest.NewCounter(t, generic(t))
	data, name = t.TempDir(), "n8-a"
	var results []run.Result
	for task := range split.Tasks(&m) {
		count, err := counter.Count(t.Context(), &task.Board, task.Prefixes, new(atomic.Uint64))
		if err != nil {
			t.Fatal(err)
		}
		results = append(results, run.Result{Run: name, Task: task.ID, Hash: task.Hash(), Attempt: 1, Count: count, Worker: "w", Kernel: "generic"})
	}
	results = doctor(&m, results)
	worker := newIdentity(t)
	for i := range results {
		results[i] = seal(t, worker, &m, results[i])
	}
	l, err := ledger.Create(filepath.Join(data, name), ledger.Header{Run: name, Created: time.Now(), Manifest: m, Trust: ledger.Trust{Redundancy: 1}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = l.Accept(results, 0, run.StreamPosition{})
	if err := errors.Join(err, l.SetState(state), l.Close()); err != nil {
		t.Fatal(err)
	}
	return data, name
}

// Resuming and verifying a finished run report what its ledger holds: a contradiction stays
// one, complete or not, and only counts that can't add up to the published total contradict
// it. A program that splits the board differently contradicts nothing.
func TestFinishedRuns(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		state  run.State
		doctor func(m *queens.Manifest, results []run.Result) []run.Result
		is     error
		not    error
		known  string // of resume
		says   string
	}{
		"contradicted early, by a sum too large": {
			run.Contradicted,
			func(_ *queens.Manifest, r []run.Result) []run.Result { r[5].Count += 1000; return r[:15] },
			run.ErrContradiction, run.ErrIncomplete, "mismatch", "contradicted before it was complete, at 15 of 21 tasks",
		},
		"contradicted early, by something else": {
			run.Contradicted,
			func(_ *queens.Manifest, r []run.Result) []run.Result { return r[:15] },
			run.ErrContradiction, run.ErrIncomplete, "none", "run n8-a was contradicted before it was complete",
		},
		"a sum too small": {
			run.Contradicted,
			func(_ *queens.Manifest, r []run.Result) []run.Result {
				for i := range r {
					r[i].Count = 0
				}
				return r
			},
			run.ErrContradiction, run.ErrIncomplete, "mismatch", "counted 0",
		},
		"a result of another task": {
			run.Contradicted,
			func(_ *queens.Manifest, r []run.Result) []run.Result { r[5].Hash++; return r },
			run.ErrContradiction, run.ErrIncomplete, "none", "the result of task 5 by w is of another task",
		},
		"another splitter": {
			run.Complete,
			func(m *queens.Manifest, r []run.Result) []run.Result { m.SplitVersion++; return r },
			nil, run.ErrContradiction, "", "run n8-a: the run was split by rules of version",
		},
		"complete": {
			run.Complete,
			func(_ *queens.Manifest, r []run.Result) []run.Result { return r },
			nil, run.ErrContradiction, "match", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data, runName := written(t, c.state, c.doctor)
			result, resumed := count(t, data, func(ctx context.Context, cfg session.Config) (*session.Session, error) {
				return session.Resume(ctx, cfg, runName, false)
			})
			var out bytes.Buffer
			if err := result.Write(&out, true); err != nil {
				t.Error(err)
			}
			l, err := ledger.OpenReadOnly(filepath.Join(data, runName))
			if err != nil {
				t.Fatal(err)
			}
			sample := audit.Sample{Share: 1, Kernel: new(generic(t)), Threads: 1}
			v, verified := audit.Verify(t.Context(), l, sample, func(error) {})
			verified = cmp.Or(verified, v.Err)
			exported := audit.Export(t.Context(), l, io.Discard, audit.JSONLines, 0)
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			for what, err := range map[string]error{"resume": resumed, "verify": verified} {
				if errors.Is(err, c.not) || !errors.Is(err, c.is) && c.is != nil || (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
					t.Errorf("%s: %v", what, err)
				}
			}
			if c.is == nil && c.says != "" && (exported == nil || errors.Is(exported, run.ErrContradiction)) {
				t.Errorf("export: %v", exported)
			}
			if c.known == "" && out.Len() > 0 || c.known != "" && !strings.Contains(out.String(), `"known":"`+c.known+`"`) {
				t.Errorf("the JSON object is %s, want known %q", &out, c.known)
			}
			if name == "contradicted early, by a sum too large" && !strings.Contains(verified.Error(), "task 5 was counted") {
				t.Errorf("verify does not name the wrong task: %v", verified)
			}
		})
	}
}

// Resuming a run that has ended removes what a coordinator that was killed after the end has left: the store of its
// embedded server, and what it was started with.
func TestRestOfAKilledCoordinator(t *testing.T) {
	t.Parallel()
	data, run := written(t, run.Complete, func(_ *queens.Manifest, r []run.Result) []run.Result { return r })
	result, err := count(t, data, func(ctx context.Context, cfg session.Config) (*session.Session, error) {
		if err := errors.Join(os.Mkdir(cfg.Store.ServerFolder(run), 0o700), cfg.Store.SaveOptions(run, runstore.Options{"unique": "true"})); err != nil {
			return nil, err
		}
		return session.Resume(ctx, cfg, run, false)
	})
	if err != nil || result.Total.String() != "92" {
		t.Errorf("the total is %v, error %v", result.Total, err)
	}
	if left, err := os.ReadDir(filepath.Join(data, run)); err != nil || len(left) != 1 {
		t.Errorf("its folder has %v (%v), and should have only the ledger", left, err)
	}
}

// A count that ended in a contradiction does not start again by itself, as in a container
// that restarts. With New it does.
func TestCountAfterAContradiction(t *testing.T) {
	t.Parallel()
	data, name := written(t, run.Contradicted, func(_ *queens.Manifest, r []run.Result) []run.Result { return r })
	if result, err := count(t, data, counting(false)); result.Total != nil || !errors.Is(err, run.ErrContradiction) || !strings.Contains(err.Error(), name) {
		t.Errorf("the total is %v, error %v", result.Total, err)
	}
	for _, forceNew := range []bool{true, false} { // the second time the newest run is complete
		if result, err := count(t, data, counting(forceNew)); err != nil || result.Total.String() != "92" {
			t.Errorf("new: %v: the total is %v, error %v", forceNew, result.Total, err)
		}
	}
}

// A count does not start over beside an interrupted run that another version of the program
// split differently. With New it does.
func TestCountAfterAnUpgrade(t *testing.T) {
	t.Parallel()
	data, run := written(t, run.Stopped, func(m *queens.Manifest, r []run.Result) []run.Result {
		m.SplitVersion--
		m.Hash[0]++
		return r[:5]
	})
	if _, err := count(t, data, counting(false)); !errors.Is(err, runstore.ErrNotResumable) || !strings.Contains(err.Error(), run) || !strings.Contains(err.Error(), "split by rules of version") {
		t.Errorf("without new: %v", err)
	}
	if result, err := count(t, data, counting(true)); err != nil || result.Total.String() != "92" {
		t.Errorf("new: the total is %v, error %v", result.Total, err)
	}
}

// mirror8 is the job of the runs that [written] writes.
var mirror8 = session.Job{N: 8, Symmetry: queens.Mirror, Depth: 2}

// counting opens a session that counts mirror8.
func counting(forceNew bool) func(context.Context, session.Config) (*session.Session, error) {
	job := mirror8
	job.New = forceNew
	return func(ctx context.Context, cfg session.Config) (*session.Session, error) {
		return session.Count(ctx, cfg, job)
	}
}

// count opens a session with one worker and an embedded server, and runs it.
func count(t *testing.T, data string, open func(context.Context, session.Config) (*session.Session, error)) (report.Result, error) {
	t.Helper()
	store, err := runstore.New(data, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	s, err := open(t.Context(), session.Config{
		Store: store, Workers: 1, Kernel: generic(t),
		OnStop: func() {}, OnStart: func(string) {}, OnSnapshot: func(run.Snapshot) {}, OnStatus: func(string) {}, Log: zerolog.Nop(),
	})
	if err != nil {
		return report.Result{}, err
	}
	return s.Run(t.Context())
}

func generic(t *testing.T) kernel.Kernel {
	t.Helper()
	k, err := kernel.Choose("generic")
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// A count once audits the complete run of the same count. A cancelled one is counted again, and a contradicted one is an
// error.
func TestOnce(t *testing.T) {
	for state, c := range map[run.State]struct {
		same bool
		err  error
	}{
		run.Complete: {true, nil}, run.Cancelled: {false, nil}, run.Contradicted: {false, session.ErrPreviousContradicted}, run.Stopped: {true, nil},
	} {
		t.Run(string(state), func(t *testing.T) {
			t.Parallel()
			data, name := written(t, state, func(_ *queens.Manifest, results []run.Result) []run.Result { return results })
			if state == run.Complete {
				storeTotal(t, data, name)
			}
			job := mirror8
			job.Once = true
			result, err := count(t, data, func(ctx context.Context, cfg session.Config) (*session.Session, error) {
				return session.Count(ctx, cfg, job)
			})
			if !errors.Is(err, c.err) || err == nil && (result.Total.String() != "92" || (result.Run == name) != c.same) {
				t.Errorf("run %s has the total %v, error %v", result.Run, result.Total, err)
			}
		})
	}
}

// storeTotal stores the total of n = 8 in the ledger of a run.
func storeTotal(t *testing.T, data, name string) {
	t.Helper()
	l, err := ledger.Open(t.Context(), filepath.Join(data, name), nil)
	if err == nil {
		err = errors.Join(l.Complete(big.NewInt(92)), l.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// While one count --once audits a complete run, another one and a resume print its total too.
func TestTwoAtOnce(t *testing.T) {
	t.Parallel()
	data, name := written(t, run.Complete, func(_ *queens.Manifest, results []run.Result) []run.Result { return results })
	storeTotal(t, data, name)
	job := mirror8
	job.Once = true
	once := func(ctx context.Context, cfg session.Config) (*session.Session, error) {
		return session.Count(ctx, cfg, job)
	}
	for _, open := range []func(context.Context, session.Config) (*session.Session, error){once, func(ctx context.Context, cfg session.Config) (*session.Session, error) {
		return session.Resume(ctx, cfg, name, false)
	}} {
		_, err := count(t, data, func(ctx context.Context, cfg session.Config) (*session.Session, error) {
			first, err := open(ctx, cfg)
			if result, err := count(t, data, open); err != nil || result.Run != name || result.Total.String() != "92" {
				t.Errorf("the second one has run %s with the total %v, error %v", result.Run, result.Total, err)
			}
			return first, err
		})
		if err != nil {
			t.Error(err)
		}
	}
}
