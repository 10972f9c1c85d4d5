package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"nqueens/pkg/cli"
	"nqueens/pkg/estimate"
	"nqueens/pkg/humanize"
	"nqueens/pkg/kernel"
	"nqueens/pkg/ledger"
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
	flags.Var(kernelChoice(&o.kernel, kernel.Auto), "kernel", "search that they are to use; see worker kernels")
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
	r := newEstimateReport(&job, &e)
	if o.json {
		return json.NewEncoder(stdout).Encode(r)
	}
	return r.print(stdout)
}

// estimateReport is the JSON object that estimate prints.
type estimateReport struct {
	N           int             `json:"n"`
	Kernel      string          `json:"kernel"`
	Workers     int             `json:"workers"`
	Seconds     secondsReport   `json:"seconds"`
	CoreSeconds secondsReport   `json:"core_seconds"`
	Solutions   solutionsReport `json:"solutions"`
	Tasks       uint64          `json:"tasks"`
	Depth       depthReport     `json:"depth"`
	LedgerBytes uint64          `json:"ledger_bytes"`
}

type secondsReport struct {
	Low  float64 `json:"low"`
	Mid  float64 `json:"mid"`
	High float64 `json:"high"`
}

// solutionsReport has the 95% confidence interval.
type solutionsReport struct {
	Mean     float64 `json:"mean"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
	Descents int     `json:"descents"`
}

// depthReport is in rows.
type depthReport struct {
	Min int `json:"min"`
	Max int `json:"max"`
}

func newEstimateReport(job *estimate.Job, e *estimate.Estimate) estimateReport {
	return estimateReport{
		N: job.N, Kernel: job.Kernel.Name, Workers: job.Workers,
		Seconds: secondsReport(e.Seconds), CoreSeconds: secondsReport(e.CoreSeconds),
		Solutions:   solutionsReport{Mean: e.Solutions.Mid, Low: e.Solutions.Low, High: e.Solutions.High, Descents: e.Probes},
		Tasks:       e.Tasks,
		Depth:       depthReport{Min: e.MinDepth, Max: e.MaxDepth},
		LedgerBytes: ledger.ExpectedSize(e.Tasks),
	}
}

// print shows the estimate to a person, in columns.
func (r *estimateReport) print(stdout io.Writer) error {
	rows := humanize.Plural(r.Depth.Max, "row")
	if r.Depth.Min < r.Depth.Max {
		rows = fmt.Sprintf("%d to %s", r.Depth.Min, rows)
	}
	out := tabwriter.NewWriter(stdout, 0, 8, 2, ' ', 0)
	return errors.Join(
		line(out, "time\t%s\t%s\t%s, %s\n", humanize.Seconds(r.Seconds.Mid), between(r.Seconds, humanize.Seconds), humanize.Plural(r.Workers, "worker"), r.Kernel),
		line(out, "core time\t%s\t%s\tsearches alone\n", humanize.Seconds(r.CoreSeconds.Mid), between(r.CoreSeconds, humanize.Seconds)),
		line(out, "solutions\t%s\t%s\t95%% confidence, %s\n", humanize.Approx(r.Solutions.Mean),
			between(secondsReport{Low: r.Solutions.Low, High: r.Solutions.High}, humanize.Approx), humanize.Plural(r.Solutions.Descents, "random probe")),
		line(out, "tasks\t%s\t\tprefixes of %s\n", humanize.Approx(float64(r.Tasks)), rows),
		line(out, "ledger\t%s\n", humanize.Bytes(r.LedgerBytes)),
		out.Flush(),
	)
}

// between shows a range, or nothing where its ends look the same.
func between(r secondsReport, show func(float64) string) string {
	if show(r.Low) == show(r.High) {
		return ""
	}
	return humanize.Range(r.Low, r.High, show)
}
