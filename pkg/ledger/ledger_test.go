package ledger_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
)

const (
	run  = "n12-20261120-153012-ab12"
	file = "ledger.db"
)

// result is one of attempt a, told from others by its worker.
func result(task, count uint64, attempt uint32) queens.Result {
	return queens.Result{
		Run: run, Task: task, Hash: task * 0x9E3779B97F4A7C15, Attempt: attempt, Count: count,
		Worker: fmt.Sprintf("worker-%d", attempt), Kernel: "generic", Elapsed: time.Duration(attempt) * time.Millisecond,
	}
}

// header is of a run with the given number of tasks; its manifest does not fit on a
// page of the file.
func header(tasks uint64) ledger.Header {
	m := queens.Manifest{Splitter: 3, N: 12, Symmetry: queens.Full, Tasks: tasks, Hash: [32]byte{1, 2, 3, 31: 4}}
	for i := range uint64(40) {
		board := queens.FullBoard(12)
		board.Allow[3] = uint32(i)
		m.Classes = append(m.Classes, queens.ClassPlan{
			Class: queens.Class{Board: board, K: int(i%4) + 1}, Depth: 2, Batch: 16, First: i * tasks / 40,
		})
	}
	return ledger.Header{Run: run, Created: time.Date(2026, 11, 20, 15, 30, 12, 345, time.UTC), Manifest: m}
}

// at is a position in a stream.
func at(sequence uint64) queens.Position {
	return queens.Position{Stream: time.Date(2026, 11, 20, 15, 0, 0, 987654321, time.UTC), Sequence: sequence}
}

func create(t testing.TB, folder string, tasks uint64) *ledger.Ledger {
	t.Helper()
	l, err := ledger.Create(folder, header(tasks))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closed(t, l) })
	return l
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

func closed(t testing.TB, l *ledger.Ledger) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

func accept(t testing.TB, l *ledger.Ledger, to queens.Position, batch ...queens.Result) []ledger.Verdict {
	t.Helper()
	verdicts, err := l.Accept(batch, nil, to)
	if err != nil {
		t.Fatal(err)
	}
	return verdicts
}

// contents is all that a ledger says.
type contents struct {
	Header   ledger.Header
	Results  []queens.Result
	Disputes []ledger.Dispute
	Evidence []ledger.Refusal
	Refused  uint64
	Position queens.Position
	State    queens.State
}

// equal compares what matters most without reflection, which takes its time.
func (c contents) equal(other contents) bool {
	if !slices.Equal(c.Results, other.Results) || !slices.Equal(c.Header.Manifest.Classes, other.Header.Manifest.Classes) {
		return false
	}
	c.Results, c.Header.Manifest.Classes = other.Results, other.Header.Manifest.Classes
	return reflect.DeepEqual(c, other)
}

// read returns all that a ledger says.
func read(l *ledger.Ledger) (contents, error) {
	c := contents{Header: l.Header(), Disputes: slices.Clone(l.Disputes()), Refused: l.Refused(), Position: l.Position(), State: l.State()}
	for r, err := range l.All() {
		if err != nil {
			return c, err
		}
		if !l.Has(r.Task) {
			return c, fmt.Errorf("task %d is in All, and not there", r.Task)
		}
		c.Results = append(c.Results, r)
	}
	if l.Len() != uint64(len(c.Results)) {
		return c, fmt.Errorf("%d are accepted, All has %d", l.Len(), len(c.Results))
	}
	var err error
	c.Evidence, err = l.Evidence()
	return c, err
}

// contentsOf returns all that a ledger says, having held All to what is said of single
// tasks.
func contentsOf(t testing.TB, l *ledger.Ledger) contents {
	t.Helper()
	c, err := read(l)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range c.Results {
		if single, ok, err := l.Result(r.Task); single != r || !ok || err != nil {
			t.Errorf("task %d is %v in All, and %v, %v, %v alone", r.Task, r, single, ok, err)
		}
	}
	return c
}

// A ledger says what it was made with, what was entered into it, and nothing else: the
// one that entered it, the next writer, and a reader.
func TestRoundTrip(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "runs", run)
	l := create(t, folder, 1000)
	want := contents{Header: header(1000), State: queens.Running}
	if got := contentsOf(t, l); !got.equal(want) {
		t.Errorf("new, it has\n%+v, want\n%+v", got, want)
	}
	zone := time.FixedZone("elsewhere", 3600)
	extreme := queens.Result{
		Run: run, Task: 999, Hash: math.MaxUint64, Attempt: math.MaxUint32, Count: math.MaxUint64,
		Worker: strings.Repeat("ü", 64), Kernel: "k\x00\xff", Elapsed: math.MaxInt64,
	}
	want.Results = []queens.Result{result(0, 0, 1), result(7, 92, 2), extreme}
	want.Evidence = []ledger.Refusal{
		{Result: result(math.MaxUint64, math.MaxUint64, 9), Reason: "the run has no such task"},
		{Reason: "it is empty"},
	}
	want.Refused, want.Position, want.State = 2, at(math.MaxUint64), queens.Complete
	position := queens.Position{Stream: at(0).Stream.In(zone), Sequence: math.MaxUint64}
	if _, err := l.Accept([]queens.Result{extreme, result(7, 92, 2), result(0, 0, 1)}, want.Evidence, position); err != nil {
		t.Fatal(err)
	}
	if err := l.SetState(queens.Complete); err != nil {
		t.Fatal(err)
	}
	check := func(who string, l *ledger.Ledger) {
		if got := contentsOf(t, l); !got.equal(want) {
			t.Errorf("%s finds\n%+v, want\n%+v", who, got, want)
		}
		for _, task := range []uint64{1, 998, 1000, 1 << 20, math.MaxUint64} {
			if r, ok, err := l.Result(task); ok || err != nil || r != (queens.Result{}) || l.Has(task) {
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
		l = open(t, ledger.Open, folder)
		check("the next writer", l)
		closed(t, l)
	}
	check("a reader", open(t, ledger.View, folder))
	check("another beside it", open(t, ledger.View, folder))
}

// The first result of a task is accepted and stays; the same count again is a
// duplicate and leaves no trace. So it is from batch to batch and within one.
func TestAccept(t *testing.T) {
	l := create(t, t.TempDir(), 100)
	for i, c := range []struct {
		batch []queens.Result
		want  []ledger.Verdict
	}{
		{nil, []ledger.Verdict{}},
		{[]queens.Result{result(5, 10, 2), result(99, 7, 1), result(5, 10, 1)}, []ledger.Verdict{ledger.Accepted, ledger.Accepted, ledger.Duplicate}},
		{[]queens.Result{result(5, 10, 1), result(5, 10, 2), result(0, 0, 3)}, []ledger.Verdict{ledger.Duplicate, ledger.Duplicate, ledger.Accepted}},
		{[]queens.Result{result(0, 0, 4)}, []ledger.Verdict{ledger.Duplicate}},
	} {
		if got := accept(t, l, at(uint64(i)), c.batch...); !slices.Equal(got, c.want) {
			t.Errorf("batch %d: verdicts %v, want %v", i, got, c.want)
		}
	}
	got := contentsOf(t, l)
	if want := []queens.Result{result(0, 0, 3), result(5, 10, 2), result(99, 7, 1)}; !slices.Equal(got.Results, want) || len(got.Disputes) != 0 {
		t.Errorf("accepted are %v, want %v; disputes are %v", got.Results, want, got.Disputes)
	}
}

// A task that the run does not have is the caller's mistake: nothing of the batch is
// entered, and the ledger goes on.
func TestUnknownTask(t *testing.T) {
	l := create(t, t.TempDir(), 100)
	before := contentsOf(t, l)
	_, err := l.Accept([]queens.Result{result(1, 1, 1), result(100, 1, 1)}, []ledger.Refusal{{Reason: "x"}}, at(9))
	if err == nil || !strings.Contains(err.Error(), "task 100") || errors.Is(err, queens.ErrIncomplete) {
		t.Errorf("the error is %v", err)
	}
	if got := contentsOf(t, l); !got.equal(before) {
		t.Errorf("it has %+v", got)
	}
	accept(t, l, at(9), result(1, 1, 1))
}

// Through any sequence of batches, with the ledger closed and opened between them, it
// says what a plain map says.
func TestAgainstAModel(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 0))
		folder := t.TempDir()
		l := create(t, folder, 5000)
		model := make(map[uint64]queens.Result)
		for sequence := range uint64(12) {
			batch := make([]queens.Result, rng.IntN(400))
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
			if got := accept(t, l, at(sequence), batch...); !slices.Equal(got, want) {
				t.Fatalf("seed %d: verdicts %v, want %v", seed, got, want)
			}
			clear(batch) // The ledger keeps results, not the batch.
			if rng.IntN(3) == 0 {
				closed(t, l)
				l = open(t, ledger.Open, folder)
			}
			if l.Position() != at(sequence) {
				t.Fatalf("seed %d: it is at %v, want %v", seed, l.Position(), at(sequence))
			}
		}
		want := slices.SortedFunc(maps.Values(model), func(a, b queens.Result) int { return cmp.Compare(a.Task, b.Task) })
		if got := contentsOf(t, l); !slices.Equal(got.Results, want) {
			t.Errorf("seed %d: it has %d results, want %d, or others", seed, len(got.Results), len(want))
		}
		closed(t, l)
	}
}

// A batch of nothing that leads nowhere writes nothing.
func TestNothingToAccept(t *testing.T) {
	folder := t.TempDir()
	l := create(t, folder, 10)
	accept(t, l, at(3), result(1, 1, 1))
	before := fileBytes(t, folder)
	accept(t, l, at(3))
	if err := l.SetState(queens.Running); err != nil {
		t.Error(err)
	}
	if !bytes.Equal(fileBytes(t, folder), before) {
		t.Error("the file is another")
	}
	accept(t, l, at(4))
	closed(t, l)
	if got := open(t, ledger.View, folder).Position(); got != at(4) {
		t.Errorf("it is at %v, want %v", got, at(4))
	}
}

// Refused results are all counted; the first 10000 are kept.
func TestEvidenceIsBounded(t *testing.T) {
	const bound = 10_000
	folder := t.TempDir()
	l := create(t, folder, 10)
	refused := make([]ledger.Refusal, bound-1)
	for i := range refused {
		refused[i] = ledger.Refusal{Result: result(uint64(i), 1, 1), Reason: "no such task"}
	}
	last := []ledger.Refusal{{Reason: "the last kept"}, {Reason: "one too many"}}
	for i, part := range [][]ledger.Refusal{refused, last, last} {
		if _, err := l.Accept(nil, part, at(uint64(i))); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		kept, err := l.Evidence()
		if err != nil || len(kept) != bound || !slices.Equal(kept, append(slices.Clone(refused), last[0])) {
			t.Errorf("%d are kept (error %v), want the first %d", len(kept), err, bound)
		}
		if l.Refused() != bound+3 {
			t.Errorf("%d were refused, want %d", l.Refused(), bound+3)
		}
		closed(t, l)
		l = open(t, ledger.View, folder)
	}
}

// A consumer of the results may stop after any of them, and several may go through
// them at once. Nothing is written, and the ledger not closed, meanwhile.
func TestAllStops(t *testing.T) {
	l := create(t, t.TempDir(), 2000)
	var want []queens.Result
	for task := range uint64(1000) {
		want = append(want, result(2*task, task, 1))
	}
	accept(t, l, at(1), want...)
	for _, limit := range []int{1, 2, 255, 256, 257, 999, 1000} {
		var got []queens.Result
		for r, err := range l.All() {
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
	for range l.All() {
		for range l.All() {
			inner++
			break
		}
		_, acceptErr := l.Accept([]queens.Result{result(1, 1, 1)}, nil, at(2))
		if acceptErr == nil || l.SetState(queens.Stopped) == nil || l.Close() == nil {
			t.Fatal("written or closed while it is read")
		}
	}
	if inner != 1000 {
		t.Errorf("%d went through it within, want 1000", inner)
	}
	accept(t, l, at(2), result(1, 1, 1))
}

// A panic of who goes through the results is that of the caller, and leaves the ledger
// as it was.
func TestPanicInAllIsNotDamage(t *testing.T) {
	l := create(t, t.TempDir(), 10)
	accept(t, l, at(1), result(1, 1, 1))
	func() {
		defer func() {
			if p := recover(); p != "mine" {
				t.Errorf("the panic is %v", p)
			}
		}()
		for range l.All() {
			panic("mine")
		}
	}()
	accept(t, l, at(2), result(2, 1, 1))
}

// A reader enters nothing, and changes no file.
func TestViewWritesNothing(t *testing.T) {
	folder := t.TempDir()
	l := create(t, folder, 10)
	accept(t, l, at(1), result(1, 1, 1))
	closed(t, l)
	names, before := listing(t, folder), fileBytes(t, folder)
	l = open(t, ledger.View, folder)
	if _, err := l.Accept([]queens.Result{result(2, 1, 1)}, nil, at(2)); err == nil || errors.Is(err, queens.ErrIncomplete) {
		t.Errorf("it accepts: %v", err)
	}
	if err := l.SetState(queens.Complete); err == nil {
		t.Error("it takes a state")
	}
	if got := contentsOf(t, l); len(got.Results) != 1 || got.State != queens.Running {
		t.Errorf("it has %+v", got)
	}
	closed(t, l)
	if !slices.Equal(listing(t, folder), names) || !bytes.Equal(fileBytes(t, folder), before) {
		t.Errorf("there were %v, there are %v", names, listing(t, folder))
	}
}

// A ledger is made once, for its owner alone; one that can't be made leaves nothing;
// one that is not there can't be opened.
func TestCreate(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "a", "b")
	for _, how := range []func(string) (*ledger.Ledger, error){ledger.Open, ledger.View} {
		if _, err := how(folder); !errors.Is(err, fs.ErrNotExist) || errors.Is(err, queens.ErrIncomplete) {
			t.Errorf("with no ledger the error is %v", err)
		}
	}
	for _, spoil := range []func(*ledger.Header){
		func(h *ledger.Header) { h.Run = "Not A Run" },
		func(h *ledger.Header) { h.Manifest.N = 0 },
		func(h *ledger.Header) { h.Manifest.Tasks = 1<<32 + 1 },
	} {
		h := header(10)
		spoil(&h)
		if _, err := ledger.Create(folder, h); err == nil {
			t.Errorf("a ledger of run %q with %d tasks is made", h.Run, h.Manifest.Tasks)
		}
	}
	if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a ledger that can't be made leaves a folder: %v", err)
	}
	l := create(t, folder, 10)
	accept(t, l, at(1), result(1, 1, 1))
	if _, err := ledger.Create(folder, header(10)); !errors.Is(err, fs.ErrExist) {
		t.Errorf("beside a ledger in use, the error is %v", err)
	}
	closed(t, l)
	if _, err := ledger.Create(folder, header(10)); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over a ledger, the error is %v", err)
	}
	if got := listing(t, folder); !slices.Equal(got, []string{file}) {
		t.Errorf("there are %v", got)
	}
	for path, want := range map[string]fs.FileMode{folder: 0o700, filepath.Join(folder, file): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has %v (%v), want %v", path, info.Mode(), err, want)
		}
	}
	if got := open(t, ledger.View, folder); got.Len() != 1 {
		t.Errorf("it has %d results, want 1", got.Len())
	}
}

// What is left of a ledger that was never finished is no ledger, and in nobody's way.
func TestUnfinishedIsNotThere(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, file+".new"), make([]byte, 100_000), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ledger.Open(folder); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the error is %v", err)
	}
	create(t, folder, 10)
}

// After Close nothing can be asked of the file, and closing again is nothing.
func TestClosed(t *testing.T) {
	l := create(t, t.TempDir(), 10)
	accept(t, l, at(1), result(1, 1, 1))
	closed(t, l)
	closed(t, l)
	_, acceptErr := l.Accept(nil, nil, at(1))
	_, _, resultErr := l.Result(1)
	_, _, otherErr := l.Result(2)
	_, evidenceErr := l.Evidence()
	for what, err := range map[string]error{
		"Accept": acceptErr, "SetState": l.SetState(queens.Running), "Result": resultErr,
		"Result of another": otherErr, "Evidence": evidenceErr,
	} {
		if err == nil {
			t.Errorf("%s gives no error", what)
		}
	}
	for r, err := range l.All() {
		if err == nil {
			t.Errorf("All gives %v", r)
		}
	}
	if !l.Has(1) || l.Len() != 1 {
		t.Error("what is held in memory is gone")
	}
}

func fileBytes(t testing.TB, folder string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, file))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// listing returns the names of a folder's files.
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
