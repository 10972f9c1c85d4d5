//go:build unix

package main_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/cli/clitest"
	"nqueens/pkg/identity/identitytest"
	"nqueens/pkg/kernel"
	"nqueens/pkg/kernel/kerneltest"
	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/runstore"
	"nqueens/pkg/split"
	"nqueens/pkg/symmetry"
)

// verify goes on after a difference. It logs every difference, lists all of them in text, JSON and report, and
// exits with code 3, even if the total is the published one because the wrong counts cancel out.
func TestVerifyFindsEveryDifference(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	wrong := make(map[uint64]uint64) // the right count of a task
	lies := []uint64{2, ^uint64(0), ^uint64(0)}
	counter := kerneltest.NewCounter(t, kernel.Reference())
	createLedger(t, data, 8, 2, func(task *queens.Task) uint64 {
		n, err := counter.Count(t.Context(), &task.Board, task.Prefixes, new(atomic.Uint64))
		if err != nil {
			t.Fatal(err)
		}
		if n > 0 && len(wrong) < len(lies) {
			wrong[task.ID] = n
			n += lies[len(wrong)-1]
		}
		return n
	})
	verify := func(args ...string) clitest.Result {
		t.Helper()
		r := clitest.Run(t, nil, append([]string{"coordinator", "verify", "n8-", "--data", data, "--sample", "100%"}, args...)...)
		if r.Code != 3 {
			t.Fatalf("exit %d:\n%s%s", r.Code, r.Stdout, r.Stderr)
		}
		return r
	}
	r := verify("--json")
	var v struct {
		Verified                    bool
		Total                       *string
		Known                       string
		Tasks, Recounted, Differing uint64
		Differences                 []run.Difference
	}
	if err := json.Unmarshal([]byte(r.Stdout), &v); err != nil {
		t.Fatalf("%q: %v", r.Stdout, err)
	}
	if v.Verified || v.Total != nil || v.Known != "match" || v.Recounted != v.Tasks || v.Differing != 3 || len(v.Differences) != 3 {
		t.Errorf("found %+v", v)
	}
	for _, d := range v.Differences {
		if right, ok := wrong[d.Task]; !ok || d.Recount != right || d.Worker != "liar" || d.Key != identitytest.Of("liar").Key() {
			t.Errorf("a difference is %+v, the right counts are %v", d, wrong)
		}
		if !strings.Contains(r.Stderr, `"a recount differs: `+d.String()) {
			t.Errorf("the log does not say %q:\n%s", d.String(), r.Stderr)
		}
	}
	text := verify().Stdout
	for _, d := range v.Differences {
		if !strings.Contains(text, d.String()) {
			t.Errorf("the text does not say %q:\n%s", d.String(), text)
		}
	}
	if !strings.Contains(text, fmt.Sprintf("recounted: %d of %[1]d tasks, ", v.Tasks)) || !strings.Contains(text, ", 3 differ\n") {
		t.Errorf("the text is\n%s", text)
	}
}

// A verification that is interrupted after a difference exits with code 3 and lists what it has found.
func TestInterruptedVerifyTellsOfDifferences(t *testing.T) {
	long(t)
	data := t.TempDir()
	createLedger(t, data, 18, 0, func(*queens.Task) uint64 { return 1 })
	p := clitest.Start(t, nil, "coordinator", "verify", "n18-", "--data", data, "--sample", "100%", "--kernel", "generic", "--threads", "1", "--json")
	p.Await("(a recount differs)")
	p.Signal(syscall.SIGINT)
	out := p.ExpectExit(3)
	var v struct {
		Stopped                     bool
		Total                       *string
		Tasks, Recounted, Differing uint64
	}
	if err := json.Unmarshal([]byte(out), &v); err != nil || !v.Stopped || v.Total != nil || v.Differing == 0 || v.Recounted == v.Tasks {
		t.Errorf("it printed %q (error %v)", out, err)
	}
}

// createLedger creates a complete run in a folder, of which one worker has signed all counts.
func createLedger(t *testing.T, data string, n, depth int, count func(*queens.Task) uint64) {
	t.Helper()
	classes, err := symmetry.Classes(n, queens.None)
	if err != nil {
		t.Fatal(err)
	}
	m, err := split.Plan(t.Context(), n, queens.None, classes, depth)
	if err != nil {
		t.Fatal(err)
	}
	store, err := runstore.New(data, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	l, err := store.Create(m, ledger.Trust{Redundancy: 1}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	name := l.Header().Run
	var results []run.Result
	for task := range split.Tasks(&m) {
		chunk := identitytest.Seal(&run.ChunkResult{
			Run: name, Manifest: m.Hash, Chunk: task.ID + 1, First: task.ID, Worker: "liar", Counted: time.Unix(1, 0),
			Counts: []run.TaskCount{{Hash: task.Hash(), Count: count(&task), Kernel: "avx2", Elapsed: time.Second}},
		})
		results = append(results, chunk.Result(0, 1))
	}
	if _, err := l.Accept(results, 0, run.StreamPosition{Sequence: 1}); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}
