// Package display shows a run to a person at a terminal: a live display below the log
// while it goes on, and a summary after it. It decides nothing and asks the terminal
// nothing but its size.
package display

import (
	"bytes"
	"io"
	"os"
	"sync"
	"time"

	"nqueens/pkg/run"

	"golang.org/x/term"
)

// Display shows a run on the last lines of a terminal. The log scrolls by above them. Its
// methods are safe for concurrent use.
type Display struct {
	look   look
	screen *screen
	stop   func() // ends the loop, once
	ended  chan struct{}

	drawn time.Time // when it was last drawn; zero before

	mu     sync.Mutex
	log    []byte // lines that are not on the screen yet
	shown  *run.Progress
	note   string
	closed bool
}

// between is the least time from one drawing to the next.
const between = 250 * time.Millisecond

// slept is how long nothing may be drawn before this process was stopped meanwhile, by
// Ctrl-Z, and the shell had the terminal.
const slept = 3 * time.Second

// New returns a display at the end of a terminal, which draws nothing before the first
// Show. Where the terminal can't be drawn on, it passes on the log alone.
func New(out *os.File, color bool) *Display {
	if !prepare(out) {
		return &Display{screen: &screen{out: out}, closed: true}
	}
	size := func() (width, height int) {
		width, height, err := term.GetSize(int(out.Fd()))
		if err != nil || width < 1 || height < 1 { // a serial line knows no size
			return 80, 24
		}
		return width, height
	}
	return begin(&screen{out: out, size: size, ours: func() bool { return foreground(out) }, reflows: reflows(os.Getenv)}, look{color: color, ascii: ascii(os.Getenv)})
}

func begin(s *screen, l look) *Display {
	closing := make(chan struct{})
	d := &Display{
		look:   l,
		screen: s,
		stop:   sync.OnceFunc(func() { close(closing) }),
		ended:  make(chan struct{}),
	}
	go d.loop(closing)
	return d
}

// Show has a snapshot drawn, which must not change any more. It does not wait for the
// terminal; a snapshot that is followed by another before the next drawing is not seen.
func (d *Display) Show(s run.Progress) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.shown = &s
}

// SetStatus shows a line below the bar, for what the snapshot can't tell; "" removes it.
func (d *Display) SetStatus(text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.note = text
}

// Write takes a whole line of the log, to be seen above the display with the next drawing;
// after Close it is written at once.
func (d *Display) Write(line []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return d.screen.out.Write(line)
	}
	d.log = append(d.log, line...)
	if !bytes.HasSuffix(line, []byte("\n")) {
		d.log = append(d.log, '\n')
	}
	return len(line), nil
}

// stopped is how long a terminal may take to be drawn on before it is given up: a person has
// stopped it, with Ctrl-S.
const stopped = 2 * time.Second

// Close removes the display, and reports whether it could: the whole log is on the screen
// then. Where the terminal is stopped, the display is left as it is, and what is written
// from then on is not seen.
func (d *Display) Close() bool {
	if d.stop == nil {
		return true
	}
	d.stop()
	select {
	case <-d.ended:
		return true
	case <-time.After(stopped):
		return false
	}
}

// erase removes the display for good.
func (d *Display) erase() {
	for done := false; !done; {
		d.mu.Lock()
		log := d.log
		d.log = nil
		d.mu.Unlock()
		width, _ := d.screen.size()
		d.screen.draw(log, nil, width, d.look)
		d.mu.Lock()
		done = len(d.log) == 0
		d.closed = done
		d.mu.Unlock()
	}
}

// loop draws until closing is closed. The pause begins when a drawing is done, so that a
// slow terminal is not hurried.
func (d *Display) loop(closing <-chan struct{}) {
	defer close(d.ended)
	pause := time.NewTicker(between)
	defer pause.Stop()
	for {
		select {
		case <-closing:
			d.erase()
			return
		case <-pause.C:
			d.draw()
			pause.Reset(between)
		}
	}
}

// draw brings the screen up to date. It holds no lock while it waits for the terminal.
func (d *Display) draw() {
	d.mu.Lock()
	log, shown, note := d.log, d.shown, d.note
	d.log = nil
	d.mu.Unlock()
	width, height := d.screen.size()
	var lines []line
	away := !d.screen.ours()
	if away || !d.drawn.IsZero() && time.Since(d.drawn) > slept {
		d.screen.forget() // others have written where the display was
	}
	if shown != nil && !away {
		lines = d.look.render(shown, note, width, height)
	}
	d.screen.draw(log, lines, width, d.look)
	d.drawn = time.Now()
}

var _ io.Writer = (*Display)(nil)
