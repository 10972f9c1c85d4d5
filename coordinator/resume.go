package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"nqueens/pkg/cli"
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
again.

With another server than before, the run moves there: its ledger is all that it needs. What
it left on the old server is removed if that server answers.

A run whose ledger is lost is restored from its server: name the run, and the server with
--nats. While another coordinator works on the run, that takes --take-over.`,
		Example: `  coordinator resume
  coordinator resume n15-20261120-170938-7274 --nats nats://127.0.0.1:4222`,
		ValidArgsFunction: cli.WithEnvironment(o.data.completeRun),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := optionalRunArg(args)
			if err != nil {
				return err
			}
			cfg, u, err := o.config(app)
			if err != nil {
				return err
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
	cmd.Flags().BoolVar(&takeOver, "take-over", false,
		"take the run over from a coordinator that still works on it elsewhere")
	o.register(cmd.Flags())
	return cmd
}
