package display

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"nqueens/pkg/cli/clitest"
	"nqueens/pkg/testkit"
)

// On a real terminal, the log is complete and in order. The display is drawn at most four times per
// second, in the size of the terminal, and no part of it remains at the end.
func TestRealTerminal(t *testing.T) {
	const writers, lines = 4, 200
	master, terminal := clitest.Terminal(t, 72, 20)
	e := newEmulator(t, 72, 20, true)
	shown := make(chan []byte)
	var drawings atomic.Int64
	go func() {
		var all []byte
		buffer := make([]byte, 1<<16)
		for {
			n, err := master.Read(buffer)
			all = append(all, buffer[:n]...)
			drawings.Store(int64(bytes.Count(all, []byte("n = 20"))))
			if err != nil {
				if !errors.Is(err, syscall.EIO) { // the other end was closed
					t.Error(err)
				}
				shown <- all
				return
			}
		}
	}()
	d := New(terminal, true)
	var ended sync.WaitGroup
	begun := time.Now()
	for w := range writers {
		ended.Go(func() {
			for i := range lines {
				s := *underWay()
				s.Elapsed.Duration = time.Since(begun)
				d.Show(&s)
				logLine(t, d, fmt.Sprintf("writer %d line %d\n", w, i))
				time.Sleep(5 * time.Millisecond)
			}
		})
	}
	testkit.Eventually(t, "three drawings", func() bool {
		s := *underWay()
		s.Elapsed.Duration = time.Since(begun) // something to draw also when all lines are written
		d.Show(&s)
		return drawings.Load() >= 3
	})
	d.Close()
	most := int(time.Since(begun)/drawInterval) + 1
	ended.Wait()
	if err := terminal.Close(); err != nil {
		t.Error(err)
	}
	all := <-shown
	if _, err := e.Write(all); err != nil {
		t.Fatal(err)
	}
	wantLog(t, e, writers, lines)
	if e.x != 0 || e.rows[e.y].text != nil {
		t.Errorf("the cursor is left in column %d of %q", e.x, string(e.rows[e.y].text))
	}
	if drawn := int(drawings.Load()); drawn > most {
		t.Errorf("%d drawings, want at most %d", drawn, most)
	}
}

// A file that is not a terminal gets only the log.
func TestNoTerminalGetsOnlyTheLog(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	d := New(w, true)
	d.Show(underWay())
	logLine(t, d, "line\n")
	d.Close()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 100)
	if n, err := r.Read(got); err != nil || string(got[:n]) != "line\n" {
		t.Errorf("%q, %v", got[:n], err)
	}
}

// A process that is continued knows it once.
func TestSuspensions(t *testing.T) {
	was := suspensions()
	if was() {
		t.Error("suspended at the start")
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "the signal", was)
	if was() {
		t.Error("suspended twice")
	}
}
