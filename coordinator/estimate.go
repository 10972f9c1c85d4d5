package main

import (
	"io"

	"github.com/spf13/cobra"

	"nqueens/pkg/cli"
	"nqueens/pkg/estimate"
	"nqueens/pkg/humanize"
	"nqueens/pkg/kernel"
	"nqueens/pkg/report"
)

// estimateCommand is coordinator estimate: it estimates how long a count takes.
func estimateCommand() *cobra.Command {
	var threads int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "estimate N",
		Short: "Estimate how long a count takes, before starting it",
		Long: `Estimate how long it takes to count the ways to place N queens on a board of side N (1 to 32), on this machine
and on more threads of the same speed. The command counts a sample of the work and probes the search tree at
random, which takes about two seconds.`,
		Example: `  coordinator estimate 20
  coordinator estimate 24 --threads 512
  coordinator estimate 18 --json`,
		Args:              oneN,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := cli.ParseN(args[0])
			if err != nil {
				return err
			}
			k, err := kernel.Choose(kernel.Auto)
			if err != nil {
				return err
			}
			e, err := estimate.Run(cmd.Context(), estimate.Job{
				N: n, Kernel: k, Threads: threads, Cores: min(threads, cli.Cores()),
			})
			if err != nil {
				return err
			}
			if asJSON {
				return report.WriteJSON(cmd.OutOrStdout(), e)
			}
			return writeEstimate(cmd.OutOrStdout(), e)
		},
	}
	flags := cmd.Flags()
	cli.Threads(flags, &threads, "threads", 1, 1_000_000, "assume `N` threads")
	flags.BoolVar(&asJSON, "json", false, "print the estimate as a JSON object")
	return cmd
}

// writeEstimate writes an estimate as a table.
func writeEstimate(w io.Writer, e *estimate.Estimate) error {
	between := func(r estimate.Range) string { return humanize.Range(r.Low, r.High, humanize.Seconds) }
	rows := [][]string{
		{"nodes", humanize.Approx(e.Nodes), "of the plain search tree, in about " + humanize.Approx(e.Tasks) + " tasks"},
		{"core time", humanize.Seconds(e.CoreSeconds.Mid), between(e.CoreSeconds) + ", " + e.Kernel},
		{humanize.Plural(e.Threads, "thread"), humanize.Seconds(e.Seconds.Mid), between(e.Seconds)},
	}
	for _, f := range e.Fleets {
		if f.Threads != e.Threads {
			rows = append(rows, []string{humanize.Plural(f.Threads, "thread"), humanize.Seconds(f.Seconds), ""})
		}
	}
	return report.WriteTable(w, rows, false)
}
