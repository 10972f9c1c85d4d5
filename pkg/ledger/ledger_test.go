package ledger_test

import (
	"bytes"
	"cmp"
	"errors"
	"maps"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"nqueens/pkg/ledger"
	"nqueens/pkg/run"
	"nqueens/pkg/testkit"
)

// A ledger returns what it was created with and what was stored in it, and nothing else:
// to the writer, to the next writer, and to readers.
func TestRoundTrip(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "runs", runName)
	want := contents{Header: headerWith(1000, ledger.Trust{Redundancy: 3, SpotCheck: run.SpotCheck{Share: 0.5}, Seed: [32]byte{1, 31: 7}}), State: run.Running}
	l := createWith(t, folder, want.Header)
	if got := contentsOf(t, l); !got.equal(want) {
		t.Errorf("new, it has\n%+v, want\n%+v", got, want)
	}
	zone := time.FixedZone("elsewhere", 3600)
	extreme := run.Result{
		Run: runName, Task: 999, Hash: math.MaxUint64, Attempt: math.MaxUint32, Count: math.MaxUint64,
		Worker: strings.Repeat("ü", 64), Kernel: "k", Elapsed: math.MaxInt64,
	}
	want.Results = []run.Result{result(0, 0, 1), result(7, 92, 2), extreme}
	want.Refused, want.Position, want.State = 2, position(math.MaxUint64), run.Complete
	position := run.StreamPosition{Created: position(0).Created.In(zone), Sequence: math.MaxUint64}
	if _, err := l.Accept([]run.Result{extreme, result(7, 92, 2), result(0, 0, 1)}, 2, position); err != nil {
		t.Fatal(err)
	}
	if err := l.SetState(run.Complete); err != nil {
		t.Fatal(err)
	}
	check := func(who string, l *ledger.Ledger) {
		if got := contentsOf(t, l); !got.equal(want) {
			t.Errorf("%s finds\n%+v, want\n%+v", who, got, want)
		}
		for _, task := range []uint64{1, 998, 1000, 1 << 20, math.MaxUint64} {
			if r, ok, err := l.Result(task); ok || err != nil || r != (run.Result{}) || l.Has(task) {
				t.Errorf("%s finds %v, %v, %v for task %d", who, r, ok, err, task)
			}
		}
		if len(l.Damaged()) != 0 {
			t.Errorf("%s finds tasks %d damaged", who, l.Damaged())
		}
	}
	check("the writer", l)
	closed(t, l)
	for range 2 {
		l = open(t, openWriter, folder)
		check("the next writer", l)
		closed(t, l)
	}
	check("a reader", open(t, ledger.OpenReadOnly, folder))
	check("another beside it", open(t, ledger.OpenReadOnly, folder))
}

// A task that the run does not have is the caller's mistake: nothing of the batch is
// stored, and the ledger stays usable.
func TestUnknownTask(t *testing.T) {
	l := create(t, t.TempDir(), 100)
	before := contentsOf(t, l)
	_, err := l.Accept([]run.Result{result(1, 1, 1), result(100, 1, 1)}, 1, position(9))
	if err == nil || !strings.Contains(err.Error(), "task 100") || errors.Is(err, run.ErrIncomplete) {
		t.Errorf("the error is %v", err)
	}
	if got := contentsOf(t, l); !got.equal(before) {
		t.Errorf("it has %+v", got)
	}
	accept(t, l, position(9), result(1, 1, 1))
}

// After any sequence of batches, and with the ledger closed and opened between them, it
// has what a plain map has.
func TestAgainstAModel(t *testing.T) {
	rng := testkit.Rand(t)
	for round := range rounds(4, 20) {
		folder := t.TempDir()
		l := create(t, folder, 5000)
		model := make(map[uint64]run.Result)
		for sequence := range uint64(12) {
			batch := make([]run.Result, rng.IntN(400))
			want := make([]ledger.Verdict, len(batch))
			for i := range batch {
				task := rng.Uint64N(5000)
				batch[i] = result(task, task*task, rng.Uint32N(100))
				if _, ok := model[task]; ok {
					want[i] = ledger.Duplicate
				} else {
					model[task] = batch[i]
				}
			}
			if got := accept(t, l, position(sequence), batch...); !slices.Equal(got, want) {
				t.Fatalf("round %d: verdicts %v, want %v", round, got, want)
			}
			clear(batch) // The ledger must not keep the batch.
			if rng.IntN(3) == 0 {
				closed(t, l)
				l = open(t, openWriter, folder)
			}
			if l.Position() != position(sequence) {
				t.Fatalf("round %d: it is at %v, want %v", round, l.Position(), position(sequence))
			}
		}
		want := slices.SortedFunc(maps.Values(model), func(a, b run.Result) int { return cmp.Compare(a.Task, b.Task) })
		if got := contentsOf(t, l); !slices.Equal(got.Results, want) {
			t.Errorf("round %d: it has %d results, want %d, or others", round, len(got.Results), len(want))
		}
		closed(t, l)
	}
}

// An empty batch at the same position writes nothing.
func TestNothingToAccept(t *testing.T) {
	folder := t.TempDir()
	l := create(t, folder, 10)
	accept(t, l, position(3), result(1, 1, 1))
	before := fileBytes(t, folder)
	accept(t, l, position(3))
	if err := l.SetState(run.Running); err != nil {
		t.Error(err)
	}
	if !bytes.Equal(fileBytes(t, folder), before) {
		t.Error("the file is another")
	}
	accept(t, l, position(4))
	closed(t, l)
	if got := open(t, ledger.OpenReadOnly, folder).Position(); got != position(4) {
		t.Errorf("it is at %v, want %v", got, position(4))
	}
}

// An iteration may stop after any result, and several may run at once. Meanwhile nothing
// can be written, and the ledger can't be closed.
func TestAllStops(t *testing.T) {
	l := create(t, t.TempDir(), 2000)
	var want []run.Result
	for task := range uint64(1000) {
		want = append(want, result(2*task, task, 1))
	}
	accept(t, l, position(1), want...)
	for _, limit := range []int{1, 2, 255, 256, 257, 999, 1000} {
		var got []run.Result
		for r, err := range l.Range(0, math.MaxUint64) {
			if err != nil {
				t.Fatal(err)
			}
			if got = append(got, r); len(got) == limit {
				break
			}
		}
		if !slices.Equal(got, want[:limit]) {
			t.Errorf("stopped after %d, got others", limit)
		}
	}
	inner := 0
	for _, err := range l.Range(0, math.MaxUint64) {
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range l.Range(0, math.MaxUint64) {
			if err == nil {
				inner++
			}
			break
		}
		_, acceptErr := l.Accept([]run.Result{result(1, 1, 1)}, 0, position(2))
		if acceptErr == nil || l.SetState(run.Stopped) == nil || l.Close() == nil {
			t.Fatal("written or closed while it is read")
		}
	}
	if inner != 1000 {
		t.Errorf("%d went through it within, want 1000", inner)
	}
	accept(t, l, position(2), result(1, 1, 1))
}

// A panic in the body of an iteration reaches the caller, and the ledger stays usable.
func TestPanicInRangeIsNotDamage(t *testing.T) {
	l := create(t, t.TempDir(), 10)
	accept(t, l, position(1), result(1, 1, 1))
	func() {
		defer func() {
			if p := recover(); p != "mine" {
				t.Errorf("the panic is %v", p)
			}
		}()
		for r, err := range l.Range(0, math.MaxUint64) {
			t.Log(r, err)
			panic("mine")
		}
	}()
	accept(t, l, position(2), result(2, 1, 1))
}

// OnCommit reports each transaction that is on disk, and no other.
func TestOnCommit(t *testing.T) {
	l := create(t, t.TempDir(), 10)
	commits := 0
	l.OnCommit(func(took time.Duration) {
		if took <= 0 {
			t.Errorf("a transaction took %v", took)
		}
		commits++
	})
	for i := range uint64(3) {
		if _, err := l.Accept([]run.Result{result(i, 1, 1)}, 0, position(i)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.Accept(nil, 0, l.Position()); err != nil { // nothing to write
		t.Fatal(err)
	}
	if _, err := l.Accept([]run.Result{result(10, 1, 1)}, 0, position(4)); err == nil {
		t.Error("a task that the run does not have is accepted")
	}
	if commits != 3 {
		t.Errorf("%d transactions, want 3", commits)
	}
}

// Goroutines that read ranges of a ledger at once, with a cursor and by key, all see what one of all tasks
// yields of them.
func TestReadRangesAtOnce(t *testing.T) {
	const tasks, readers = 3000, 4
	l := create(t, t.TempDir(), tasks)
	rng := rand.New(rand.NewPCG(1, 2))
	var batch []run.Result
	for task := range uint64(tasks) {
		if rng.IntN(10) > 0 {
			batch = append(batch, result(task, rng.Uint64(), 1))
		}
	}
	accept(t, l, position(1), batch...)
	var all []run.Result
	for r, err := range l.Range(0, math.MaxUint64) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	var group sync.WaitGroup
	for reader := range readers {
		group.Go(func() {
			rng := rand.New(rand.NewPCG(3, uint64(reader)))
			for range 50 {
				first := rng.Uint64N(tasks)
				end := first + rng.Uint64N(tasks)
				var got []run.Result
				for r, err := range l.Range(first, end) {
					if err != nil {
						t.Error(err)
					}
					got = append(got, r)
				}
				var want []run.Result
				for _, r := range all {
					if r.Task >= first && r.Task < end {
						want = append(want, r)
					}
				}
				if !slices.Equal(got, want) {
					t.Errorf("%d results from task %d to %d, want %d", len(got), first, end, len(want))
				}
				got, err := l.Results(first, make([]run.Result, 0, 5))
				want = want[:0]
				for task := first; len(want) < 5 && l.Has(task); task++ {
					i, _ := slices.BinarySearchFunc(all, task, func(r run.Result, task uint64) int { return int(r.Task) - int(task) })
					want = append(want, all[i])
				}
				if err != nil || !slices.Equal(got, want) {
					t.Errorf("results of task %d: %+v (error %v), want %+v", first, got, err, want)
				}
			}
		})
	}
	group.Wait()
}
