package session_test

import (
	"context"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"nqueens/pkg/audit"
	"nqueens/pkg/identity"
	"nqueens/pkg/kernel/kerneltest"
	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/session"
	"nqueens/pkg/split"
)

// placed8 is a job whose total nobody has published.
var placed8 = session.Job{N: 8, Symmetry: queens.None, Placed: []queens.Square{{Row: 0, Column: 3}}, Depth: 2}

// confirmedRun creates the ledger of a complete run of a job, in which so many admitted keys agree
// on each task. It returns the folder of runs.
func confirmedRun(t *testing.T, job session.Job, keys func(task uint64) int) (data string) {
	t.Helper()
	m, err := session.Plan(t.Context(), job)
	if err != nil {
		t.Fatal(err)
	}
	data = t.TempDir()
	l, err := ledger.Create(filepath.Join(data, "n8-a"), ledger.Header{
		Run: "n8-a", Created: time.Now(), Manifest: m, Trust: ledger.Trust{Redundancy: 1, SpotCheck: run.SpotCheck{Share: 0.5}},
	})
	if err != nil {
		t.Fatal(err)
	}
	counter := kerneltest.NewCounter(t, generic(t))
	var workers []*identity.Identity
	for task := range split.Tasks(&m) {
		count, err := counter.Count(t.Context(), &task.Board, task.Prefixes, new(atomic.Uint64))
		if err != nil {
			t.Fatal(err)
		}
		for k := range keys(task.ID) {
			if k == len(workers) {
				workers = append(workers, newIdentity(t))
			}
			result := seal(t, workers[k], &m, run.Result{
				Run: "n8-a", Task: task.ID, Hash: task.Hash(), Attempt: 1, Count: count, Worker: "w", Kernel: "generic",
			})
			if _, err := l.Accept([]run.Result{result}, 0, run.StreamPosition{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	total, err := audit.Total(t.Context(), l, nil)
	if err == nil {
		err = l.Complete(total)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return data
}

// seal returns a result with the signature of a worker whose key is admitted.
func seal(t *testing.T, worker *identity.Identity, m *queens.Manifest, r run.Result) run.Result {
	t.Helper()
	chunk := run.ChunkResult{
		Run: r.Run, Manifest: m.Hash, Chunk: 1 + r.Task, First: r.Task, Worker: r.Worker, Counted: time.Now(),
		Counts: []run.TaskCount{{Hash: r.Hash, Count: r.Count, Kernel: r.Kernel}},
	}
	statement := chunk.Statement()
	signature, err := worker.Sign(statement)
	if err != nil {
		t.Fatal(err)
	}
	chunk.Sealed = &run.Sealed{Key: worker.Key(), Statement: statement, Signature: signature}
	sealed := chunk.Result(0, r.Attempt)
	sealed.Admitted = true
	return sealed
}

func newIdentity(t *testing.T) *identity.Identity {
	t.Helper()
	id, err := identity.New()
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// A finished run that is resumed, listed or verified says what stands behind its total: the
// published one, each task by several keys, a sample, or nothing.
func TestFinishedRunSaysHowSureItIs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		job   session.Job
		keys  func(task uint64) int
		level run.Level
		least int
	}{
		"published": {mirror8, func(uint64) int { return 1 }, run.Published, 1},
		"redundant": {placed8, func(task uint64) int { return 2 + int(task%2) }, run.Redundant, 2},
		"sampled":   {placed8, func(task uint64) int { return 1 + int(task%2) }, run.Sampled, 1},
		"nothing":   {placed8, func(uint64) int { return 1 }, run.None, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := confirmedRun(t, c.job, c.keys)
			result, err := count(t, data, func(ctx context.Context, cfg session.Config) (*session.Session, error) {
				infos, err := cfg.Store.List()
				if err != nil || len(infos) != 1 || infos[0].Confirmed == nil || infos[0].Level != c.level {
					t.Errorf("the list is %+v, error %v", infos, err)
				}
				return session.Resume(ctx, cfg, "n8-a", false)
			})
			if err != nil || result.Level != c.level || result.By.Redundancy != c.least || result.By.Disputes != 0 {
				t.Errorf("resume: %+v, error %v, want level %s by %d keys", result.Confirmed, err, c.level, c.least)
			}
			l, err := ledger.OpenReadOnly(filepath.Join(data, "n8-a"))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = l.Close() }()
			found, err := audit.Verify(t.Context(), l, audit.Sample{Share: 1, Kernel: new(generic(t)), Threads: 1}, func(error) {})
			if err != nil {
				t.Fatal(err)
			}
			if found.Err != nil || found.Level != c.level {
				t.Errorf("after a recount of all tasks: %+v, error %v, want level %s", found.Confirmed, found.Err, c.level)
			}
		})
	}
}
