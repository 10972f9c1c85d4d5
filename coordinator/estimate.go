package main

import (
	"context"
	"io"
	"runtime"

	"github.com/spf13/cobra"

	"nqueens/pkg/cli"
	"nqueens/pkg/estimate"
	"nqueens/pkg/kernel"
	"nqueens/pkg/ledger"
	"nqueens/pkg/report"
)

// estimateOptions are the flags of estimate.
type estimateOptions struct {
	workers int
	kernel  string
	json    bool
}

func estimateCommand() *cobra.Command {
	var o estimateOptions
	cmd := &cobra.Command{
		Use:   "estimate N",
		Short: "Say how long a count would take, before it is begun",
		Long: `Say how long it would take to count the ways to place N queens on a board of side N
(1 to 32), in how many tasks, and about how many ways there are. That takes some two
seconds, whatever N is: a sample of the work is counted, and random walks down the
board tell how much there is of it.

With --workers, it is for so many workers of one thread each, on cores like those of
this machine, here or elsewhere.`,
		Example: `  coordinator estimate 20
  coordinator estimate 24 --workers 512
  coordinator estimate 18 --json`,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := cli.ParseN(args)
			if err != nil {
				return err
			}
			if err := cli.CheckRange("workers", o.workers, 1, cli.MaxThreads); err != nil {
				return err
			}
			return runEstimate(cmd.Context(), n, &o, cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&o.workers, "workers", runtime.GOMAXPROCS(0), "workers that are to count, one thread each, 1 to 4096")
	flags.Var(kernelFlag(&o.kernel, kernel.Auto), "kernel", "search that they are to use; see worker kernels")
	flags.BoolVar(&o.json, "json", false, "print one JSON object")
	return cmd
}

func runEstimate(ctx context.Context, n int, o *estimateOptions, stdout io.Writer) error {
	chosen, err := kernel.Choose(o.kernel)
	if err != nil {
		return cli.Usagef("--kernel: %v", err)
	}
	job := estimate.Job{N: n, Kernel: chosen, Workers: o.workers, Threads: min(o.workers, runtime.GOMAXPROCS(0))}
	e, err := estimate.Run(ctx, job)
	if err != nil {
		return err
	}
	r := report.Estimate{
		N: n, Kernel: chosen.Name, Workers: o.workers,
		Seconds: report.Interval(e.Seconds), CoreSeconds: report.Interval(e.CoreSeconds),
		Solutions:   report.Solutions{Mean: e.Solutions.Mid, Low: e.Solutions.Low, High: e.Solutions.High, Probes: e.Probes},
		Tasks:       e.Tasks,
		Depth:       report.Depth{Min: e.MinDepth, Max: e.MaxDepth},
		LedgerBytes: ledger.ExpectedSize(e.Tasks),
	}
	return r.Write(stdout, o.json)
}
