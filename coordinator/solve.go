package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"strconv"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"nqueens/pkg/board"
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
	place  placeFlag
	board.Selection
}

func solveCommand(app *cli.App) *cobra.Command {
	var o solveOptions
	cmd := &cobra.Command{
		Use:   "solve N",
		Short: "Print the solutions themselves, in a fixed order",
		Long: `Print every way to place N queens on a board of side N (1 to 32). The order is fixed:
the boards whose top queen is farthest left come first. As text, a board is N lines of
dots and Qs, and an empty line separates boards. As JSON, a board is one line with the
column of the queen on each row, counted from 0. As SVG, a board is a picture with
coordinates, light or dark as the viewer prefers.

With --place, print only the boards with queens on those squares. With --unique, print
one board of each family of rotations and reflections, the first in order, and how many
images the family has: 8, or 4 or 2 if a rotation maps the board to itself.

With --any, print one solution by a known construction, at once, for N up to 1000000;
above N = 1000 as JSON only.

With --output, write each board to a file of its own in that folder, such as
solve-n8-01.svg or solve-n8-unique-01.svg. Existing files are never overwritten: if one
differs, the command fails. For more than a million files, --limit is required.`,
		Example: `  coordinator solve 4
  coordinator solve 8 --limit 1 --format json
  coordinator solve 8 --place 0,3 --place 1,0
  coordinator solve 8 --place d8 --limit 2
  coordinator solve 8 --unique --format svg --output boards
  coordinator solve 1000000 --any --format json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(cmd.Flags(), args); err != nil {
				return err
			}
			return o.solve(cmd.Context(), app, cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&o.limit, "limit", 0, "print at most `N` boards; 0 prints all")
	flags.Var(cli.NewEnum(&o.format, board.Formats[0], board.Formats...), "format", "format of the boards")
	flags.StringVar(&o.output, "output", "",
		"write each board to a file of its own in `DIR`, which is created if necessary")
	_ = cobra.MarkFlagDirname(flags, "output") // fails only for unknown flags
	flags.BoolVar(&o.Unique, "unique", false,
		"print one board of each family of rotations and reflections, and how many images it has")
	flags.BoolVar(&o.Any, "any", false, "print one solution by a known construction, for N up to 1000000")
	o.place.register(flags)
	return cmd
}

// The largest sides that --any takes, and of which it prints other formats than JSON.
const (
	maxAny   = 1_000_000
	maxDrawn = 1_000
)

// The largest sides whose boards get a file each without --limit: there are 365596 boards
// of side 14, and 285053 families of side 15. With a queen placed there are fewer than
// 1000000 boards of side 15.
const (
	maxFiled     = 14
	maxFiledPart = 15
)

// check checks the command line and sets N and the placed queens.
func (o *solveOptions) check(flags *pflag.FlagSet, args []string) (err error) {
	switch {
	case flags.Changed("output") && o.output == "":
		return cli.Usagef("--output must name a folder")
	case o.limit < 0:
		return cli.Usagef("--limit must be 0, for all, or more, not %d", o.limit)
	case o.Any:
		return o.checkAny(flags, args)
	}
	if o.N, err = cli.ParseN(args); err != nil {
		if _, large := parseLargeN(args); large == nil {
			err = cli.Usagef("%w; for one solution of a larger board there is --any", err)
		}
		return err
	}
	if o.Placed, err = o.place.squares(o.N); err != nil {
		return err
	}
	largest := maxFiled
	if o.Unique || len(o.Placed) > 0 {
		largest = maxFiledPart
	}
	switch {
	case o.Unique && len(o.Placed) > 0:
		return cli.Usagef("--unique and --place exclude each other: " +
			"rotations and reflections move the placed queens: omit one of the two")
	case o.output != "" && o.limit == 0 && o.N > largest:
		return cli.Usagef("--output would write more than a million files, for all these boards of side %d: "+
			"say with --limit how many you want", o.N)
	}
	return nil
}

// checkAny checks the command line of --any and sets N.
func (o *solveOptions) checkAny(flags *pflag.FlagSet, args []string) (err error) {
	for _, other := range []string{"place", "unique", "limit"} {
		if flags.Changed(other) {
			return cli.Usagef("--any and --%s exclude each other: "+
				"--any prints one solution, of its own choice: omit one of the two", other)
		}
	}
	if o.N, err = parseLargeN(args); err == nil && o.N > maxDrawn && o.format != "json" {
		return cli.Usagef("--format %s is for boards of side up to %d: for N = %d say --format json",
			o.format, maxDrawn, o.N)
	}
	return err
}

// parseLargeN takes the one argument N of --any, which may exceed that of [cli.ParseN].
func parseLargeN(args []string) (int, error) {
	if len(args) != 1 {
		return cli.ParseN(args)
	}
	n, err := strconv.Atoi(args[0])
	if err != nil || n < 1 || n > maxAny {
		return 0, cli.Usagef("with --any, N must be a whole number from 1 to %d, not %q", maxAny, args[0])
	}
	return n, nil
}

// solve writes boards until there are no more, or as many as the limit, or until the reader
// closes the pipe.
func (o *solveOptions) solve(ctx context.Context, app *cli.App, stdout io.Writer) error {
	out, err := o.open(stdout)
	if err != nil {
		return err
	}
	written := 0
	for columns, images := range o.boards(ctx) {
		if written == 1 && o.format == "svg" && o.output == "" {
			app.Log.Warn().Msg("several SVG documents follow each other, and viewers show one: " +
				"--output FOLDER gives each a file of its own")
		}
		if err = out.Write(board.Board{Columns: columns, Images: images}); err != nil {
			break
		}
		if written++; written == o.limit {
			break
		}
	}
	err = errors.Join(err, out.Close())
	switch {
	case errors.Is(err, syscall.EPIPE):
		return nil
	case written > 0 && o.output != "":
		app.Log.Info().Int("boards", written).Str("folder", o.output).Msg("each board is in a file of its own")
	case written == 0 && err == nil && ctx.Err() == nil:
		event := app.Log.Info().Int("n", o.N)
		if len(o.Placed) > 0 {
			event.Str("placed", humanize.Squares(o.Placed))
		}
		event.Msg("there is no solution")
	}
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return err
}

// open returns the writer of the boards.
func (o *solveOptions) open(stdout io.Writer) (board.Writer, error) {
	if o.output == "" {
		return board.NewStream(stdout, o.format), nil
	}
	out, err := board.NewDir(o.output, o.format, o.Selection)
	switch {
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, fs.ErrExist):
		err = cli.Usagef("--output: %s is not a folder, a file has that name: choose another folder", o.output)
	case err != nil:
		err = fmt.Errorf("create the folder of --output: %w", err)
	}
	return out, err
}

// boards returns the selected boards: the column of the queen on each row, valid until the
// next board, and for --unique the number of images, else 0.
func (o *solveOptions) boards(ctx context.Context) iter.Seq2[[]int, int] {
	if o.Unique {
		return enumerate.Unique(ctx, o.N)
	}
	return func(yield func([]int, int) bool) {
		if o.Any {
			if columns := enumerate.Construct(o.N); columns != nil {
				yield(columns, 0)
			}
			return
		}
		empty := queens.FullBoard(o.N)
		for _, square := range o.Placed {
			empty.Preplace(square.Row, square.Column)
		}
		for columns := range enumerate.Boards(ctx, empty) {
			if !yield(columns, 0) {
				return
			}
		}
	}
}
