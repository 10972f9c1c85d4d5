package ledger_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"nqueens/pkg/ledger"
	"nqueens/pkg/run"
	"nqueens/pkg/testkit"
)

func init() { children["copy"] = copyForever }

// copyTo writes a copy of a ledger to a file.
func copyTo(l *ledger.Ledger, path string) (ledger.Contents, error) {
	return ledger.CreateCopy(path, "source", l.Header().Run, func(w io.Writer) error {
		return l.WriteCopy(w, func(int64) error { return nil })
	})
}

// Copies of a ledger that is being written are its states at moments after the copies began,
// each whole: results, disputes, and position.
func TestCopiesWhileAccepting(t *testing.T) {
	l := create(t, t.TempDir(), manyTasks)
	const batches = 10         // written while a copy is made
	var accepted atomic.Uint64 // before each copy begins it has at least these
	path, begins, copied := filepath.Join(t.TempDir(), "copy"), make(chan struct{}), make(chan error, 1)
	go func() {
		var err error
		for round := 0; round < rounds(15, 50) && err == nil; round++ {
			begins <- struct{}{}
			least := accepted.Load()
			var c ledger.Contents
			if c, err = copyTo(l, path); err == nil {
				err = checkPrefix(path, least, &c)
			}
		}
		copied <- err
	}()
	rng := testkit.Rand(t)
	for {
		select {
		case <-begins:
		case err := <-copied:
			if err != nil {
				t.Fatal(err)
			}
			return
		}
		for range batches {
			batch := make([]run.Result, 1+rng.IntN(200))
			for i := range batch {
				task := l.Len() + uint64(i)
				batch[i] = result(task, task*task, 1)
			}
			accept(t, l, position(l.Len()+uint64(len(batch))), batch...)
			accepted.Store(l.Len())
		}
	}
}

// checkPrefix returns an error unless a copy has the results of the first tasks, at least so many,
// and their position.
func checkPrefix(path string, least uint64, c *ledger.Contents) error {
	l, err := ledger.OpenFile(path)
	if err != nil {
		return err
	}
	got, err := read(l)
	if err := errors.Join(err, l.Close()); err != nil {
		return err
	}
	if done := uint64(len(got.Results)); done < least || done != c.Done || got.Position != position(done) && done > 0 {
		return fmt.Errorf("the copy has %d results at %v, %d were reported; there were %d when it began", done, got.Position, c.Done, least)
	}
	for i, r := range got.Results {
		if task := uint64(i); r != result(task, task*task, 1) {
			return fmt.Errorf("task %d is %v", task, r)
		}
	}
	return nil
}

// A copy can be written to, and then differs from the original.
func TestCopyIsALedger(t *testing.T) {
	l := create(t, t.TempDir(), 100)
	accept(t, l, position(2), result(0, 5, 1), result(1, 7, 1))
	accept(t, l, position(3), result(1, 8, 2)) // a dispute
	folder := filepath.Join(t.TempDir(), "new", "folder")
	c, err := l.CopyTo(folder)
	if err != nil || c.Done != 2 || c.State != run.Running || c.Run != runName || c.Bytes != int64(len(fileBytes(t, folder))) {
		t.Fatalf("the copy has %+v, error %v", c, err)
	}
	if _, err := l.CopyTo(folder); !errors.Is(err, os.ErrExist) {
		t.Errorf("copied over a ledger: %v", err)
	}
	resumed := open(t, openWriter, folder)
	if got, want := contentsOf(t, resumed), contentsOf(t, l); !got.equal(want) {
		t.Fatalf("the copy has %v, want %v", got, want)
	}
	accept(t, resumed, position(9), result(50, 1, 1))
	if l.Has(50) {
		t.Error("the original has a result of the copy")
	}
	if names := listing(t, folder); !slices.Equal(names, []string{"holder.json", file}) {
		t.Errorf("the folder has %q", names)
	}
}

// If a copy fails, the file that had its name stays, and nothing else is left.
func TestFailedCopyLeavesTheOldOne(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "copy")
	l := create(t, t.TempDir(), 100)
	accept(t, l, position(1), result(0, 5, 1))
	var whole bytes.Buffer
	size := int64(-1)
	if err := l.WriteCopy(&whole, func(n int64) error { size = n; return nil }); err != nil || size != int64(whole.Len()) {
		t.Fatalf("%d bytes, announced as %d: %v", whole.Len(), size, err)
	}
	if _, err := copyTo(l, path); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	name := l.Header().Run
	put := func(data []byte, err error) func(io.Writer) error {
		return func(w io.Writer) error {
			_, failed := w.Write(data)
			return errors.Join(failed, err)
		}
	}
	damaged := bytes.Clone(whole.Bytes())
	damaged[bytes.LastIndex(damaged, []byte("generic"))] ^= 1
	for what, c := range map[string]struct {
		fill func(io.Writer) error
		name string
		want string
	}{
		"its source fails":     {put(whole.Bytes()[:8192], broken), name, "broken"},
		"it is short":          {put(whole.Bytes()[:whole.Len()-4096], nil), name, "damaged"},
		"it is empty":          {put(nil, nil), name, "damaged"},
		"it is damaged":        {put(damaged, nil), name, "damaged"},
		"it is of another run": {put(whole.Bytes(), nil), "another", "it is of run"},
	} {
		_, err := ledger.CreateCopy(path, "source", c.name, c.fill)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: error %v", what, err)
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, whole.Bytes()) {
			t.Errorf("%s: the old copy has changed: %v", what, err)
		}
		if names := listing(t, folder); !slices.Equal(names, []string{"copy"}) {
			t.Errorf("%s: the folder has %q", what, names)
		}
	}
}

// copyForever copies a ledger to the same file again and again, and prints a line after each
// time.
func copyForever(folder string) error {
	l, err := ledger.OpenReadOnly(filepath.Join(folder, "run"))
	if err != nil {
		return err
	}
	for {
		if _, err := copyTo(l, filepath.Join(folder, "copy")); err != nil {
			return err
		}
		fmt.Println("copied")
	}
}

// A process that is killed while it writes a copy leaves a whole one under the name: the last
// or the one before. The next process is not in the way of what it leaves.
func TestKilledWhileCopying(t *testing.T) {
	rng := testkit.Rand(t)
	folder := t.TempDir()
	l := create(t, filepath.Join(folder, "run"), manyTasks)
	acceptMany(t, l, rng, shuffledInWindow(rng, 20_000, 1000), 5000)
	want := contentsOf(t, l)
	closed(t, l)
	for round := range rounds(3, 10) {
		cmd, lines := started(t, "copy", folder)
		for range 1 + rng.IntN(5) {
			lines.Scan()
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it was killed
		got := open(t, ledger.OpenFile, filepath.Join(folder, "copy"))
		if !contentsOf(t, got).equal(want) {
			t.Fatalf("round %d: the copy has %d results, want %d, or others", round, got.Len(), len(want.Results))
		}
		closed(t, got)
	}
}

// gate lets nothing through until it is open.
type gate struct {
	arrived chan struct{}
	open    chan struct{}
	once    sync.Once
}

func (g *gate) Write(p []byte) (int, error) {
	g.once.Do(func() { close(g.arrived) })
	<-g.open
	return len(p), nil
}

// A copy whose reader has stopped does not hold up the ledger, even as it grows much.
func TestStalledCopyHoldsNothingUp(t *testing.T) {
	l := create(t, t.TempDir(), manyTasks)
	stalled := &gate{arrived: make(chan struct{}), open: make(chan struct{})}
	copied := make(chan error, 1)
	go func() { copied <- l.WriteCopy(stalled, func(int64) error { return nil }) }()
	<-stalled.arrived
	rng := testkit.Rand(t)
	acceptMany(t, l, rng, shuffledInWindow(rng, 10_000, 1000), 1000)
	close(stalled.open)
	if err := <-copied; err != nil {
		t.Error(err)
	}
}
