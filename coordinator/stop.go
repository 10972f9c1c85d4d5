package main

import (
	"github.com/spf13/cobra"

	"nqueens/pkg/cli"
)

// stopCommand is coordinator stop: it ends the process that works on a run, which can be resumed.
func stopCommand(app *cli.App) *cobra.Command {
	var data dataFlag
	cmd := &cobra.Command{
		Use:   "stop RUN",
		Short: "Stop a run that counts on this machine, as Ctrl-C does",
		Long: `Stop a run under --data as Ctrl-C at its coordinator does: that process exits with code 130, and
coordinator resume continues the run. Wait until it has closed the ledger, at most 15 s. RUN
is the name of a run or its beginning.`,
		Example: `  coordinator stop n15-20261120-170938-7274
  coordinator stop n15`,
		Args:              oneRun,
		ValidArgsFunction: data.completeRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			store, name, err := data.find(app.Log, args[0])
			if err != nil {
				return err
			}
			return withHint(store.Stop(cmd.Context(), name))
		},
	}
	data.register(cmd.Flags())
	return cmd
}
