package board

import (
	"bufio"
	"io"
	"sync"
	"time"
)

// flushDelay bounds how long a board stays in the buffer: hours may pass until the next one.
const flushDelay = 100 * time.Millisecond

// stream writes one board after another.
type stream struct {
	format  string
	written bool // one board at least

	mu        sync.Mutex
	out       *bufio.Writer
	scheduled bool // a flush is
}

// NewStream returns a writer of boards to w. Text boards are separated by empty lines.
// Close does not close w.
func NewStream(w io.Writer, format string) Writer {
	return &stream{format: format, out: bufio.NewWriterSize(w, 1<<16)}
}

func (s *stream) Write(b Board) error {
	text := b.encode(s.format)
	if s.written && s.format == "text" {
		text = append([]byte{'\n'}, text...)
	}
	s.written = true
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.scheduled {
		s.scheduled = true
		time.AfterFunc(flushDelay, func() { _ = s.Close() }) // the next Write or Close returns the error again
	}
	_, err := s.out.Write(text)
	return err
}

// Close flushes the buffer. More boards may follow.
func (s *stream) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scheduled = false
	return s.out.Flush()
}
