package testkit

import (
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
)

// Log keeps log lines. Tests may read it while others write.
type Log struct {
	mu    sync.Mutex
	lines []string
}

// Logger returns a logger that writes JSON lines, from level info on, into the log.
func (l *Log) Logger() zerolog.Logger {
	return zerolog.New(l).Level(zerolog.InfoLevel)
}

// Write takes one line.
func (l *Log) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, string(line))
	return len(line), nil
}

// Lines returns the lines that contain text, oldest first.
func (l *Log) Lines(text string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found []string
	for _, line := range l.lines {
		if strings.Contains(line, text) {
			found = append(found, line)
		}
	}
	return found
}

// NoGoroutines waits until no goroutine of this process runs code of the package (part of an
// import path) or was started by it. It fails the test with the stacks of those that do not
// end. A test that calls it must not run in parallel with others.
func NoGoroutines(t testing.TB, pkg string) {
	t.Helper()
	var left []string
	for deadline := time.Now().Add(Stall); ; time.Sleep(5 * time.Millisecond) {
		if left = Goroutines(pkg); len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines of %s have not ended:\n\n%s", len(left), pkg, strings.Join(left, "\n\n"))
		}
	}
}

// Goroutines returns the stacks of other goroutines that contain text.
func Goroutines(text string) []string {
	buf := make([]byte, 1<<20)
	buf = buf[:runtime.Stack(buf, true)]
	stacks := strings.Split(string(buf), "\n\n")
	var found []string
	for _, stack := range stacks[1:] { // the first is this goroutine's
		if strings.Contains(stack, text) {
			found = append(found, stack)
		}
	}
	return found
}
