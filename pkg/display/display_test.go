package display

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"nqueens/pkg/queens"
)

// drawings is a terminal that records the time of each write and delays one of them.
type drawings struct {
	slow int // the number of the delayed write, from 1

	mu sync.Mutex
	at []time.Time
}

func (d *drawings) Write(b []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.at = append(d.at, time.Now())
	if len(d.at) == d.slow {
		time.Sleep(drawInterval * 3 / 2)
	}
	return len(b), nil
}

// times returns the times of the writes.
func (d *drawings) times() []time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.at)
}

// logLine writes a line and checks that it is written as a whole.
func logLine(t *testing.T, out io.Writer, line string) {
	t.Helper()
	if n, err := out.Write([]byte(line)); err != nil || n != len(line) {
		t.Errorf("wrote %d of %d bytes of a line: %v", n, len(line), err)
	}
}

func usualSize() (width, height int) { return 80, 24 }

// The display draws at most four times per second, however often there is something new.
func TestDrawsFourTimesPerSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &drawings{slow: 5}
		d := start(&screen{out: out, isForeground: always, wasSuspended: never, size: usualSize})
		const seconds = 10
		s := *underWay()
		for i := range seconds * 100 {
			c := s
			c.Elapsed.Duration, c.Waits = time.Duration(i)*time.Second,
				&queens.Wait{Reason: queens.NoWork, Why: fmt.Sprint(i)}
			d.Show(&c)
			logLine(t, d, fmt.Sprintf("line %d\n", i))
			time.Sleep(10 * time.Millisecond)
		}
		at := out.times()
		if len(at) < seconds*4-3 || len(at) > seconds*4 {
			t.Errorf("%d drawings in %d s", len(at), seconds)
		}
		for i := 1; i < len(at); i++ {
			if pause := at[i].Sub(at[i-1]); pause < 250*time.Millisecond {
				t.Errorf("drawing %d comes %v after the previous one", i, pause)
			}
		}
		d.Close()
	})
}

// After a change of the terminal's size the snapshot is drawn again. Before the first snapshot
// nothing is drawn.
func TestResizingRedraws(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		width := 80
		resize := func(to int) {
			mu.Lock()
			defer mu.Unlock()
			width = to
		}
		out := new(drawings)
		d := start(&screen{out: out, isForeground: always, wasSuspended: never, size: func() (int, int) {
			mu.Lock()
			defer mu.Unlock()
			return width, 24
		}})
		defer d.Close()
		resize(60)
		time.Sleep(time.Minute)
		if drawn := len(out.times()); drawn != 0 {
			t.Errorf("%d drawings before the first snapshot", drawn)
		}
		d.Show(underWay())
		time.Sleep(time.Minute)
		resize(40)
		time.Sleep(time.Minute)
		if drawn := len(out.times()); drawn != 2 {
			t.Errorf("%d drawings of a snapshot on a terminal that was resized once, want 2", drawn)
		}
	})
}

// While a person drags the edge of a window, no part of an old display remains on the screen, even
// if the terminal rewraps its lines, and reports its size late, as tmux does.
func TestDraggingLeavesOneDisplay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEmulator(t, 120, 40, true)
		out := &lockedWriter{w: e}
		var told atomic.Int64
		told.Store(120)
		d := start(&screen{out: out, isForeground: always, wasSuspended: never, reflows: true,
			size: func() (int, int) {
				return int(told.Load()), 40
			}})
		p := *underWay()
		show := func(lasts time.Duration) {
			for range lasts / (50 * time.Millisecond) {
				p.Elapsed.Duration += time.Second // something new in every drawing
				c := p
				d.Show(&c)
				time.Sleep(50 * time.Millisecond)
			}
		}
		for i := range 20 {
			logLine(t, d, fmt.Sprintf("line %d\n", i))
		}
		show(time.Second)
		for i, width := range []int{110, 97, 81, 70, 52, 45, 40, 44, 60, 41} {
			out.mu.Lock()
			e.resize(width)
			out.mu.Unlock()
			if i > 0 {
				show(200 * time.Millisecond)
			}
			told.Store(int64(width))
			logLine(t, d, "resized\n")
			show(50 * time.Millisecond)
		}
		show(2 * time.Second)
		out.mu.Lock()
		shown := strings.Join(e.lines(), "\n")
		out.mu.Unlock()
		for text, want := range map[string]int{"n = 20": 1, "4 workers on": 1, "line ": 20,
			"resized": 10} {
			if strings.Count(shown, text) != want {
				t.Errorf("the terminal does not show %q %d times:\n%s", text, want, shown)
			}
		}
		d.Close()
		if left := strings.Join(e.lines(), "\n"); strings.Contains(left, "n = 20") {
			t.Errorf("after the end the terminal shows\n%s", left)
		}
	})
}

// The log is complete and in order, also while the display is being closed. No part of the display
// remains.
func TestLogIsCompleteAroundClose(t *testing.T) {
	const writers, lines = 8, 300
	e := newEmulator(t, 80, 24, true)
	out := &lockedWriter{w: e}
	d := start(&screen{out: out, isForeground: always, wasSuspended: never, size: usualSize,
		reflows: true})
	var started, ended sync.WaitGroup
	for w := range writers {
		started.Add(1)
		ended.Go(func() {
			started.Done()
			for i := range lines {
				d.Show(underWay())
				logLine(t, d, fmt.Sprintf("writer %d line %d\n", w, i))
				time.Sleep(time.Duration(w) * 100 * time.Microsecond)
			}
		})
	}
	started.Wait()
	logLine(t, d, "another line\n")
	time.Sleep(drawInterval + drawInterval/2)
	d.Close()
	d.Close()
	ended.Wait()
	out.mu.Lock()
	defer out.mu.Unlock()
	wantLog(t, e, writers, lines, "another line")
}

// wantLog checks that a terminal shows all lines of each writer, in order, and the other lines, and
// nothing else.
func wantLog(t *testing.T, e *emulator, writers, lines int, others ...string) {
	t.Helper()
	next := make([]int, writers)
	rest := strings.Join(others, "\n")
	for _, got := range e.lines() {
		var w, i int
		if _, err := fmt.Sscanf(got, "writer %d line %d", &w, &i); err != nil {
			if !strings.Contains(rest, got) {
				t.Errorf("the terminal shows %q", got)
			}
			rest = strings.Replace(rest, got, "", 1)
			continue
		}
		if i != next[w] {
			t.Fatalf("writer %d: got line %d, want line %d", w, i, next[w])
		}
		next[w]++
	}
	for w, n := range next {
		if n != lines {
			t.Errorf("writer %d: %d lines, want %d", w, n, lines)
		}
	}
	if rest := strings.TrimSpace(rest); rest != "" {
		t.Errorf("the terminal does not show %q", rest)
	}
}

type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(b)
}

// A terminal that accepts no output, as after Ctrl-S, blocks neither the run nor its log. When it
// accepts output again, it gets the whole log.
func TestStoppedTerminalDoesNotBlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		taken, out := io.Pipe()
		d := start(&screen{out: out, isForeground: always, wasSuspended: never, size: usualSize})
		var want strings.Builder
		for i := range 1000 {
			logLine(t, d, fmt.Sprintf("line %d\n", i))
			fmt.Fprintln(&want, "line", i)
			time.Sleep(10 * time.Millisecond)
		}
		got := make(chan string)
		go func() {
			all, err := io.ReadAll(taken)
			if err != nil {
				t.Error(err)
			}
			got <- string(all)
		}()
		d.Close()
		if err := out.Close(); err != nil {
			t.Error(err)
		}
		if all := <-got; all != want.String() {
			t.Errorf("got %d bytes of the log, want %d", len(all), want.Len())
		}
	})
}

// Close waits at most 2 s for a terminal that accepts no output.
func TestCloseGivesUpOnAStoppedTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		taken, out := io.Pipe()
		d := start(&screen{out: out, isForeground: always, wasSuspended: never, size: usualSize})
		d.Show(underWay())
		time.Sleep(time.Second)
		begun := time.Now()
		if d.Close() {
			t.Error("Close reports success")
		}
		if took := time.Since(begun); took != closeTimeout {
			t.Errorf("Close took %v", took)
		}
		logLine(t, d, "lost\n")
		if err := taken.Close(); err != nil { // unblocks the writer
			t.Error(err)
		}
	})
}

// In the background, the display writes only the log and does not move the cursor. When this
// process is in the foreground again, or was suspended, the output of other programs remains.
func TestOutputOfOthersRemains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEmulator(t, 80, 24, true)
		out := &lockedWriter{w: e}
		var ours, stop, continued atomic.Bool
		ours.Store(true)
		size := func() (int, int) {
			if stop.CompareAndSwap(true, false) {
				time.Sleep(time.Minute) // like a suspended process
			}
			return 80, 24
		}
		d := start(&screen{out: out, isForeground: ours.Load, size: size,
			wasSuspended: func() bool { return continued.Swap(false) }})
		show := func() {
			s := *underWay()
			s.Elapsed.Duration = time.Since(time.Time{}) // different each time
			d.Show(&s)
			time.Sleep(time.Second)
		}
		show()
		ours.Store(false)
		logLine(t, out, "typed in the shell\n")
		show()
		logLine(t, d, "logged meanwhile\n")
		show()
		logLine(t, out, "typed again\n")
		ours.Store(true)
		show()
		stop.Store(true)
		show()
		logLine(t, out, "typed while it was stopped\n")
		time.Sleep(2 * time.Minute)
		show()
		logLine(t, out, "typed while it was stopped for a moment\n")
		continued.Store(true)
		show()
		d.Close()
		shown := strings.Join(e.lines(), "\n")
		var at int
		for _, line := range []string{"typed in the shell", "logged meanwhile", "typed again",
			"typed while it was stopped", "typed while it was stopped for a moment"} {
			found := strings.Index(shown[at:], line)
			if found < 0 {
				t.Fatalf("%q is missing or not in order:\n%s", line, shown)
			}
			at += found
		}
	})
}

func always() bool { return true }

func never() bool { return false }
