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
	var workers, each int
	var speed float64
	var kernelName string
	var asJSON bool
	trust := trustFlags{spotCheck: "0%"}
	cmd := &cobra.Command{
		Use:   "estimate N",
		Short: "Estimate how long a count takes, before starting it",
		Long: `Estimate how long it takes to count the ways to place N queens on a board of side N
(1 to 32), the number of tasks, and the number of solutions. An estimate takes about two
seconds for any N: it counts a sample of the work, and random probes of the search tree
measure its size.

With --workers and --threads, the estimate is for that number of workers with so many threads
each, up to 1000000 threads, on cores like those of this machine. It says how many chunks of
tasks the server carries a second, what the coordinator needs, how long threads wait, and
what bounds the time: the search, or else something that more threads don't make faster.

With --redundancy and --spot-check, the estimate is for counting each task that often.`,
		Example: `  coordinator estimate 20
  coordinator estimate 24 --workers 512
  coordinator estimate 27 --workers 6250 --threads 16
  coordinator estimate 24 --workers 512 --redundancy 2
  coordinator estimate 18 --json`,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := cli.ParseN(args)
			if err != nil {
				return err
			}
			if err := cli.CheckRange("workers", workers, 1, estimate.MaxThreads); err != nil {
				return err
			}
			if err := cli.CheckRange("threads", each, 1, cli.MaxThreads); err != nil {
				return err
			}
			if !(speed >= 0 && speed <= estimate.MaxSpeed) {
				return cli.Usagef("--speed must be from 0 to %g, not %g", estimate.MaxSpeed, speed)
			}
			if all := workers * each; all > estimate.MaxThreads {
				return cli.Usagef("--workers %d --threads %d are %d threads, more than %d", workers, each, all, estimate.MaxThreads)
			}
			spotCheck, err := trust.checks()
			if err != nil {
				return err
			}
			k, err := kernel.Choose(kernelName)
			if err != nil {
				return cli.Usagef("--kernel: %v", err)
			}
			threads := min(workers*each, runtime.GOMAXPROCS(0))
			copies := float64(trust.redundancy) + spotCheck.Share
			e, err := estimate.Run(cmd.Context(), estimate.Job{
				N: n, Kernel: k, Workers: workers, WorkerThreads: each, Threads: threads, Speed: speed, Copies: copies,
			})
			if err != nil {
				return err
			}
			e.LedgerBytes = uint64(float64(ledger.ExpectedSize(e.Tasks)) * copies)
			return report.WriteEstimate(cmd.OutOrStdout(), &e, asJSON)
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&workers, "workers", runtime.GOMAXPROCS(0), "assume `N` workers, 1 to 1000000")
	cli.DefaultIsCores(flags, "workers")
	flags.IntVar(&each, "threads", 1, "assume `N` threads of each worker")
	flags.Float64Var(&speed, "speed", 0, "assume that a thread searches `N` nodes a second, instead of measuring it")
	trust.register(flags)
	flags.Var(kernelFlag(&kernelName, kernel.Auto), "kernel", "`KERNEL` that they use; see worker kernels")
	flags.BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}
