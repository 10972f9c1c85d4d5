package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"nqueens/pkg/cli"
	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/session"
)

// countFlags are the flags of count.
type countFlags struct {
	symmetry string
	place    placeFlag
	depth    int
	forceNew bool
	trustFlags
	sessionFlags
}

func (o *countFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.Var(cli.SymmetryFlag(&o.symmetry), "symmetry", "which symmetry divides the count into classes")
	flags.IntVar(&o.depth, "depth", 0,
		"one task for each way to place the first `ROWS` rows, instead of tasks of a good size")
	flags.BoolVar(&o.forceNew, "new", false, "start a new run, even if the same count was interrupted")
	o.place.register(flags)
	o.spotCheck = run.AutoSpotCheck.String()
	o.trustFlags.register(flags)
	o.sessionFlags.register(flags)
}

// job checks the command line and returns what to count.
func (o *countFlags) job(args []string) (job session.Job, err error) {
	n, err := cli.ParseN(args)
	if err != nil {
		return job, err
	}
	if o.flags.Changed("depth") && (o.depth < 1 || o.depth > n) {
		return job, cli.Usagef("--depth must be from 1 to N = %d, not %d", n, o.depth)
	}
	placed, err := o.place.squares(n)
	switch {
	case err != nil:
		return job, err
	case len(placed) == 0:
	case o.unique:
		return job, cli.Usagef("--unique and --place exclude each other: rotations and reflections move the placed queens: " +
			"leave one of the two out")
	case o.flags.Changed("symmetry") && o.symmetry != string(queens.None):
		return job, cli.Usagef("--symmetry %s and --place exclude each other: placed queens leave the board no symmetry: "+
			"leave one of the two out", o.symmetry)
	default:
		o.symmetry = string(queens.None)
	}
	spotCheck, err := o.checks()
	redundancy := 0 // no choice
	if o.flags.Changed("redundancy") {
		redundancy = o.redundancy
	}
	return session.Job{
		N: n, Symmetry: queens.Symmetry(o.symmetry), Placed: placed, Depth: o.depth, New: o.forceNew,
		Redundancy: redundancy, SpotCheck: spotCheck,
	}, err
}

func countCommand(app *cli.App) *cobra.Command {
	var o countFlags
	cmd := &cobra.Command{
		Use:   "count N",
		Short: "Count the ways to place N queens on a board of side N",
		Long: `Count the ways to place N queens on a board of side N (1 to 32) so that none
attacks another, and print the number.

Without --nats, the count runs in this process: an embedded NATS server and one worker per
core. With --listen, that server accepts workers of other processes and machines. With
--nats, the count uses an existing server.

A ledger under --data keeps what is counted. Starting an interrupted count again resumes
it, unless --new asks for a new run.

With --redundancy R, a task is done when R admitted keys agree on it: the key of this process
and those of --admitted, of a folder of keys, or of workers with the join token. From N = 28 on
no total is published: a new run must be told R. Spot checks have some tasks counted again by
another key, or else by the coordinator. With --spot-check auto, the coordinator checks 1% of the
tasks in at most 2% of the core time of the run, and for at most 1% of its time at its end. With a
SHARE it makes each check, however long that takes. A key that counted wrong is quarantined.

With --place, only the solutions with queens on those squares are counted. Such a count
uses no symmetry, and there is no published total to compare it with.

The summary, the log, --json and the page that --report writes say what confirms the total:
"published" (it is the published total), "redundant" (at least two admitted keys agree on each
task), "sampled" (every spot check was made; a rare wrong count may be unseen) or "none".`,
		Example: `  coordinator count 16
  coordinator count 15 --json
  coordinator count 16 --place 0,3 --place 5,7
  coordinator count 8 --place d8
  coordinator count 16 --listen 127.0.0.1:4222 --workers 0
  coordinator count 16 --nats nats://127.0.0.1:4222
  coordinator count 16 --listen 127.0.0.1:4222 --redundancy 2`,
		RunE: func(cmd *cobra.Command, args []string) error {
			job, err := o.job(args)
			if err != nil {
				return err
			}
			cfg, u, err := o.config(app)
			if err != nil {
				return err
			}
			s, err := session.Count(cmd.Context(), cfg, job)
			switch {
			case errors.As(err, new(*ledger.LockedError)):
				return fmt.Errorf("%w; %s shows its progress, --new starts another count", err, o.data.command("watch"))
			case err != nil:
				return o.withCommands(cmd, err, "count", args[0])
			case s.Interrupted():
				app.Log.Info().Str("run", s.Name()).
					Msg("resuming the interrupted run of the same count; --new starts another")
			}
			return o.run(cmd.Context(), app, s, u, cmd.OutOrStdout())
		},
	}
	o.register(cmd)
	return cmd
}
