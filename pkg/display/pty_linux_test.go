package display

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"nqueens/pkg/cli/clitest"
)

// On a real terminal: the log is whole and in order, the display is drawn at most four
// times a second in the size that the terminal has, and nothing stays of it.
func TestTerminal(t *testing.T) {
	const writers, lines = 4, 200
	master, terminal := clitest.Terminal(t, 72, 20)
	e := newEmulator(t, 72, 20, true)
	shown := make(chan []byte)
	go func() {
		var all []byte
		buffer := make([]byte, 1<<16)
		for {
			n, err := master.Read(buffer)
			all = append(all, buffer[:n]...)
			if err != nil {
				if !errors.Is(err, syscall.EIO) { // the process's end was closed
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
				s.Elapsed = time.Since(begun)
				d.Show(s)
				logLine(t, d, fmt.Sprintf("writer %d line %d\n", w, i))
				time.Sleep(5 * time.Millisecond)
			}
		})
	}
	time.Sleep(800 * time.Millisecond)
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
	if drawn := strings.Count(string(all), "n = 20"); drawn == 0 || drawn > most {
		t.Errorf("the display is drawn %d times, at most %d", drawn, most)
	}
}

// What is no terminal gets the log and nothing else.
func TestNoTerminal(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	d := New(w, true)
	d.Show(*underWay())
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
