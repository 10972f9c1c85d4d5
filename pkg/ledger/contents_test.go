package ledger_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/testkit"
)

const (
	runName = "n12-20261120-153012-ab12"
	file    = "ledger.db"
)

// result returns a result whose worker is named after the attempt.
func result(task, count uint64, attempt uint32) run.Result {
	return run.Result{
		Run: runName, Task: task, Hash: task * 0x9E3779B97F4A7C15, Attempt: attempt, Count: count,
		Worker: fmt.Sprintf("worker-%d", attempt), Kernel: "generic", Elapsed: time.Duration(attempt) * time.Millisecond,
	}
}

// header returns the header of a run with so many tasks. Its manifest does not fit on one
// page of the file.
func header(tasks uint64) ledger.Header {
	m := queens.Manifest{SplitVersion: 3, N: 12, Symmetry: queens.Full, Tasks: tasks, Hash: [32]byte{1, 2, 3, 31: 4}}
	for i := range uint64(40) {
		board := queens.FullBoard(12)
		board.Allow[3] = uint32(i)
		m.Classes = append(m.Classes, queens.ClassPlan{
			Class: queens.Class{Board: board, Weight: 1 << (i % 4)}, Depth: 2, Batch: 16, First: i * tasks / 40,
		})
	}
	return ledger.Header{Run: runName, Created: time.Date(2026, 11, 20, 15, 30, 12, 345, time.UTC), Manifest: m, Trust: ledger.Trust{Redundancy: 1}}
}

// headerWith is header, for a run that checks its counts so.
func headerWith(tasks uint64, t ledger.Trust) ledger.Header {
	h := header(tasks)
	h.Trust = t
	return h
}

// position returns a position in a stream.
func position(sequence uint64) run.StreamPosition {
	return run.StreamPosition{Created: time.Date(2026, 11, 20, 15, 0, 0, 987654321, time.UTC), Sequence: sequence}
}

func create(t testing.TB, folder string, tasks uint64) *ledger.Ledger {
	t.Helper()
	return createWith(t, folder, header(tasks))
}

func createWith(t testing.TB, folder string, h ledger.Header) *ledger.Ledger {
	t.Helper()
	l, err := ledger.Create(folder, h)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closed(t, l) })
	return l
}

// openWriter opens a ledger for writing, as an opener without a context.
func openWriter(folder string) (*ledger.Ledger, error) {
	return ledger.Open(context.Background(), folder, nil)
}

func open(t testing.TB, how func(string) (*ledger.Ledger, error), folder string) *ledger.Ledger {
	t.Helper()
	l, err := how(folder)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closed(t, l) })
	return l
}

// rounds returns how often a random test repeats itself: few times, a quarter of that
// with -short, or all in a full run.
func rounds(few, all int) int {
	switch {
	case testkit.Full():
		return all
	case testing.Short():
		return max(1, few/4)
	}
	return few
}

func closed(t testing.TB, l *ledger.Ledger) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

func accept(t testing.TB, l *ledger.Ledger, to run.StreamPosition, batch ...run.Result) []ledger.Verdict {
	t.Helper()
	verdicts, err := l.Accept(batch, 0, to)
	if err != nil {
		t.Fatal(err)
	}
	return verdicts
}

// contents is everything that a ledger returns.
type contents struct {
	Header   ledger.Header
	Results  []run.Result
	Disputes []run.Dispute
	Refused  uint64
	Position run.StreamPosition
	State    run.State
}

// equal compares the largest parts without reflection, which is slow.
func (c contents) equal(other contents) bool {
	if !slices.Equal(c.Results, other.Results) || !slices.Equal(c.Header.Manifest.Classes, other.Header.Manifest.Classes) {
		return false
	}
	c.Results, c.Header.Manifest.Classes = other.Results, other.Header.Manifest.Classes
	return reflect.DeepEqual(c, other)
}

// read returns everything that a ledger returns.
func read(l *ledger.Ledger) (contents, error) {
	c := contents{Header: l.Header(), Disputes: slices.Clone(l.Disputes()), Refused: l.Rejected(), Position: l.Position(), State: l.State()}
	for r, err := range l.Range(0, math.MaxUint64) {
		if err != nil {
			return c, err
		}
		if !l.Has(r.Task) {
			return c, fmt.Errorf("task %d is in Range, and not there", r.Task)
		}
		c.Results = append(c.Results, r)
	}
	if l.Len() != uint64(len(c.Results)) {
		return c, fmt.Errorf("%d are accepted, Range has %d", l.Len(), len(c.Results))
	}
	return c, nil
}

// contentsOf returns everything that a ledger returns. It fails the test if Range and Result
// differ.
func contentsOf(t testing.TB, l *ledger.Ledger) contents {
	t.Helper()
	c, err := read(l)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range c.Results {
		if single, ok, err := l.Result(r.Task); single != r || !ok || err != nil {
			t.Errorf("task %d is %v in Range, and %v, %v, %v alone", r.Task, r, single, ok, err)
		}
	}
	return c
}

func fileBytes(t testing.TB, folder string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, file))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// listing returns the names of the files in a folder.
func listing(t testing.TB, folder string) []string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
