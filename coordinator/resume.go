package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"nqueens/pkg/cli"
	"nqueens/pkg/humanize"
	"nqueens/pkg/runstore"
	"nqueens/pkg/session"
)

// resumeCommand is coordinator resume: it resumes an interrupted run, or audits a finished one again.
func resumeCommand(app *cli.App) *cobra.Command {
	var o sessionFlags
	var takeOver bool
	cmd := &cobra.Command{
		Use:   "resume [RUN]",
		Short: "Resume an interrupted count",
		Long: `Resume a run where it stopped: the named one, or else the newest unfinished one. What its
ledger under --data has is not counted again. RUN is the name of a run or its beginning.

The run keeps the flags with which it was started last, except those given now; --nats= is the
embedded server. With another server, the run moves there. Passwords are not kept.

A run whose ledger is lost is restored from its server: give RUN and --nats, and --take-over
while another coordinator works on it.`,
		Example: `  coordinator resume
  coordinator resume n15-20261120-170938-7274 --nats nats://127.0.0.1:4222`,
		Args:              oneRunOrNone,
		ValidArgsFunction: o.data.completeRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			beginning := strings.Join(args, "") // one or none
			name, kept, missing := findUnfinished(app, &o, beginning)
			cfg, u, err := o.config(cmd.Context(), app)
			switch {
			case err != nil && len(kept) > 0:
				return cli.Usagef("%w; the run was started with %s: replace what does not fit", err, humanize.ShellWords(kept...))
			case err != nil:
				return err
			case beginning != "" && errors.Is(missing, runstore.ErrNoRun):
				name = beginning // its server may know it
			case missing != nil:
				return withHint(missing)
			}
			s, err := session.Resume(cmd.Context(), cfg, name, takeOver)
			switch {
			case errors.Is(err, runstore.ErrNoRun):
				return fmt.Errorf("%w; --nats names the server of a run whose ledger is lost", withHint(err))
			case err != nil:
				return withHint(err)
			}
			return o.run(cmd.Context(), app, s, u, cmd.OutOrStdout())
		},
	}
	cli.FlagGroup(cmd.Flags(), "What to resume", func(flags *pflag.FlagSet) {
		flags.BoolVar(&takeOver, "take-over", false, "take the run over from a coordinator that still works on it elsewhere")
		o.registerUnique(flags)
	})
	o.register(cmd.Flags())
	return cmd
}

// findUnfinished returns the run that the beginning of its name names, or else the newest unfinished one. It
// sets the flags with which that run was started, and returns their words.
func findUnfinished(app *cli.App, o *sessionFlags, beginning string) (name string, kept []string, err error) {
	store, err := o.data.open(app.Log)
	switch {
	case err != nil:
		return "", nil, err
	case beginning == "":
		name, err = store.NewestUnfinished()
	default:
		name, err = store.Find(beginning)
	}
	if err != nil {
		return "", nil, err
	}
	kept, err = o.useKept(app, store, name)
	return name, kept, err
}
