package main

import (
	"context"
	"errors"
	"io"
	"iter"
	"strconv"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"nqueens/pkg/cli"
	"nqueens/pkg/enumerate"
	"nqueens/pkg/humanize"
	"nqueens/pkg/queens"
)

// solveOptions are the flags of solve.
type solveOptions struct {
	limit  int
	format string
	output string
	unique bool
	any    bool
	place  placeFlag
}

func solveCommand(app *cli.App) *cobra.Command {
	var o solveOptions
	cmd := &cobra.Command{
		Use:   "solve N",
		Short: "Print the boards themselves, every solution in a fixed order",
		Long: `Print every way to place N queens on a board of side N (1 to 32), from the one
whose top queen stands farthest left. As text, a board is N lines of dots and Qs,
with an empty line between boards; as JSON, a line with the column of the queen on
each row, counted from 0; as SVG, a picture with coordinates, which is light or dark
as the viewer is.

With --place, only the boards with queens on those squares. With --unique, one board
of each family that turns and mirrors make, the first in order, and how many images
the family has: 8, or 4 or 2 where a turn changes nothing.

With --any, one solution by a known construction, in an instant, for N up to 1000000;
above 1000 as JSON alone.

With --output, each board goes to a file of its own in that folder, such as
solve-n8-01.svg or solve-n8-unique-01.svg. What is there already is not written over:
where it differs, the command fails. Where there would be more than a million files,
it asks for --limit.`,
		Example: `  coordinator solve 4
  coordinator solve 8 --limit 1 --format json
  coordinator solve 8 --place 0,3 --place 1,0
  coordinator solve 8 --place d8 --limit 2
  coordinator solve 8 --unique --format svg --output boards
  coordinator solve 1000000 --any --format json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			source, err := o.source(cmd.Flags(), args)
			if err == nil {
				err = o.checkFiles(&source)
			}
			if err != nil {
				return err
			}
			return o.solve(cmd.Context(), app, source, cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&o.limit, "limit", 0, "print no more than this `number` of boards; 0 prints all")
	flags.Var(cli.NewChoice(&o.format, "text", "text", "json", "svg"), "format", "form of the boards")
	flags.StringVar(&o.output, "output", "", "write each board to a file of its own in this `folder`, which is made where it is missing")
	cli.CompleteDirs(flags, "output")
	flags.BoolVar(&o.unique, "unique", false, "print one board of each family of turns and mirrors, and how many images it has")
	flags.BoolVar(&o.any, "any", false, "print one solution by a known construction, for N up to 1000000")
	o.place.register(flags)
	return cmd
}

// The sides that --any takes, and those of which it prints other formats than JSON.
const (
	maxAny   = 1_000_000
	maxDrawn = 1_000
)

// boardSource says which boards to print.
type boardSource struct {
	n      int
	placed []queens.Square
	boards func(ctx context.Context) iter.Seq[board]
}

// source checks the command line, and returns what it asks for.
func (o *solveOptions) source(flags *pflag.FlagSet, args []string) (boardSource, error) {
	if flags.Changed("output") && o.output == "" {
		return boardSource{}, cli.Usagef("--output must name a folder")
	}
	if o.limit < 0 {
		return boardSource{}, cli.Usagef("--limit must be 0, for all, or more, not %d", o.limit)
	}
	if o.any {
		return o.anySource(flags, args)
	}
	n, err := cli.ParseN(args)
	if err != nil {
		if _, large := anySide(args); large == nil {
			err = cli.Usagef("%w; for one solution of a larger board there is --any", err)
		}
		return boardSource{}, err
	}
	placed, err := o.place.squares(n)
	if err != nil {
		return boardSource{}, err
	}
	if o.unique {
		if len(placed) > 0 {
			return boardSource{}, cli.Usagef("--unique and --place exclude each other: turns and mirrors move the placed queens: leave one of the two out")
		}
		return boardSource{n: n, boards: func(ctx context.Context) iter.Seq[board] { return uniqueBoards(ctx, n) }}, nil
	}
	return boardSource{n: n, placed: placed, boards: func(ctx context.Context) iter.Seq[board] { return allBoards(ctx, n, placed) }}, nil
}

// anySource is source for --any.
func (o *solveOptions) anySource(flags *pflag.FlagSet, args []string) (boardSource, error) {
	for _, other := range []string{"place", "unique", "limit"} {
		if flags.Changed(other) {
			return boardSource{}, cli.Usagef("--any and --%s exclude each other: --any prints one solution, of its own choice: leave one of the two out", other)
		}
	}
	n, err := anySide(args)
	if err != nil {
		return boardSource{}, err
	}
	if n > maxDrawn && o.format != "json" {
		return boardSource{}, cli.Usagef("--format %s is for boards of side up to %d: for N = %d say --format json", o.format, maxDrawn, n)
	}
	return boardSource{n: n, boards: func(context.Context) iter.Seq[board] { return anyBoard(n) }}, nil
}

// anySide takes the one argument N, as [cli.Side] does, where it may be larger.
func anySide(args []string) (int, error) {
	if len(args) == 1 {
		n, err := strconv.Atoi(args[0])
		if err != nil || n < 1 || n > maxAny {
			return 0, cli.Usagef("with --any, N must be a whole number from 1 to %d, not %q", maxAny, args[0])
		}
		return n, nil
	}
	return cli.ParseN(args)
}

func allBoards(ctx context.Context, n int, placed []queens.Square) iter.Seq[board] {
	empty := queens.FullBoard(n)
	for _, s := range placed {
		empty.Preplace(s.Row, s.Column)
	}
	return func(yield func(board) bool) {
		for columns := range enumerate.Boards(ctx, empty) {
			if !yield(board{columns: columns}) {
				return
			}
		}
	}
}

func uniqueBoards(ctx context.Context, n int) iter.Seq[board] {
	return func(yield func(board) bool) {
		for columns, images := range enumerate.Unique(ctx, n) {
			if !yield(board{columns: columns, images: images}) {
				return
			}
		}
	}
}

func anyBoard(n int) iter.Seq[board] {
	return func(yield func(board) bool) {
		if columns := enumerate.Construct(n); columns != nil {
			yield(board{columns: columns})
		}
	}
}

// solve prints boards until there are no more, or enough, or whoever reads them has
// seen enough and closed the pipe.
func (o *solveOptions) solve(ctx context.Context, app *cli.App, source boardSource, stdout io.Writer) error {
	var out boardWriter
	if o.output == "" {
		out = newBoardStream(stdout, o.format, app.Log)
	} else {
		folder, err := newBoardFolder(o, &source, app.Log)
		if err != nil {
			return err
		}
		out = folder
	}
	printed := 0
	var err error
	for b := range source.boards(ctx) {
		if err = out.write(&b); err != nil {
			break
		}
		if printed++; printed == o.limit {
			break
		}
	}
	err = errors.Join(err, out.close())
	if errors.Is(err, syscall.EPIPE) {
		return nil
	}
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err == nil && printed == 0 {
		event := app.Log.Info().Int("n", source.n)
		if len(source.placed) > 0 {
			event.Str("placed", humanize.Squares(source.placed))
		}
		event.Msg("there is no solution")
	}
	return err
}
