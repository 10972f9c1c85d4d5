package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/rs/zerolog"
)

// board is a solution as solve prints it.
type board struct {
	columns []int // of the queen on each row; valid until the next board
	images  int   // of its family, or 0 where that is not asked for
}

// boardWriter writes boards somewhere.
type boardWriter interface {
	write(b *board) error
	close() error
}

// boardFormats have the bytes of a board by itself.
var boardFormats = map[string]func(b *board) []byte{"text": textBoard, "json": jsonBoard, "svg": svgBoard}

func textBoard(b *board) []byte {
	var text []byte
	for _, queen := range b.columns {
		for column := range b.columns {
			square := byte('.')
			if column == queen {
				square = 'Q'
			}
			text = append(text, square)
		}
		text = append(text, '\n')
	}
	if b.images > 0 {
		text = append(text, b.family()+"\n"...)
	}
	return text
}

// family says for people how many images a board has.
func (b *board) family() string {
	if b.images == 1 {
		return "1 image"
	}
	return fmt.Sprintf("%d images", b.images)
}

func jsonBoard(b *board) []byte {
	var value any = b.columns
	if b.images > 0 {
		value = struct {
			Columns []int `json:"columns"`
			Images  int   `json:"images"`
		}{b.columns, b.images}
	}
	line, err := json.Marshal(value)
	if err != nil {
		panic(err) // integers always marshal
	}
	return append(line, '\n')
}

// boardStream writes one board after another.
type boardStream struct {
	out     *steadyWriter
	format  string
	log     zerolog.Logger
	written int
}

func newBoardStream(w io.Writer, format string, log zerolog.Logger) *boardStream {
	return &boardStream{out: newSteadyWriter(w), format: format, log: log}
}

func (s *boardStream) write(b *board) error {
	text := boardFormats[s.format](b)
	if s.written > 0 && s.format == "text" {
		text = append([]byte{'\n'}, text...)
	}
	if s.written == 1 && s.format == "svg" {
		s.log.Warn().Msg("several SVG documents follow each other, and viewers show one: --output FOLDER gives each a file of its own")
	}
	s.written++
	_, err := s.out.Write(text)
	return err
}

func (s *boardStream) close() error { return s.out.Close() }

// steadyWriter is a buffered writer that does not keep what it has for long: there
// may be hours between two boards.
type steadyWriter struct {
	mu     sync.Mutex
	buffer *bufio.Writer
	done   chan struct{}
	ended  sync.WaitGroup
}

const flushEvery = 100 * time.Millisecond

func newSteadyWriter(w io.Writer) *steadyWriter {
	s := &steadyWriter{buffer: bufio.NewWriterSize(w, 1<<16), done: make(chan struct{})}
	s.ended.Go(func() {
		tick := time.NewTicker(flushEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				s.mu.Lock()
				_ = s.buffer.Flush() // the buffer keeps the error for the next write
				s.mu.Unlock()
			case <-s.done:
				return
			}
		}
	})
	return s
}

func (s *steadyWriter) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buffer.Write(p)
}

// Close writes what is left.
func (s *steadyWriter) Close() error {
	close(s.done)
	s.ended.Wait()
	return s.buffer.Flush()
}
