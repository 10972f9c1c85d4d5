// Package display shows a run on a terminal: a live display on the last lines, with the log above
// it. It writes to the terminal, and reads nothing from it. It shows snapshots, and computes
// nothing about a run.
package display

import (
	"context"
	"os"
	"sync"
	"time"

	"golang.org/x/term"

	"nqueens/pkg/queens"
)

// Display shows a run on the last lines of a terminal, while the log scrolls above them. Its
// methods are safe for concurrent use.
type Display struct {
	screen *screen
	stop   context.CancelFunc // ends the loop; nil if the terminal can't be drawn on
	done   chan struct{}      // closed when the loop has ended

	lastDraw      time.Time // zero before the first drawing
	width, height int       // of the terminal at the last look
	resizedAt     time.Time // when the size changed; zero before the first change

	mu       sync.Mutex
	log      []byte // lines that are not on the screen yet
	snapshot *queens.Snapshot
	closed   bool
}

const (
	// drawInterval is the least time between two drawings.
	drawInterval = 250 * time.Millisecond
	// settleTime is how long the terminal must have kept its size before the display is drawn again.
	// While a person drags the edge of a window, the terminal rewraps its lines. Some terminals, such
	// as tmux, report the new size up to 250 ms later. A drawing in between would leave parts of the
	// old display on the screen.
	settleTime = 500 * time.Millisecond
	// If nothing was drawn for suspendedAfter, the machine was probably suspended.
	suspendedAfter = 3 * time.Second
	// closeTimeout is how long Close waits for the terminal. A person may have stopped the output with
	// Ctrl-S.
	closeTimeout = 2 * time.Second
)

// New returns a display on the last lines of a terminal. Before the first Show, and if out can't
// show a display, only the log is written.
func New(out *os.File, color bool) *Display {
	if !enableVT(out) {
		return &Display{screen: &screen{out: out}, closed: true}
	}
	size := func() (width, height int) {
		width, height, err := term.GetSize(int(out.Fd()))
		if err != nil || width < 1 || height < 1 { // a serial line has no size
			return 80, 24
		}
		return width, height
	}
	tmux, reflows := kind(os.Getenv)
	return start(&screen{
		out: out, size: size, isForeground: func() bool { return isForeground(out) },
		wasSuspended: suspensions(), color: color, reflows: reflows, tmux: tmux,
	})
}

// start returns a new display, and starts its loop.
func start(s *screen) *Display {
	ctx, stop := context.WithCancel(context.Background())
	d := &Display{screen: s, stop: stop, done: make(chan struct{})}
	go d.loop(ctx)
	return d
}

// Show sets the snapshot that the next drawing shows. Nobody may modify it afterwards. Show does
// not wait for the terminal.
func (d *Display) Show(s *queens.Snapshot) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.snapshot = s
}

// Write takes a whole line of the log. The next drawing writes it above the display. Once the
// display is closed, Write writes the line at once.
func (d *Display) Write(line []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return d.screen.out.Write(line)
	}
	d.log = append(d.log, line...)
	return len(line), nil
}

// Close writes the rest of the log, removes the display and returns true. It returns false if the
// terminal accepts no output for 2 s. Then the display stays, and later lines of the log are lost.
func (d *Display) Close() bool {
	if d.stop == nil {
		return true
	}
	d.stop()
	select {
	case <-d.done:
		return true
	case <-time.After(closeTimeout):
		return false
	}
}

// loop draws until ctx ends, and then removes the display. It waits after the end of each drawing,
// so that a slow terminal can catch up.
func (d *Display) loop(ctx context.Context) {
	defer close(d.done)
	for {
		select {
		case <-ctx.Done():
			for closed := false; !closed; {
				closed = d.draw(true)
			}
			return
		case <-time.After(drawInterval):
			d.draw(false)
		}
	}
}

// draw updates the screen. It holds no lock while it writes to the terminal. If final is set, draw
// removes the display, or closes it if it is already removed and no line of the log waits. It
// returns whether the display is closed.
func (d *Display) draw(final bool) (closed bool) {
	width, height := d.screen.size()
	if !final && !d.isSettled(width, height) {
		return false
	}
	d.mu.Lock()
	log, snapshot := d.log, d.snapshot
	d.log = nil
	closed = final && len(log) == 0 && len(d.screen.drawn) == 0
	d.closed = closed
	d.mu.Unlock()
	var lines []line
	foreground := d.screen.isForeground()
	if d.screen.wasSuspended() || !foreground ||
		!d.lastDraw.IsZero() && time.Since(d.lastDraw) > suspendedAfter {
		d.screen.forget() // other programs, such as the shell, may have written below the display
	}
	if foreground && !final && snapshot != nil {
		lines = layout(snapshot, width, height, d.screen.color)
	}
	d.screen.draw(log, lines, width)
	d.lastDraw = time.Now()
	return closed
}

// isSettled reports whether the display may be drawn: the terminal has had this size for
// settleTime, or shows no display that it may have rewrapped.
func (d *Display) isSettled(width, height int) bool {
	if width != d.width || height != d.height {
		if d.width > 0 {
			d.resizedAt = time.Now()
		}
		d.width, d.height = width, height
	}
	settled := time.Since(d.resizedAt) >= settleTime || len(d.screen.drawn) == 0
	if !settled {
		d.lastDraw = time.Now() // this process is not suspended
	}
	return settled
}
