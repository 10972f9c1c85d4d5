package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

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
		Long: `Resume a run where it stopped: the named run, or else the newest unfinished one. The
tasks in its ledger under --data are not counted again. For a finished run, print its total
again. RUN is the whole name of a run, or a beginning that no other run has.

The run continues with the workers, the server and the other flags with which it was started
last; flags of this command replace these, and --nats= stands for the embedded server.
Passwords are not kept, only names of files.

With another server than before, the run moves there: its ledger is all that it needs.

A run whose ledger is lost is restored from its server: name the run, and the server with
--nats. While another coordinator works on the run, that takes --take-over.`,
		Example: `  coordinator resume
  coordinator resume n15-20261120-170938-7274 --nats nats://127.0.0.1:4222`,
		ValidArgsFunction: cli.WithEnvironment(o.data.completeRun),
		RunE: func(cmd *cobra.Command, args []string) error {
			beginning, err := optionalRunArg(args)
			if err != nil {
				return err
			}
			name, kept, missing := findUnfinished(app, &o, beginning)
			cfg, u, err := o.config(app)
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
				return o.withCommands(cmd, err, slices.Concat([]string{"resume"}, args)...)
			}
			return o.run(cmd.Context(), app, s, u, cmd.OutOrStdout())
		},
	}
	cmd.Flags().BoolVar(&takeOver, "take-over", false,
		"take the run over from a coordinator that still works on it elsewhere")
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
