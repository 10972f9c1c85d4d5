package main

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"nqueens/pkg/audit"
	"nqueens/pkg/cli"
	"nqueens/pkg/kernel"
	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/split"
)

// written makes the ledger of a run of n = 8 by mirror in a state, with the true counts
// as they are doctored; it returns the folder of runs and the run's name.
func written(t *testing.T, state run.State, doctor func(m *queens.Manifest, results []queens.Result) []queens.Result) (data, name string) {
	t.Helper()
	o := countOptions{symmetry: string(queens.Mirror), depth: 2}
	m, err := plan(t.Context(), 8, &o)
	if err != nil {
		t.Fatal(err)
	}
	k, err := kernel.Choose("generic")
	if err != nil {
		t.Fatal(err)
	}
	data, name = t.TempDir(), "n8-a"
	var results []queens.Result
	for task := range split.Tasks(&m) {
		count, err := k.New().Count(t.Context(), &task.Board, task.Prefixes, new(atomic.Uint64))
		if err != nil {
			t.Fatal(err)
		}
		results = append(results, queens.Result{Run: name, Task: task.ID, Hash: task.Hash(), Attempt: 1, Count: count, Worker: "w", Kernel: "generic"})
	}
	results = doctor(&m, results)
	l, err := ledger.Create(filepath.Join(data, name), ledger.Header{Run: name, Created: time.Now(), Manifest: m})
	if err != nil {
		t.Fatal(err)
	}
	_, err = l.Accept(results, nil, run.StreamPosition{})
	if err := errors.Join(err, l.SetState(state), l.Close()); err != nil {
		t.Fatal(err)
	}
	return data, name
}

// What resume and verify say of a run that is over is what its ledger holds: a
// contradiction stays one, complete or not, and the published total is contradicted only
// by counts that can't come to it. A program that splits otherwise contradicts nothing.
func TestRunsThatAreOver(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		state  run.State
		doctor func(m *queens.Manifest, results []queens.Result) []queens.Result
		is     error
		not    error
		known  string // of resume
		says   string
	}{
		"contradicted early, by a sum too large": {
			run.Contradicted,
			func(_ *queens.Manifest, r []queens.Result) []queens.Result { r[5].Count += 1000; return r[:15] },
			queens.ErrContradiction, queens.ErrIncomplete, "mismatch", "contradicted before it was complete, at 15 of 21 tasks",
		},
		"contradicted early, by something else": {
			run.Contradicted,
			func(_ *queens.Manifest, r []queens.Result) []queens.Result { return r[:15] },
			queens.ErrContradiction, queens.ErrIncomplete, "none", "coordinator count 8 --symmetry mirror --depth 2 --new",
		},
		"a sum too small": {
			run.Contradicted,
			func(_ *queens.Manifest, r []queens.Result) []queens.Result {
				for i := range r {
					r[i].Count = 0
				}
				return r
			},
			queens.ErrContradiction, queens.ErrIncomplete, "mismatch", "counted 0",
		},
		"a result of another task": {
			run.Contradicted,
			func(_ *queens.Manifest, r []queens.Result) []queens.Result { r[5].Hash++; return r },
			queens.ErrContradiction, queens.ErrIncomplete, "none", "the result of task 5 by w is of another task",
		},
		"another splitter": {
			run.Complete,
			func(m *queens.Manifest, r []queens.Result) []queens.Result { m.SplitVersion++; return r },
			nil, queens.ErrContradiction, "", "run n8-a: the run was split by rules of version",
		},
		"complete": {
			run.Complete,
			func(_ *queens.Manifest, r []queens.Result) []queens.Result { return r },
			nil, queens.ErrContradiction, "match", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data, run := written(t, c.state, c.doctor)
			var out bytes.Buffer
			o := resumeOptions{runOptions: runOptions{workers: 1, kernel: "generic", json: true, server: serverOptions{nats: new(cli.Connection)}, flags: resumeCommand(&cli.App{}).Flags()}}
			o.data.path = data
			resumed := resume(t.Context(), cli.New(&cobra.Command{}), run, &o, &out)
			verified := verify(t.Context(), cli.New(&cobra.Command{}), run, &verifyOptions{sample: "100%", kernel: "generic", threads: 1, json: true, data: o.data}, &bytes.Buffer{})
			l, err := ledger.OpenReadOnly(filepath.Join(data, run))
			if err != nil {
				t.Fatal(err)
			}
			exported := audit.ExportTask(t.Context(), l, 0, io.Discard, audit.JSONLines)
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			for what, err := range map[string]error{"resume": resumed, "verify": verified} {
				if errors.Is(err, c.not) || !errors.Is(err, c.is) && c.is != nil || (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
					t.Errorf("%s: %v", what, err)
				}
			}
			if c.is == nil && c.says != "" && (exported == nil || errors.Is(exported, queens.ErrContradiction)) {
				t.Errorf("ledger --task: %v", exported)
			}
			if c.known == "" && out.Len() > 0 || c.known != "" && !strings.Contains(out.String(), `"known":"`+c.known+`"`) {
				t.Errorf("it printed %s, want known %q", &out, c.known)
			}
			if name == "contradicted early, by a sum too large" && !strings.Contains(verified.Error(), "task 5 was counted") {
				t.Errorf("verify does not name the liar: %v", verified)
			}
		})
	}
}

// A count that came to a contradiction is not begun again unasked, as by a container that
// starts again; with --new it is.
func TestCountAfterAContradiction(t *testing.T) {
	t.Parallel()
	data, run := written(t, run.Contradicted, func(_ *queens.Manifest, r []queens.Result) []queens.Result { return r })
	again := func(anew bool) (string, error) {
		var out bytes.Buffer
		o := countOptions{
			symmetry: string(queens.Mirror), depth: 2, anew: anew,
			runOptions: runOptions{workers: 1, kernel: "generic", server: serverOptions{nats: new(cli.Connection)}, flags: countCommand(&cli.App{}).Flags()},
		}
		o.data.path = data
		err := count(t.Context(), cli.New(&cobra.Command{}), 8, &o, &out)
		return out.String(), err
	}
	if out, err := again(false); out != "" || !errors.Is(err, queens.ErrContradiction) || !strings.Contains(err.Error(), run) {
		t.Errorf("it printed %q, error %v", out, err)
	}
	for _, anew := range []bool{true, false} { // then the newest run is complete
		if out, err := again(anew); out != "92\n" || err != nil {
			t.Errorf("new: %v: it printed %q, error %v", anew, out, err)
		}
	}
}

// A count does not begin afresh over an interrupted one that another version of the program
// has split otherwise; with --new it does.
func TestCountAfterAnUpgrade(t *testing.T) {
	t.Parallel()
	data, run := written(t, run.Stopped, func(m *queens.Manifest, r []queens.Result) []queens.Result {
		m.SplitVersion--
		m.Hash[0]++
		return r[:5]
	})
	for _, anew := range []bool{false, true} {
		var out bytes.Buffer
		o := countOptions{
			symmetry: string(queens.Mirror), depth: 2, anew: anew,
			runOptions: runOptions{workers: 1, kernel: "generic", server: serverOptions{nats: new(cli.Connection)}, flags: countCommand(&cli.App{}).Flags()},
		}
		o.data.path = data
		err := count(t.Context(), cli.New(&cobra.Command{}), 8, &o, &out)
		if anew && (err != nil || out.String() != "92\n") || !anew && (err == nil || !strings.Contains(err.Error(), run+" may be of the same count and can't be resumed: it was split by rules of version")) {
			t.Errorf("new: %v: it printed %q, error %v", anew, &out, err)
		}
	}
}
