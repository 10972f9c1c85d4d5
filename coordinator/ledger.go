package main

import (
	"errors"
	"syscall"

	"github.com/spf13/cobra"

	"nqueens/pkg/audit"
	"nqueens/pkg/cli"
)

// ledgerCommand is coordinator ledger: it exports the tasks of a run with their counts.
func ledgerCommand(app *cli.App) *cobra.Command {
	var data dataFlag
	var format string
	var task uint64
	cmd := &cobra.Command{
		Use:   "ledger RUN",
		Short: "Print every counted task of a run, with what is needed to recount it",
		Long: `Print the ledger of a run, a line for each counted task: its prefixes, its board, its
count, which worker counted it, and what the worker signed. docs/ledger.md describes the
lines. worker task recounts them, and so can any other program.`,
		Example: `  coordinator ledger n14-20261120-153012-ab12 > subtotals.jsonl
  coordinator ledger n14-20261120-153012-ab12 --format csv
  coordinator ledger n14-20261120-153012-ab12 --task 17 | worker task`,
		ValidArgsFunction: cli.WithEnvironment(data.completeRun),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := runArg(args)
			if err != nil {
				return err
			}
			l, err := data.openLedger(app.Log, name)
			if err != nil {
				return err
			}
			var ids []uint64
			if cmd.Flags().Changed("task") {
				ids = []uint64{task}
			}
			err = audit.Export(cmd.Context(), l, cmd.OutOrStdout(), audit.ExportFormat(format), ids...)
			return errors.Join(ignoreEPIPE(err), l.Close())
		},
	}
	flags := cmd.Flags()
	formats := []string{string(audit.JSONLines), string(audit.CSV)}
	flags.Var(cli.NewEnum(&format, formats[0], formats...), "format", "form of the lines")
	flags.Uint64Var(&task, "task", 0, "print only task `N`, even without a count")
	data.register(flags)
	return cmd
}

// ignoreEPIPE returns nil if the reader of the output closed the pipe.
func ignoreEPIPE(err error) error {
	if errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return err
}
