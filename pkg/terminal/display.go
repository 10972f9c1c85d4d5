// Package terminal shows a run to a person at a terminal: a live display below the log
// while it goes on, and a summary after it. It decides nothing and asks the terminal
// nothing but its size.
package terminal

import (
	"bytes"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"

	"nqueens/pkg/queens"
)

// Display shows a run on the last lines of a terminal. The log scrolls by above them. Its
// methods are safe for concurrent use.
type Display struct {
	look   look
	screen *screen
	stop   func() // ends the loop, once
	ended  chan struct{}

	mu     sync.Mutex
	log    []byte // lines that are not on the screen yet
	shown  *queens.Snapshot
	note   string
	closed bool
}

// between is the least time from one drawing to the next.
const between = 250 * time.Millisecond

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
	return begin(&screen{out: out, size: size, reflows: reflows(os.Getenv)}, look{color: color, ascii: ascii(os.Getenv)})
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
func (d *Display) Show(s queens.Snapshot) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.shown = &s
}

// Note shows a line below the bar, for what the snapshot can't tell; "" removes it.
func (d *Display) Note(text string) {
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

// Close removes the display. The whole log is on the screen then.
func (d *Display) Close() {
	if d.stop == nil {
		return
	}
	d.stop()
	<-d.ended
	d.mu.Lock()
	defer d.mu.Unlock()
	width, _ := d.screen.size()
	d.screen.draw(d.log, nil, width, d.look)
	d.log, d.closed = nil, true
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
	if shown != nil {
		lines = d.look.render(shown, note, width, height)
	}
	d.screen.draw(log, lines, width, d.look)
}

var _ io.Writer = (*Display)(nil)
