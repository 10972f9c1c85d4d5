package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"nqueens/pkg/cli"
	"nqueens/pkg/estimate"
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
		Solutions:   solutionsReport{Mean: e.Solutions.Mid, Low: e.Solutions.Low, High: e.Solutions.High, Descents: e.Descents},
		Tasks:       e.Tasks,
		Depth:       depthReport{Min: e.MinDepth, Max: e.MaxDepth},
		LedgerBytes: ledger.ExpectedSize(e.Tasks),
	}
}

// print shows the estimate to a person, in columns.
func (r *estimateReport) print(stdout io.Writer) error {
	rows := plural(r.Depth.Max, "row")
	if r.Depth.Min < r.Depth.Max {
		rows = fmt.Sprintf("%d to %s", r.Depth.Min, rows)
	}
	out := tabwriter.NewWriter(stdout, 0, 8, 2, ' ', 0)
	return errors.Join(
		line(out, "time\t%s\t%s\t%s, %s\n", longTime(r.Seconds.Mid), between(r.Seconds, longTime), plural(r.Workers, "worker"), r.Kernel),
		line(out, "core time\t%s\t%s\tsearches alone\n", longTime(r.CoreSeconds.Mid), between(r.CoreSeconds, longTime)),
		line(out, "solutions\t%s\t%s\t95%% confidence, %s\n", large(r.Solutions.Mean),
			between(secondsReport{Low: r.Solutions.Low, High: r.Solutions.High}, large), plural(r.Solutions.Descents, "random descent")),
		line(out, "tasks\t%s\t\tprefixes of %s\n", large(float64(r.Tasks)), rows),
		line(out, "ledger\t%s\n", size(r.LedgerBytes)),
		out.Flush(),
	)
}

// between shows a range, or nothing where its ends look the same.
func between(r secondsReport, show func(float64) string) string {
	low, high := show(r.Low), show(r.High)
	if low == high {
		return ""
	}
	return low + " to " + high
}

// longTime shows any time in seconds: <0.1s, 1.6s, 4m12s, 3h20m, 12d4h, 3.1 years,
// 15 million years.
func longTime(seconds float64) string {
	const year = 365.25 * 24 * 3600
	switch {
	case seconds < 0.05:
		return "<0.1s"
	case seconds < 9.95:
		return fmt.Sprintf("%.1fs", seconds)
	case seconds < year:
		return round(time.Duration(math.Round(seconds)) * time.Second)
	}
	years, unit := seconds/year, " years"
	for _, larger := range []string{" thousand years", " million years", " billion years"} {
		if years < 999.5 {
			break
		}
		years, unit = years/1000, larger
	}
	return threeDigits(years) + unit
}

// large shows a number of anything: 724, 365596, 3.93e10.
func large(x float64) string {
	if x < 999999.5 {
		return fmt.Sprintf("%.0f", x)
	}
	digits, exponent, _ := strings.Cut(fmt.Sprintf("%.2e", x), "e+")
	return digits + "e" + strings.TrimLeft(exponent, "0")
}

// size shows a number of bytes: 128 KiB, 676 MiB.
func size(bytes uint64) string {
	const kib = 1 << 10
	if bytes < kib*kib {
		return fmt.Sprintf("%d KiB", bytes/kib)
	}
	return threeDigits(float64(bytes)/kib/kib) + " MiB"
}

// threeDigits shows a number of at least 1: 3.1, 31.4, 314.
func threeDigits(x float64) string {
	if x < 99.95 {
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.0f", x)
}

// plural names how many there are of something.
func plural(number int, what string) string {
	if number == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", number, what)
}
