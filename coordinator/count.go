package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"nqueens/pkg/cli"
	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/runstore"
	"nqueens/pkg/split"
	"nqueens/pkg/symmetry"
)

// countOptions are the flags of count.
type countOptions struct {
	symmetry string
	place    placeFlag
	placed   []queens.Square // of --place
	depth    int
	anew     bool
	runOptions
}

func countCommand(app *cli.App) *cobra.Command {
	var o countOptions
	cmd := &cobra.Command{
		Use:   "count N",
		Short: "Count the ways to place N queens on a board of side N",
		Long: `Count the ways to place N queens on a board of side N (1 to 32) so that none
attacks another, and print the number.

Without --nats, the count runs in this process: an embedded NATS server and one
worker a core. With --listen, that server lets workers of other processes and
machines in. With --nats, the count uses a server that is there already.

What is counted is kept in a ledger under --data. A count that was interrupted goes on
where it stopped when it is started again, unless --new says to begin afresh.

With --place, count only the ways in which queens stand on those squares. Such a count
uses no symmetry, and there is no published total to compare it with.`,
		Example: `  coordinator count 16
  coordinator count 15 --json
  coordinator count 16 --place 0,3 --place 5,7
  coordinator count 8 --place d8
  coordinator count 16 --listen 127.0.0.1:4222 --workers 0
  coordinator count 16 --nats nats://127.0.0.1:4222`,
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := cli.ParseN(args)
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("depth") && (o.depth < 1 || o.depth > n) {
				return cli.Usagef("--depth must be from 1 to N = %d, not %d", n, o.depth)
			}
			if err := o.takePlaced(n); err != nil {
				return err
			}
			return count(cmd.Context(), app, n, &o, cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	flags.Var(cli.SymmetryFlag(&o.symmetry), "symmetry", "how to cut the count")
	flags.IntVar(&o.depth, "depth", 0, "one task for each way to place this many rows, 1 to N, instead of tasks of a good size")
	flags.BoolVar(&o.anew, "new", false, "begin afresh, even where the same count was interrupted")
	o.place.register(flags)
	o.register(flags)
	return cmd
}

// takePlaced takes the queens of --place. Where there are any, the symmetry is none.
func (o *countOptions) takePlaced(n int) (err error) {
	o.placed, err = o.place.squares(n)
	switch {
	case err != nil || len(o.placed) == 0:
		return err
	case o.unique:
		return cli.Usagef("--unique and --place exclude each other: turns and mirrors move the placed queens: leave one of the two out")
	case o.flags.Changed("symmetry") && o.symmetry != string(queens.None):
		return cli.Usagef("--symmetry %s and --place exclude each other: placed queens leave the board no symmetry: leave one of the two out", o.symmetry)
	}
	o.symmetry = string(queens.None)
	return nil
}

func count(ctx context.Context, app *cli.App, n int, o *countOptions, stdout io.Writer) error {
	start := time.Now()
	c := carriage{app: app, options: &o.runOptions, start: start}
	if err := c.prepare(); err != nil {
		return err
	}
	if err := c.store.EnsureWritable(); err != nil {
		return withHint(err)
	}
	slow := time.AfterFunc(time.Second, func() { app.Log.Info().Int("n", n).Msg("planning the tasks, which takes a while") })
	manifest, err := plan(ctx, n, o)
	slow.Stop()
	if err != nil {
		return err
	}
	var before *runstore.Info
	if !o.anew {
		if before, err = c.store.Resumable(&manifest); err != nil {
			return withHint(err)
		}
	}
	if before != nil && before.State == run.Contradicted {
		return fmt.Errorf("%w: so ended the last run of the same count, %s; coordinator verify %s may say whose count is wrong, --new begins another",
			queens.ErrContradiction, before.Run, before.Run)
	}
	if before == nil || before.State.Finished() {
		c.fresh = true
		c.ledger, err = c.store.Create(manifest, start)
	} else {
		name := before.Run
		if c.ledger, err = c.store.Open(ctx, name); err == nil {
			app.Log.Info().Str("run", name).Msg("going on with the run of the same count that was interrupted; --new would begin afresh")
		}
	}
	var locked *ledger.LockedError
	switch {
	case errors.As(err, &locked):
		return fmt.Errorf("%w; coordinator watch shows how it gets on, --new begins another count", err)
	case err != nil:
		return withHint(err)
	}
	return c.carry(ctx, stdout)
}

func plan(ctx context.Context, n int, o *countOptions) (queens.Manifest, error) {
	classes, err := symmetry.Classes(n, queens.Symmetry(o.symmetry), o.placed...)
	if err != nil {
		return queens.Manifest{}, cli.Usagef("--symmetry: %v", err)
	}
	m, err := split.Plan(ctx, n, queens.Symmetry(o.symmetry), classes, o.depth)
	m.Placed = o.placed
	return m, err
}
