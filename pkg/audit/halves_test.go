package audit_test

import (
	"bytes"
	"errors"
	"math/big"
	"slices"
	"testing"
	"time"

	"nqueens/pkg/audit"
	"nqueens/pkg/count"
	"nqueens/pkg/kernel"
	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/split"
	"nqueens/pkg/testkit"
)

// countHalves counts n = 8 by the method halves.
func countHalves(t *testing.T) *counted {
	t.Helper()
	m, index, err := split.New(t.Context(),
		queens.Manifest{Method: queens.Halves, N: 8, Symmetry: queens.Full}, 0)
	if err != nil {
		t.Fatal(err)
	}
	h := ledger.Header{Format: ledger.Format, Run: "n8-halves", Manifest: m, Redundancy: 1,
		Created: at}
	c := &counted{header: h, index: index}
	for id, task := range index.All() {
		one, err := count.One(t.Context(), count.Kernels{Prefixes: kernel.Reference()}, &task)
		if err != nil {
			t.Fatal(err)
		}
		c.results = append(c.results, &ledger.Result{
			Machine: testkit.Machine("a"), Process: "p", Kernel: one.Kernel,
			Range:    queens.Range{First: id, Tasks: 1},
			Searched: time.Second, At: at, Counts: []uint64{one.Count},
			Hash: queens.HashOfRange([]uint64{task.Hash()}),
		})
	}
	return c
}

// A run by halves has its total, and each of its tasks is counted again by another kernel of
// halves, or by depth-first search. If all are counted by the other method, the total is redundant.
func TestVerifyHalves(t *testing.T) {
	run := countHalves(t)
	path := run.write(t, run.mark(queens.Complete, 92))
	if total, err := audit.Total(t.Context(), path); err != nil || total.Int64() != 92 {
		t.Fatalf("total %v, %v", total, err)
	}
	v, err := audit.Verify(t.Context(), path, sample)
	if err != nil || !v.Verified || v.Whole != "full" || v.Recounted != v.Tasks || v.By.Method != 0 {
		t.Errorf("%+v, %v", v, err)
	}
	other := sample
	other.Other = true
	v, err = audit.Verify(t.Context(), path, other)
	if err != nil || !v.Verified || v.Recounted != v.Tasks || v.By.Method != v.Tasks ||
		v.By.Checked != 0 {
		t.Errorf("%+v, %v", v, err)
	}
	if v.Kernels[0] != kernel.Available()[0].Name {
		t.Errorf("counted by %v", v.Kernels)
	}
	c := v.By
	if c.Level() != queens.Published {
		t.Errorf("level %s", c.Level())
	}
	c.Published = false
	if c.Level() != queens.Redundant {
		t.Errorf("without a published total: level %s", c.Level())
	}
	c.Method--
	if c.Level() != queens.Sampled {
		t.Errorf("without one task: level %s", c.Level())
	}
}

// A wrong count of row sets is found by the other method, and by nothing else where no total is
// published.
func TestWrongRowSets(t *testing.T) {
	run := countHalves(t)
	run.results[3].Counts[0]++
	other := sample
	other.Other = true
	v, err := audit.Verify(t.Context(), run.write(t), other)
	if !errors.Is(err, queens.ErrContradiction) || v.Verified || v.Differing != 1 ||
		v.Differences[0].Task != 3 || v.Confirmed != nil {
		t.Errorf("%+v, %v", v, err)
	}
}

// A ledger by halves is a contradiction if its weight, its row sets or its method were changed.
func TestForeignHalves(t *testing.T) {
	for name, change := range map[string]func(c *counted){
		"another hash":   func(c *counted) { c.header.Manifest.Hash[0]++ },
		"another result": func(c *counted) { c.results[2].Hash++ },
		"other row sets": func(c *counted) { c.header.Manifest.Classes[0].Batch++ },
		"exchanged tasks": func(c *counted) {
			c.results[0].Hash, c.results[1].Hash = c.results[1].Hash, c.results[0].Hash
		},
	} {
		c := countHalves(t)
		change(c)
		if total, err := audit.Total(t.Context(), c.write(t)); !errors.Is(err, queens.ErrContradiction) ||
			total != nil {
			t.Errorf("%s: total %v, %v", name, total, err)
		}
	}
}

// Tasks of prefixes have no other method.
func TestNoOtherMethod(t *testing.T) {
	run := countRun(t, queens.Full)
	other := sample
	other.Other = true
	v, err := audit.Verify(t.Context(), run.write(t, run.mark(queens.Complete, 92)), other)
	if !errors.Is(err, audit.ErrOneMethod) || v.Total != nil || v.Run != "" {
		t.Errorf("%+v, %v", v, err)
	}
}

// An export of a run by halves has a line for each task, whose counts add up to the total.
func TestExportHalves(t *testing.T) {
	run := countHalves(t)
	var out, again bytes.Buffer
	if err := audit.Export(t.Context(), run.write(t), &out); err != nil {
		t.Fatal(err)
	}
	if err := count.RecountLines(t.Context(), &out, &again,
		count.Kernels{Prefixes: kernel.Reference()}, 1); err != nil {
		t.Error(err)
	}
	if agreed := bytes.Count(again.Bytes(), []byte(`"agrees":true`)); agreed != len(run.results) {
		t.Errorf("%d lines of %d agree", agreed, len(run.results))
	}
	total := new(big.Int)
	for _, r := range run.results {
		total.Add(total, new(big.Int).SetUint64(r.Counts[0]))
	}
	if total.Int64() != 92 {
		t.Errorf("the counts add up to %v", total)
	}
}

// Two kernels of one method are one search, so a verdict needs the same recount by both methods.
func TestVerdictOfHalves(t *testing.T) {
	const plain = queens.HalvesPrefix + "generic"
	run := countHalves(t)
	wrong := []ledger.Record{run.wrong(), run.recount("avx2", 5), run.recount("generic", 5)}
	right := slices.Concat(wrong, []ledger.Record{run.recount(plain, 0), run.recount("avx512", 0)})
	for i, r := range right[1:] {
		r.(*ledger.Recount).Machine = string(rune('p' + i))
	}
	if _, err := audit.Total(t.Context(), run.write(t, wrong...)); !errors.Is(err,
		queens.ErrIncomplete) {
		t.Errorf("two recounts by one method that equal no count: %v", err)
	}
	if total, err := audit.Total(t.Context(), run.write(t, right...)); err != nil ||
		total.Int64() != 92 {
		t.Errorf("the same recount by both methods: total %v, %v", total, err)
	}
}
