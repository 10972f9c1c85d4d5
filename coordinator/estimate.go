package main

import (
	"cmp"
	"runtime"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"nqueens/pkg/cli"
	"nqueens/pkg/estimate"
	"nqueens/pkg/kernel"
	"nqueens/pkg/ledger"
	"nqueens/pkg/report"
)

// estimateCommand is coordinator estimate: it predicts how long a count takes.
func estimateCommand() *cobra.Command {
	var machines, threads int
	var speed float64
	var kernelName string
	var asJSON bool
	var trust trustFlags
	var watts wattsFlag
	cmd := &cobra.Command{
		Use:   "estimate [N]",
		Short: "Estimate how long a count takes, before starting it",
		Long: `Estimate how long it takes to count the ways to place N queens on a board of side N (1 to 32;
without N, 18), the number of tasks, and the number of solutions. It counts a sample of the work
and probes the search tree at random, which takes about two seconds.

With --machines and --threads, the estimate is for a cluster with cores like those of this
machine, up to 1000000 threads. It says what the server and the coordinator need, and what
limits the time: the search, or something that more threads don't make faster.`,
		Example: `  coordinator estimate 20
  coordinator estimate 24 --machines 32 --threads 16
  coordinator estimate 18 --json`,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{defaultN}
			}
			n, err := cli.ParseN(args)
			if err != nil {
				return err
			}
			if err := cli.CheckRange("machines", machines, 1, estimate.MaxThreads); err != nil {
				return err
			}
			if err := cli.CheckRange("threads", threads, 1, cli.MaxThreads); err != nil {
				return err
			}
			if !(speed >= 0 && speed <= estimate.MaxSpeed) {
				return cli.Usagef("--speed must be from 0 to %g, not %g", estimate.MaxSpeed, speed)
			}
			all := machines * threads
			if all > estimate.MaxThreads {
				return cli.Usagef("--machines %d --threads %d are %d threads, more than %d", machines, threads, all, estimate.MaxThreads)
			}
			spotCheck, err := trust.checks()
			if err := cmp.Or(err, watts.check()); err != nil {
				return err
			}
			k, err := kernel.Choose(kernelName)
			if err != nil {
				return cli.Usagef("--kernel: %v", err)
			}
			copies := float64(trust.redundancy) + spotCheck.Share
			e, err := estimate.Run(cmd.Context(), estimate.Job{
				N: n, Kernel: k, Workers: machines, WorkerThreads: threads, Threads: min(all, runtime.GOMAXPROCS(0)), Speed: speed, Copies: copies,
			})
			if err != nil {
				return err
			}
			e.LedgerBytes = uint64(float64(ledger.ExpectedSize(e.Tasks)) * copies)
			if c := e.CoreSeconds; watts > 0 {
				e.KWh = &estimate.Range{Low: watts.kWh(c.Low / 3600), Mid: watts.kWh(c.Mid / 3600), High: watts.kWh(c.High / 3600)}
			}
			return report.WriteEstimate(cmd.OutOrStdout(), &e, asJSON)
		},
	}
	flags := cmd.Flags()
	cli.FlagGroup(flags, "Workers", func(flags *pflag.FlagSet) {
		flags.IntVar(&machines, "machines", 1, "assume `N` machines, 1 to 1000000")
		flags.IntVar(&threads, "threads", runtime.GOMAXPROCS(0), "assume `N` threads of each machine, 1 to 4096")
		cli.DefaultIs(flags, "threads", cli.OnePerCore)
		flags.Var(kernelFlag(&kernelName, kernel.Auto), "kernel", "`KERNEL` of the threads; see worker kernels")
		flags.Float64Var(&speed, "speed", 0, "assume that a thread searches `N` nodes a second, instead of measuring it")
	})
	trust.register(flags)
	cli.FlagGroup(flags, "Output", func(flags *pflag.FlagSet) {
		flags.BoolVar(&asJSON, "json", false, "print one JSON object")
		watts.register(flags)
	})
	return cmd
}
