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
		Long: `Copy the ledger of a run to a file, as it is at one moment, whether a coordinator works on
the run or not. The file is all that it takes to continue the run on another machine:
coordinator restore puts it there.

The copy is written to another file beside FILE, checked, and then renamed. So FILE is always
a complete copy, the new one or the one before. The coordinator must be on the same machine.`,
		Example: `  coordinator backup n14-20261120-153012-ab12 n14.backup
  coordinator backup n14-20261120-153012-ab12 n14.backup --json`,
		ValidArgsFunction: cli.WithEnvironment(data.completeRunAndFile),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return cli.Usagef("takes two arguments, the name of a run and a file, not %d: coordinator runs lists the runs", len(args))
			}
			name, err := runArg(args[:1])
			if err != nil {
				return err
			}
			if args[1] == "" {
				return cli.Usagef("the name of the file is empty")
			}
			store, name, err := data.find(app.Log, name)
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
coordinator resume then continues the run: with the server that it used, which may have
results from after the backup, or with any other. Missing counts are made again.`,
		Example: `  coordinator restore n14.backup --data elsewhere
  coordinator restore n14.backup --data elsewhere --json`,
		ValidArgsFunction: cli.CompleteFiles,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 || args[0] == "" {
				return cli.Usagef("takes one argument, the file of a backup, not %d", len(args))
			}
			store, err := data.open(app.Log)
			if err != nil {
				return err
			}
			c, err := store.Restore(args[0])
			if err != nil {
				return withHint(err)
			}
			if !c.State.Finished() {
				app.Log.Info().Str("run", c.Run).Msg("to resume the run: " + humanize.ShellWords(append(append(cli.Program(), "resume", c.Run), data.words()...)...))
			}
			return ignoreEPIPE(report.WriteBackup(cmd.OutOrStdout(), &c, asJSON))
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	data.register(cmd.Flags())
	return cmd
}
