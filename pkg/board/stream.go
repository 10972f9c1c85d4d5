package board

import (
	"bufio"
	"io"
	"sync"
	"time"
)

// stream writes one board after another.
type stream struct {
	out     *autoFlushWriter
	format  string
	written bool // one board at least
}

// NewStream returns a writer of boards to w. Text boards are separated by empty lines.
// Close does not close w.
func NewStream(w io.Writer, format string) Writer {
	return &stream{out: newAutoFlushWriter(w), format: format}
}

func (s *stream) Write(b Board) error {
	text := b.encode(s.format)
	if s.written && s.format == "text" {
		text = append([]byte{'\n'}, text...)
	}
	s.written = true
	_, err := s.out.Write(text)
	return err
}

func (s *stream) Close() error { return s.out.Close() }

// flushInterval is how long a board may stay in the buffer: hours may pass between two
// boards.
const flushInterval = 100 * time.Millisecond

// autoFlushWriter is a buffered writer that flushes its buffer at intervals.
type autoFlushWriter struct {
	mu     sync.Mutex
	buffer *bufio.Writer
	done   chan struct{}
	loop   sync.WaitGroup
}

func newAutoFlushWriter(w io.Writer) *autoFlushWriter {
	a := &autoFlushWriter{buffer: bufio.NewWriterSize(w, 1<<16), done: make(chan struct{})}
	a.loop.Go(func() {
		tick := time.NewTicker(flushInterval)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				a.mu.Lock()
				_ = a.buffer.Flush() // the next Write returns the error again
				a.mu.Unlock()
			case <-a.done:
				return
			}
		}
	})
	return a
}

func (a *autoFlushWriter) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.buffer.Write(p)
}

// Close flushes the buffer.
func (a *autoFlushWriter) Close() error {
	close(a.done)
	a.loop.Wait()
	return a.buffer.Flush()
}
