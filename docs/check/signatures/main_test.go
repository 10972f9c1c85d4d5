package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nqueens/pkg/audit"
	"nqueens/pkg/identity"
	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/split"
	"nqueens/pkg/symmetry"
)

// The program accepts the example of docs/ledger.md.
func TestExampleIsSigned(t *testing.T) {
	page, err := os.ReadFile("../../ledger.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(page), "\n```json\n")
	example, _, _ = strings.Cut(example, "```")
	if signed, own, least, err := check(strings.NewReader(example)); signed != 5 || own != 0 || least != 1 || err != nil {
		t.Errorf("of the example, %d counts are signed, %d the coordinator's, on each task agree %d (%v)", signed, own, least, err)
	}
}

// A program that knows only the page finds every forged line of an export: each field that is
// signed, the statement and the signature.
func TestAStrangerChecksAnExport(t *testing.T) {
	export := exportOfSeven(t, run.Complete)
	if signed, own, least, err := check(strings.NewReader(export)); signed != 7 || own != 1 || least != 1 || err != nil {
		t.Fatalf("%d counts are signed, %d the coordinator's, on each task agree %d (%v)", signed, own, least, err)
	}
	for _, change := range [][2]string{
		{`"count":"`, `"count":"1`}, {`"worker":"w"`, `"worker":"v"`}, {`"kernel":"k"`, `"kernel":"j"`}, {`"run":"r"`, `"run":"q"`},
		{`"task":0`, `"task":9`}, {`"hash":"`, `"hash":"0`}, {`"statement_id":1`, `"statement_id":2`}, {`"statement_id":1`, `"statementid":1`}, {`"key":"U`, `"key":"V`},
		{`"signature":"`, `"signature":"AAAA`}, {`"statement":"`, `"statement":"AAAA`}, {`"statement":"`, `"stetement":"`},
		{`"worker":"second"`, `"worker":"w"`}, {`"kernel":"other"`, `"kernel":"k"`},
	} {
		forged := strings.Replace(export, change[0], change[1], 1)
		if _, _, _, err := check(strings.NewReader(forged)); err == nil || forged == export {
			t.Errorf("%s instead of %s is accepted", change[1], change[0])
		}
	}
}

// The export of a run that has not ended tells nothing of what was confirmed.
func TestConfirmationsAreSecretBeforeTheEnd(t *testing.T) {
	for state, want := range map[run.State]int{run.Running: 0, run.Stopped: 0, run.Complete: 1, run.Cancelled: 1} {
		export := exportOfSeven(t, state)
		if _, _, least, err := check(strings.NewReader(export)); least != want || strings.Contains(export, `"worker":"second"`) != (want == 1) || err != nil {
			t.Errorf("the export of a run that is %s shows %d voters of each task, want %d (%v)", state, least, want, err)
		}
	}
}

// exportOfSeven returns the export of a run of n = 7 in a state that one worker has signed in chunks of two,
// but for the last task, which the coordinator counted. A second worker has counted all tasks too.
func exportOfSeven(t *testing.T, state run.State) string {
	t.Helper()
	classes, err := symmetry.Classes(7, queens.Mirror)
	if err != nil {
		t.Fatal(err)
	}
	m, err := split.Plan(t.Context(), 7, queens.Mirror, classes, 1)
	if err != nil {
		t.Fatal(err)
	}
	id, err := identity.New()
	if err != nil {
		t.Fatal(err)
	}
	l, err := ledger.Create(filepath.Join(t.TempDir(), "r"), ledger.Header{Run: "r", Created: time.Now(), Manifest: m, Trust: ledger.Trust{Redundancy: 1}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	chunk := run.ChunkResult{Run: "r", Manifest: m.Hash, Chunk: 1, Worker: "w", Counted: time.Unix(1, 2)}
	for task := range split.Tasks(&m) {
		chunk.Counts = append(chunk.Counts, run.TaskCount{Hash: task.Hash(), Count: task.ID + 10, Kernel: "k"})
		own := task.ID == m.Tasks-1
		if len(chunk.Counts) < 2 && task.ID+2 != m.Tasks && !own {
			continue
		}
		if own {
			chunk.Worker = run.Referee
		} else {
			chunk.Sealed = &run.Sealed{Key: id.Key(), Statement: chunk.Statement()}
			if chunk.Sealed.Signature, err = id.Sign(chunk.Sealed.Statement); err != nil {
				t.Fatal(err)
			}
		}
		var batch []run.Result
		for i := range chunk.Counts {
			r := chunk.Result(i, 1)
			r.Admitted = !own
			batch = append(batch, r)
		}
		if _, err := l.Accept(batch, 0, run.StreamPosition{Sequence: task.ID}); err != nil {
			t.Fatal(err)
		}
		chunk.First, chunk.Counts, chunk.Sealed = task.ID+1, nil, nil
	}
	second, err := identity.New()
	if err != nil {
		t.Fatal(err)
	}
	chunk = run.ChunkResult{Run: "r", Manifest: m.Hash, Chunk: 2, Worker: "second", Counted: time.Unix(1, 2)}
	for task := range split.Tasks(&m) {
		chunk.Counts = append(chunk.Counts, run.TaskCount{Hash: task.Hash(), Count: task.ID + 10, Kernel: "other"})
	}
	chunk.Sealed = &run.Sealed{Key: second.Key(), Statement: chunk.Statement()}
	if chunk.Sealed.Signature, err = second.Sign(chunk.Sealed.Statement); err != nil {
		t.Fatal(err)
	}
	var batch []run.Result
	for i := range chunk.Counts {
		r := chunk.Result(i, 1)
		r.Admitted = true
		batch = append(batch, r)
	}
	if _, err := l.Accept(batch, 0, run.StreamPosition{Sequence: m.Tasks}); err != nil {
		t.Fatal(err)
	}
	if err := l.SetState(state); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := audit.Export(t.Context(), l, &out, audit.JSONLines); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
