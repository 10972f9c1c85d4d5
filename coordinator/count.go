package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"nqueens/pkg/cli"
	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/runs"
	"nqueens/pkg/session"
)

// countFlags are the flags of count.
type countFlags struct {
	symmetry   string
	place      placeFlag
	depth      int
	forceNew   bool
	redundancy int
	spotCheck  string
	sessionFlags
}

func (o *countFlags) register(flags *pflag.FlagSet) {
	cli.FlagGroup(flags, "What to count", func(flags *pflag.FlagSet) {
		flags.Var(cli.SymmetryFlag(&o.symmetry), "symmetry", "how the count is cut into classes (none with --place)")
		o.place.register(flags)
		o.registerUnique(flags)
		flags.BoolVar(&o.forceNew, "new", false, "count again, whatever runs of this count there are")
		flags.IntVar(&o.depth, "depth", 0, "make a task of each way to place the first `ROWS` rows")
		_ = flags.MarkHidden("depth") // fails only for unknown flags
	})
	cli.FlagGroup(flags, "Trust", func(flags *pflag.FlagSet) {
		flags.IntVar(&o.redundancy, "redundancy", 1, "have each task counted by `R` machines that must agree, 1 to 3")
		flags.StringVar(&o.spotCheck, "spot-check", "1%", "with R = 1, have this `SHARE` of the tasks counted by a second machine")
	})
	o.sessionFlags.register(flags)
}

// job checks the command line and returns what to count.
func (o *countFlags) job(n int) (job session.Job, err error) {
	if o.depth < 0 || o.depth > n {
		return job, cli.Usagef("--depth must be from 1 to N = %d, not %d", n, o.depth)
	}
	job = session.Job{N: n, Symmetry: queens.Symmetry(o.symmetry), Depth: o.depth, New: o.forceNew, Redundancy: o.redundancy}
	if job.Placed, err = o.place.squares(n); err != nil {
		return job, err
	}
	if len(job.Placed) > 0 {
		switch {
		case o.unique:
			return job, cli.Usagef("--unique and --place exclude each other: rotations and reflections move the placed queens: leave one of the two out")
		case o.flags.Changed("symmetry") && job.Symmetry != queens.None:
			return job, cli.Usagef("--symmetry %s and --place exclude each other: placed queens leave the board no symmetry: leave one of the two out", o.symmetry)
		}
		job.Symmetry = queens.None
	}
	if err := cli.CheckRange("redundancy", o.redundancy, 1, ledger.MaxRedundancy); err != nil {
		return job, err
	}
	if _, published := queens.KnownTotal(n); !published && len(job.Placed) == 0 && !o.flags.Changed("redundancy") {
		return job, cli.Usagef("no total is published for N = %d: say with --redundancy how many machines must agree on each task; 2 is good, 1 trusts each machine", n)
	}
	job.SpotCheck, err = cli.ParseShare("spot-check", o.spotCheck)
	return job, err
}

func countCommand(app *cli.App) *cobra.Command {
	var o countFlags
	cmd := &cobra.Command{
		Use:   "count [N]",
		Short: "Count the ways to place N queens on a board of side N",
		Long: `Count the ways to place N queens on a board of side N (1 to 32) so that none attacks another. The same command
resumes an interrupted count, and prints the total of a complete one again after an audit. Without N, go on with
the newest unfinished run, or print the newest total. The log says what confirms the total: "published",
"redundant" (two machines agree on every task), "sampled" (on some tasks) or "none".`,
		Example: `  coordinator count 18
  coordinator count 8 --place 0,3
  coordinator count 20 --listen 0.0.0.0:4222
  coordinator count 20 --nats nats://127.0.0.1:4222`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return cli.Usagef("takes one argument, the side N of the board, not %d: %q", len(args), args)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			var job session.Job
			var err error
			if len(args) == 1 {
				n, err := cli.ParseN(args)
				if err != nil {
					return err
				}
				if job, err = o.job(n); err != nil {
					return err
				}
			}
			cfg, err := o.config(app)
			if err != nil {
				return err
			}
			return o.run(cmd.Context(), app, cfg, func(cfg session.Config) (*session.Session, error) {
				if len(args) == 0 {
					return o.newest(cmd.Context(), cfg)
				}
				s, err := session.Count(cmd.Context(), cfg, job)
				if errors.As(err, new(*ledger.LockedError)) {
					return nil, fmt.Errorf("%w; %s shows its progress, --new starts another count", err, o.data.command("watch"))
				}
				return s, err
			}, cmd.OutOrStdout())
		},
	}
	o.register(cmd.Flags())
	return cmd
}

// newest opens the newest unfinished run, or else the newest complete one.
func (o *countFlags) newest(ctx context.Context, cfg session.Config) (*session.Session, error) {
	for _, name := range []string{"symmetry", "place", "depth", "new", "redundancy", "spot-check"} {
		if f := o.flags.Lookup(name); f.Changed && !cli.SetByEnvironment(f) {
			return nil, cli.Usagef("--%s needs N: without N, count goes on with the newest run, whatever that counts", name)
		}
	}
	list, err := cfg.Store.List()
	if err != nil {
		return nil, err
	}
	for _, wanted := range []func(*runs.Run) bool{(*runs.Run).IsUnfinished, func(r *runs.Run) bool { return r.State == queens.Complete }} {
		for i := range list {
			if wanted(&list[i]) && list[i].Err == nil {
				return session.Resume(ctx, cfg, list[i].Name)
			}
		}
	}
	return nil, cli.Usagef("N is missing, and there is no run in %s: give the side of the board, from 1 to %d", cfg.Store.Path(), queens.MaxN)
}

// resumeCommand is coordinator resume: it resumes an interrupted run.
func resumeCommand(app *cli.App) *cobra.Command {
	var o sessionFlags
	cmd := &cobra.Command{
		Use:   "resume [RUN]",
		Short: "Resume an interrupted count",
		Long: `Resume a run where it stopped: the named one, or else the newest unfinished one. What its ledger has is not
counted again. RUN is the name of a run or its beginning. What the run counts is in its ledger; the flags
here say with what it goes on.`,
		Example: `  coordinator resume
  coordinator resume n20-20261120-170938-7274 --listen 0.0.0.0:4222`,
		Args:              oneRunOrNone,
		ValidArgsFunction: o.data.completeRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := o.config(app)
			if err != nil {
				return err
			}
			name, err := findUnfinished(cfg.Store, strings.Join(args, "")) // one or none
			if err != nil {
				return err
			}
			return o.run(cmd.Context(), app, cfg, func(cfg session.Config) (*session.Session, error) {
				return session.Resume(cmd.Context(), cfg, name)
			}, cmd.OutOrStdout())
		},
	}
	cli.FlagGroup(cmd.Flags(), "What to count", o.registerUnique)
	o.register(cmd.Flags())
	return cmd
}

// findUnfinished returns the run that the beginning of its name names, or else the newest unfinished one.
func findUnfinished(store *runs.Store, beginning string) (string, error) {
	if beginning != "" {
		return store.Find(beginning)
	}
	list, err := store.List()
	if err != nil {
		return "", err
	}
	for i := range list {
		if list[i].IsUnfinished() && list[i].Err == nil {
			return list[i].Name, nil
		}
	}
	return "", fmt.Errorf("there is no unfinished run in %s: coordinator count N starts one", store.Path())
}
