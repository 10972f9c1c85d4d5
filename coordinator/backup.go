package main

import (
	"github.com/spf13/cobra"

	"nqueens/pkg/cli"
	"nqueens/pkg/humanize"
	"nqueens/pkg/report"
)

// backupCommand is coordinator backup: it copies the ledger of a run, also while the run counts.
func backupCommand(app *cli.App) *cobra.Command {
	var data dataFlag
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "backup RUN FILE",
		Short: "Copy the ledger of a run to a file, also while it counts",
		Long: `Copy the ledger of a run to a file, as it is at one moment, also while a coordinator on this
machine works on the run. coordinator restore continues the run from it on any machine. FILE
is always a complete copy, the new one or the one before.`,
		Example: `  coordinator backup n14-20261120-153012-ab12 n14.backup
  coordinator backup n14-20261120-153012-ab12 n14.backup --json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if err := cli.Arguments("coordinator runs lists the runs", "the name of a run", "a file")(cmd, args); err != nil {
				return err
			}
			return oneRun(cmd, args[:1])
		},
		ValidArgsFunction: data.completeRunAndFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			store, name, err := data.find(app.Log, args[0])
			if err != nil {
				return err
			}
			c, err := store.Backup(cmd.Context(), name, args[1])
			if err != nil {
				return withHint(err)
			}
			return ignoreEPIPE(report.WriteBackup(cmd.OutOrStdout(), &c, asJSON))
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	data.register(cmd.Flags())
	return cmd
}

// restoreCommand is coordinator restore: it makes a run of a backup.
func restoreCommand(app *cli.App) *cobra.Command {
	var data dataFlag
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Restore a run from a backup of its ledger",
		Long: `Put the ledger of a run under --data, from a file of coordinator backup, and check it.
coordinator resume then continues the run, on any server; missing counts are made again.`,
		Example: `  coordinator restore n14.backup --data elsewhere
  coordinator restore n14.backup --data elsewhere --json`,
		Args:              cli.Arguments("", "the file of a backup"),
		ValidArgsFunction: cli.CompleteFiles,
		RunE: func(cmd *cobra.Command, args []string) error {
			store, err := data.open(app.Log)
			if err != nil {
				return err
			}
			c, err := store.Restore(args[0])
			if err != nil {
				return withHint(err)
			}
			if !c.State.Finished() {
				app.Log.Info().Str("run", c.Run).Msg("to resume the run: " + humanize.ShellWords(data.command("resume", c.Run)...))
			}
			return ignoreEPIPE(report.WriteBackup(cmd.OutOrStdout(), &c, asJSON))
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	data.register(cmd.Flags())
	return cmd
}
