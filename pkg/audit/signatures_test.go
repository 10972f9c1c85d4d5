package audit

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"nqueens/pkg/identity"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

func newIdentity(t *testing.T) *identity.Identity {
	t.Helper()
	id, err := identity.New()
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// sign returns the results as one worker signed them, in chunks of up to three consecutive tasks.
func sign(t *testing.T, m *queens.Manifest, id *identity.Identity, results []run.Result) []run.Result {
	t.Helper()
	signed := slices.Clone(results)
	for i := 0; i < len(signed); {
		chunk := run.ChunkResult{
			Run: signed[i].Run, Manifest: m.Hash, Chunk: signed[i].Task + 1, First: signed[i].Task, Worker: signed[i].Worker, Counted: time.Unix(1, 2),
		}
		first := i
		for ; i < len(signed) && i < first+3 && signed[i].Task == chunk.First+uint64(i-first) && signed[i].Worker == chunk.Worker; i++ {
			r := &signed[i]
			chunk.Counts = append(chunk.Counts, run.TaskCount{Hash: r.Hash, Count: r.Count, Kernel: r.Kernel, Elapsed: r.Elapsed})
		}
		sealed := seal(t, id, &chunk)
		for j := range signed[first:i] {
			r := &signed[first+j]
			r.Key, r.Admitted, r.Sealed = sealed.Key, true, sealed
		}
	}
	return signed
}

// seal signs a chunk result.
func seal(t *testing.T, id *identity.Identity, chunk *run.ChunkResult) *run.Sealed {
	t.Helper()
	sealed := run.Sealed{Key: id.Key(), Statement: chunk.Statement()}
	var err error
	if sealed.Signature, err = id.Sign(sealed.Statement); err != nil {
		t.Fatal(err)
	}
	return &sealed
}

// What workers signed is checked in accepted results, confirmations and votes; the coordinator signs
// nothing.
func TestCheckSignatures(t *testing.T) {
	m, results := run7(t)
	l := newLedger(t, m, results)
	others := slices.Clone(results)
	for i := range others {
		others[i].Worker = "w2"
	}
	others[1].Count++
	own := results[1]
	own.Worker = run.Referee
	checked := results[2]
	checked.Worker = run.Checker
	batch := append(sign(t, &m, newIdentity(t), others), own, checked)
	if _, err := l.Accept(batch, 0, run.StreamPosition{Sequence: 1}); err != nil {
		t.Fatal(err)
	}
	got, err := CheckSignatures(t.Context(), l)
	// The accepted result of the task in dispute is one of its votes too.
	if want := (Signatures{Statements: l.Statements(), Signed: 2*m.Tasks + 1}); err != nil || got != want {
		t.Errorf("checked %+v (%v), want %+v", got, err, want)
	}
}

// A result that is not signed, or not so, is found and named.
func TestForgedResults(t *testing.T) {
	m, results := run7(t)
	id := newIdentity(t)
	otherManifest := m
	otherManifest.Hash[0]++
	for name, c := range map[string]struct {
		change func(all []run.Result)
		says   string
	}{
		"as signed":         {func([]run.Result) {}, ""},
		"not signed":        {func(all []run.Result) { all[1].Sealed = nil }, "the result of task 1 by w is not signed"},
		"another count":     {func(all []run.Result) { all[1].Count++ }, "the result of task 1 is not what its worker signed"},
		"another hash":      {func(all []run.Result) { all[1].Hash++ }, "the result of task 1 is not what its worker signed"},
		"another worker":    {func(all []run.Result) { all[1].Worker = "x" }, "the result of task 1 is not what its worker signed"},
		"another kernel":    {func(all []run.Result) { all[1].Kernel = "x" }, "the result of task 1 is not what its worker signed"},
		"another task":      {func(all []run.Result) { all[3].Sealed = all[0].Sealed }, "names statement 1, which has no such task"},
		"another manifest":  {func(all []run.Result) { copy(all, sign(t, &otherManifest, id, all)) }, "another manifest"},
		"a bit in the text": {func(all []run.Result) { all[0].Sealed.Statement[30] ^= 1 }, "signature"},
		"another key": {func(all []run.Result) {
			all[0].Sealed.Key = newIdentity(t).Key()
			for i := range all[:3] {
				all[i].Key = all[0].Sealed.Key
			}
		}, "signature"},
		"another run": {func(all []run.Result) {
			for i := range all {
				all[i].Run = "other"
			}
			copy(all, sign(t, &m, id, all))
		}, "it is of run other, not of r"},
	} {
		l := newLedger(t, m, nil)
		signed := sign(t, &m, id, results)
		c.change(signed)
		if _, err := l.Accept(signed, 0, run.StreamPosition{Sequence: 1}); err != nil {
			t.Fatal(name, err)
		}
		_, err := CheckSignatures(t.Context(), l)
		switch {
		case c.says == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.says != "" && (!errors.Is(err, run.ErrContradiction) || !strings.Contains(err.Error(), c.says)):
			t.Errorf("%s: the error is %v, want %q", name, err, c.says)
		}
	}
}

// There is no total until as many voters agree on each task as the run requires, or the
// coordinator has counted it.
func TestTotalWithRedundancy(t *testing.T) {
	m, results := run7(t)
	l := newLedgerOf(t, m, 2, results)
	others := sign(t, &m, newIdentity(t), results)
	if _, err := l.Accept(others[2:], 0, run.StreamPosition{Sequence: 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := Total(t.Context(), l, nil); !errors.Is(err, run.ErrIncomplete) || !strings.Contains(err.Error(), "fewer than 2 admitted keys agree on 2 tasks: on task 0, 1") {
		t.Errorf("the error is %v", err)
	}
	own := results[0]
	own.Worker = run.Referee
	if _, err := l.Accept([]run.Result{own, others[1]}, 0, run.StreamPosition{Sequence: 2}); err != nil {
		t.Fatal(err)
	}
	if _, err := Total(t.Context(), l, nil); !errors.Is(err, run.ErrIncomplete) {
		t.Errorf("with a count of the coordinator in the place of a key, the error is %v", err)
	}
	if err := l.SetAlone(own.Task); err != nil {
		t.Fatal(err)
	}
	if total, err := Total(t.Context(), l, nil); err != nil || total.Int64() != 40 {
		t.Errorf("the total is %v (%v)", total, err)
	}
}
