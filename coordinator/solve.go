package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"nqueens/pkg/cli"
	"nqueens/pkg/enumerate"
	"nqueens/pkg/queens"
)

func solveCommand(app *cli.App) *cobra.Command {
	var limit int
	var format string
	cmd := &cobra.Command{
		Use:   "solve N",
		Short: "Print the boards themselves, every solution in a fixed order",
		Long: `Print every way to place N queens on a board of side N (1 to 32), from the one
whose top queen stands farthest left. As text, a board is N lines of dots and Qs,
with an empty line between boards; as JSON, a line with the column of the queen on
each row, counted from 0.`,
		Example: `  coordinator solve 4
  coordinator solve 8 --limit 1 --format json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := cli.Side(args)
			if err != nil {
				return err
			}
			write, ok := formats[format]
			if !ok {
				return cli.Usagef("--format must be text or json, not %q", format)
			}
			if limit < 0 {
				return cli.Usagef("--limit must be 0, for all, or more, not %d", limit)
			}
			printed, err := solve(cmd.Context(), n, limit, write, cmd.OutOrStdout())
			if err == nil && printed == 0 {
				app.Log.Info().Int("n", n).Msg("there is no solution")
			}
			return err
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&limit, "limit", 0, "print no more boards than this; 0 prints all")
	flags.StringVar(&format, "format", "text", "text or json")
	return cmd
}

// solve prints boards until there are no more, or enough, or whoever reads them has
// seen enough and closed the pipe. It returns the number printed.
func solve(ctx context.Context, n, limit int, write boardWriter, stdout io.Writer) (printed int, err error) {
	out := newSteadyWriter(stdout)
	for columns := range enumerate.Boards(ctx, queens.FullBoard(n)) {
		if _, err = out.Write(write(columns, printed == 0)); err != nil {
			break
		}
		if printed++; printed == limit {
			break
		}
	}
	err = errors.Join(err, out.Close())
	if errors.Is(err, syscall.EPIPE) {
		return printed, nil
	}
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return printed, err
}

// boardWriter turns a board into bytes; first says that no board came before it.
type boardWriter func(columns []int, first bool) []byte

var formats = map[string]boardWriter{"text": textBoard, "json": jsonBoard}

func textBoard(columns []int, first bool) []byte {
	var text []byte
	if !first {
		text = append(text, '\n')
	}
	for _, queen := range columns {
		for column := range columns {
			square := byte('.')
			if column == queen {
				square = 'Q'
			}
			text = append(text, square)
		}
		text = append(text, '\n')
	}
	return text
}

func jsonBoard(columns []int, _ bool) []byte {
	line, err := json.Marshal(columns)
	if err != nil {
		panic(err) // integers always marshal
	}
	return append(line, '\n')
}

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
