package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"nqueens/pkg/cli"
	"nqueens/pkg/count"
	"nqueens/pkg/kernel"
)

// taskCommand is worker task: it recounts the tasks of a ledger export and compares the counts.
func taskCommand() *cobra.Command {
	var search searchFlags
	cmd := &cobra.Command{
		Use:   "task [FILE]",
		Short: "Count exported tasks again",
		Long: `Count tasks again that the coordinator's command ledger has exported. They are read from
FILE, or from standard input if FILE is - or missing. Print a JSON line for each task, in the same
order, with its count, and whether it equals the exported count. Exit 3 says that a count differs.`,
		Example: `  coordinator ledger n14-20261120-153012-ab12 | worker task --kernel generic
  worker task n14.jsonl
  grep '"task":17,' n14.jsonl | worker task`,
		Args: cli.Arguments(0, 1, "one argument, the file to read, or none"),
		RunE: func(cmd *cobra.Command, args []string) error {
			k, counters, err := search.together()
			if err != nil {
				return err
			}
			tests := 1
			if k.AtOnce > 0 { // each counter is on another device
				tests = counters
			}
			for range tests {
				if err := kernel.SelfTest(cmd.Context(), k); err != nil {
					return err
				}
			}
			name, in := "standard input", cmd.InOrStdin()
			if len(args) > 0 && args[0] != "-" {
				file, err := os.Open(args[0])
				if err != nil {
					return err
				}
				defer func() { _ = file.Close() }() // read only: nothing is lost
				name, in = args[0], file
			}
			byHalves, err := search.halves()
			if err != nil {
				return err
			}
			by := count.Kernels{Prefixes: k, Halves: byHalves}
			if err := count.RecountLines(cmd.Context(), in, cmd.OutOrStdout(), by, counters); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			return nil
		},
	}
	search.register(cmd)
	return cmd
}
