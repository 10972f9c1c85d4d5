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
	var json, svg bool
	cmd := &cobra.Command{
		Use:   "solve N",
		Short: "Print the solutions themselves, in a fixed order",
		Long: `Print every way to place N queens on a board of side N (1 to 32), in a fixed order: boards whose
top queen is farthest left come first. As text, a board is N lines of dots and Qs, and an empty
line separates boards. With --json, a board is a line with the column of each row's queen, from
0; with --svg, a picture.

With --output, each board goes to a file of its own, such as solve-n8-01.svg. A file that differs
is never overwritten. More than a million files need --limit.`,
		Example: `  coordinator solve 4
  coordinator solve 8 --place d8 --limit 2
  coordinator solve 8 --unique --svg --output boards
  coordinator solve 1000000 --any --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case json && svg:
				return cli.Usagef("--json and --svg exclude each other: omit one of the two")
			case json:
				o.format = "json"
			case svg:
				o.format = "svg"
			default:
				o.format = "text"
			}
			if err := o.check(cmd.Flags(), args); err != nil {
				return err
			}
			return o.solve(cmd.Context(), app, cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&o.limit, "limit", 0, "print at most `N` boards; 0 prints all")
	flags.BoolVar(&json, "json", false, "print a board as a JSON array a line")
	flags.BoolVar(&svg, "svg", false, "draw a board as an SVG picture")
	flags.StringVar(&o.output, "output", "",
		"write each board to a file of its own in `DIR`")
	_ = cobra.MarkFlagDirname(flags, "output") // fails only for unknown flags
	flags.BoolVar(&o.Unique, "unique", false,
		"print the first board of each family of rotations and reflections, and how many images it has")
	flags.BoolVar(&o.Any, "any", false, "print one solution by a known construction, at once, for N up to 1000000")
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
		return o.checkAny(args)
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
func (o *solveOptions) checkAny(args []string) (err error) {
	for other, given := range map[string]bool{"place": len(o.place) > 0, "unique": o.Unique, "limit": o.limit > 0} {
		if given {
			return cli.Usagef("--any and --%s exclude each other: "+
				"--any prints one solution, of its own choice: omit one of the two", other)
		}
	}
	if o.N, err = parseLargeN(args); err == nil && o.N > maxDrawn && o.format != "json" {
		return cli.Usagef("boards of side above %d are printed as JSON only: for N = %d say --json", maxDrawn, o.N)
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
	if err != nil {
		err = cli.Usagef("--output: %w", err)
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
