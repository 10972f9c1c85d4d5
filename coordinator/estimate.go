package main

import (
	"runtime"

	"github.com/spf13/cobra"

	"nqueens/pkg/cli"
	"nqueens/pkg/estimate"
	"nqueens/pkg/kernel"
	"nqueens/pkg/ledger"
	"nqueens/pkg/report"
)

// estimateCommand is coordinator estimate: it predicts how long a count takes.
func estimateCommand() *cobra.Command {
	var workers int
	var kernelName string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "estimate N",
		Short: "Estimate how long a count takes, before starting it",
		Long: `Estimate how long it takes to count the ways to place N queens on a board of side N
(1 to 32), the number of tasks, and the number of solutions. An estimate takes about two
seconds for any N: it counts a sample of the work, and random probes of the search tree
measure its size.

With --workers, the estimate is for that number of workers with one thread each, on cores
like those of this machine.`,
		Example: `  coordinator estimate 20
  coordinator estimate 24 --workers 512
  coordinator estimate 18 --json`,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := cli.ParseN(args)
			if err != nil {
				return err
			}
			if err := cli.CheckRange("workers", workers, 1, cli.MaxThreads); err != nil {
				return err
			}
			k, err := kernel.Choose(kernelName)
			if err != nil {
				return cli.Usagef("--kernel: %v", err)
			}
			threads := min(workers, runtime.GOMAXPROCS(0))
			e, err := estimate.Run(cmd.Context(), estimate.Job{N: n, Kernel: k, Workers: workers, Threads: threads})
			if err != nil {
				return err
			}
			r := report.Estimate{
				N: n, Kernel: k.Name, Workers: workers,
				Seconds: report.Interval(e.Seconds), CoreSeconds: report.Interval(e.CoreSeconds),
				Solutions: report.Solutions{
					Mean: e.Solutions.Mid, Low: e.Solutions.Low, High: e.Solutions.High, Probes: e.Probes,
				},
				Tasks:       e.Tasks,
				Depth:       report.Depth{Min: e.MinDepth, Max: e.MaxDepth},
				LedgerBytes: ledger.ExpectedSize(e.Tasks),
			}
			return r.Write(cmd.OutOrStdout(), asJSON)
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&workers, "workers", runtime.GOMAXPROCS(0), "number of workers, one thread each, 1 to 4096")
	flags.Var(kernelFlag(&kernelName, kernel.Auto), "kernel", "kernel that they use; see worker kernels")
	flags.BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}
