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
	var csv bool
	var task uint64
	cmd := &cobra.Command{
		Use:   "ledger RUN",
		Short: "Print every counted task of a run, with what is needed to recount it",
		Long: `Print the ledger of a run, a JSON object a line for each counted task: its prefixes, board and
count, which worker counted it, and what the worker signed. docs/ledger.md describes the
lines. worker task recounts them, and so can any other program.`,
		Example: `  coordinator ledger n14-20261120-153012-ab12 > subtotals.jsonl
  coordinator ledger n14-20261120-153012-ab12 --csv
  coordinator ledger n14-20261120-153012-ab12 --task 17 | worker task`,
		Args:              oneRun,
		ValidArgsFunction: data.completeRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			store, name, err := data.find(app.Log, args[0])
			if err != nil {
				return err
			}
			l, err := store.OpenReadOnly(name)
			if err != nil {
				return err
			}
			var ids []uint64
			if cmd.Flags().Changed("task") {
				ids = []uint64{task}
			}
			format := audit.JSONLines
			if csv {
				format = audit.CSV
			}
			err = audit.Export(cmd.Context(), l, cmd.OutOrStdout(), format, ids...)
			return errors.Join(ignoreEPIPE(err), l.Close())
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&csv, "csv", false, "print CSV with a header instead of JSON")
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
