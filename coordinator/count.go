package main

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"nqueens/pkg/cli"
	"nqueens/pkg/humanize"
	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/runstore"
	"nqueens/pkg/session"
)

// countFlags are the flags of count.
type countFlags struct {
	symmetry string
	place    placeFlag
	depth    int
	forceNew bool
	once     bool
	trustFlags
	sessionFlags
}

func (o *countFlags) register(cmd *cobra.Command) {
	cli.FlagGroup(cmd.Flags(), "What to count", func(flags *pflag.FlagSet) {
		o.place.register(flags)
		flags.Var(cli.SymmetryFlag(&o.symmetry), "symmetry", "symmetry that divides the count into classes")
		cli.DefaultIs(flags, "symmetry", "full, or none with --place")
		flags.IntVar(&o.depth, "depth", 0, "make a task of each way to place the first `ROWS` rows")
		o.registerUnique(flags)
		flags.BoolVar(&o.forceNew, "new", false, "start a new run, even if the same count was interrupted")
		flags.BoolVar(&o.once, "once", false, "print the total of a complete run of the same count, after an audit, instead of "+
			"counting again; without N, continue the newest run, or count 18")
	})
	o.trustFlags.register(cmd.Flags())
	o.sessionFlags.register(cmd.Flags())
}

// job checks the command line and returns what to count.
func (o *countFlags) job(args []string) (job session.Job, err error) {
	n, err := cli.ParseN(args)
	if err != nil {
		return job, err
	}
	if o.depth < 0 || o.depth > n {
		return job, cli.Usagef("--depth must be from 1 to N = %d, not %d", n, o.depth)
	}
	placed, err := o.place.squares(n)
	switch {
	case err != nil:
		return job, err
	case len(placed) == 0:
	case o.cfg.Unique:
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
		Redundancy: redundancy, SpotCheck: spotCheck, Once: o.once,
	}, err
}

func countCommand(app *cli.App) *cobra.Command {
	var o countFlags
	cmd := &cobra.Command{
		Use:   "count N",
		Short: "Count the ways to place N queens on a board of side N",
		Long: `Count the ways to place N queens on a board of side N (1 to 32) so that none attacks another,
and print the number.

The count runs in this process, with a worker for each core. With --listen, workers of other
processes and machines join it; with --nats, it uses a NATS server. A ledger under --data keeps
what is counted: the same command continues an interrupted count, unless --new starts another.

With --redundancy R, a task is done when R admitted keys agree on it. From N = 28 on no total
is published, and R must be given. Spot checks have tasks counted again, by another key or by
the coordinator: auto takes 1% of them, in at most 2% of the run's core time. A key that counted
wrong is quarantined.

The output says what confirms the total: "published", "redundant" (two admitted keys agree on
each task), "sampled" (all spot checks were made) or "none".`,
		Example: `  coordinator count 16
  coordinator count 15 --json
  coordinator count 8 --place d8
  coordinator count 20 --listen 0.0.0.0:4222
  coordinator count 20 --nats nats://127.0.0.1:4222`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.once && o.forceNew {
				return cli.Usagef("--once and --new exclude each other: leave one of the two out")
			}
			name, args, err := o.latest(app, args)
			if err != nil {
				return err
			}
			job, err := o.job(args)
			if err != nil {
				return err
			}
			cfg, u, err := o.config(cmd.Context(), app)
			if err != nil {
				return err
			}
			var s *session.Session
			if name == "" {
				s, err = session.Count(cmd.Context(), cfg, job)
			} else {
				s, err = session.Resume(cmd.Context(), cfg, name, false)
			}
			switch {
			case errors.As(err, new(*ledger.LockedError)):
				return fmt.Errorf("%w; %s shows its progress, --new starts another count", err, humanize.ShellWords(o.data.command("watch")...))
			case err != nil:
				return withHint(err)
			case o.once && logMade(app, s):
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

// defaultN is the side of the board of an estimate that names none, and of count --once if there is no run.
const defaultN = "18"

// latest returns the name of the run with which count --once goes on if it is not told what to count; it is empty if
// there is none. The arguments that it returns say what is counted then.
func (o *countFlags) latest(app *cli.App, args []string) (string, []string, error) {
	switch {
	case !o.once || len(args) > 0:
		return "", args, nil
	case o.flags.Changed("place"):
		return "", nil, cli.Usagef("--once without N goes on with the newest run, whatever board that counts: give N with --place")
	}
	store, err := o.data.open(app.Log)
	if err != nil {
		return "", nil, err
	}
	latest, err := store.Newest((*runstore.Info).IsUnfinished, func(i *runstore.Info) bool { return i.State != run.Cancelled })
	switch {
	case err != nil:
		return "", nil, withHint(err)
	case latest == nil:
		return "", []string{defaultN}, nil
	}
	if latest.IsUnfinished() {
		_, err = o.useKept(app, store, latest.Run)
	}
	return latest.Run, []string{strconv.Itoa(max(latest.N, 1))}, err // a process that does not answer says no N
}

// logMade says of a run with nothing left to count when that was done, and reports whether it is one.
func logMade(app *cli.App, s *session.Session) bool {
	at, final := s.Made()
	if final {
		app.Log.Info().Str("run", s.Name()).Str("made", at.Local().Format(time.DateOnly)).
			Msg("the run is complete: its ledger is audited, and nothing is counted again")
	}
	return final
}
