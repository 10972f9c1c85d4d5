package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"nqueens/pkg/cli"
	"nqueens/pkg/count"
	"nqueens/pkg/estimate"
	"nqueens/pkg/humanize"
	"nqueens/pkg/kernel"
	"nqueens/pkg/kernel/opencl"
	"nqueens/pkg/queens"
	"nqueens/pkg/report"
)

// estimateFlags are the flags of coordinator estimate.
type estimateFlags struct {
	threads int
	asked   func() bool // reports whether --threads was given
	kernel  string
	method  string
	asJSON  bool
}

// estimateCommand is coordinator estimate: it estimates how long a count takes.
func estimateCommand(app *cli.App) *cobra.Command {
	var o estimateFlags
	cmd := &cobra.Command{
		Use:   "estimate N",
		Short: "Estimate how long a count takes, before starting it",
		Long: `Estimate how long it takes to count the ways to place N queens on a board of side N (1 to
32), on this machine and on more threads of the same speed. The command counts a sample of the work
and probes the search tree at random, which takes about two seconds. With --kernel opencl it
measures the GPUs of this machine.`,
		Example: `  coordinator estimate 20
  coordinator estimate 24 --threads 512
  coordinator estimate 18 --json
  coordinator estimate 24 --method halves
  coordinator estimate 24 --kernel opencl`,
		Args:              oneN,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := cli.ParseN(args[0])
			if err != nil {
				return err
			}
			if queens.Method(o.method) == queens.Halves {
				return o.estimateHalves(cmd, n)
			}
			e, err := o.estimate(cmd.Context(), app, n)
			if err != nil {
				return err
			}
			if o.asJSON {
				return report.WriteJSON(cmd.OutOrStdout(), e)
			}
			return writeEstimate(cmd.OutOrStdout(), e, o.searcher())
		},
	}
	flags := cmd.Flags()
	cli.Threads(flags, &o.threads, "threads", 1, 1_000_000,
		"assume `N` threads, or devices with --kernel opencl")
	o.asked = func() bool { return flags.Changed("threads") }
	cli.Checked(flags, "kernel", kernel.Auto,
		"measure this `KERNEL`: auto is the fastest of the processor, opencl all GPUs", o.setKernel)
	cli.Method(flags, &o.method, "estimate the time by this method")
	flags.BoolVar(&o.asJSON, "json", false, "print the result as a JSON object")
	return cmd
}

// setKernel sets the kernel that has the given name. It loads no driver.
func (o *estimateFlags) setKernel(name string) error {
	o.kernel = name
	if opencl.Selects(name) {
		return opencl.Validate(name)
	}
	if !slices.Contains(kernel.Names(), name) {
		return fmt.Errorf("must be one of %s, %s for all GPUs, or a device such as %s0, not %q",
			strings.Join(kernel.Names(), ", "), opencl.All, opencl.Prefix, name)
	}
	return nil
}

// searcher names what the estimate counts on.
func (o *estimateFlags) searcher() string {
	if opencl.Selects(o.kernel) {
		return "device"
	}
	return "thread"
}

// estimate makes the estimate. For devices, the table of fleets has the speed of the first one, and
// everything else the speed of all together.
func (o *estimateFlags) estimate(
	ctx context.Context, app *cli.App, n int,
) (*estimate.Estimate, error) {
	if !opencl.Selects(o.kernel) {
		k, err := kernel.Choose(o.kernel)
		if err != nil {
			return nil, err
		}
		return estimate.Run(ctx, estimate.Job{
			N: n, Kernel: k, Threads: o.threads, Cores: min(o.threads, cli.Cores()),
			Fleets: []int{16, 64, 256, 1024},
		})
	}
	devices, note, err := opencl.Kernels(o.kernel)
	if err != nil {
		return nil, err
	}
	if note != "" {
		app.Log.Warn().Msg(note)
	}
	first := estimate.Job{N: n, Kernel: devices[0], Threads: 1, Cores: 1, Fleets: []int{1, 8, 64}}
	all := estimate.Job{
		N: n, Kernel: opencl.Together(o.kernel, devices), Threads: len(devices), Cores: len(devices),
	}
	if o.asked() {
		all.Threads = o.threads
	}
	ofFirst, err := estimate.Run(ctx, first)
	if err != nil || len(devices) == 1 && all.Threads == 1 {
		return ofFirst, err
	}
	e, err := estimate.Run(ctx, all)
	if err != nil {
		return nil, err
	}
	e.Fleets = ofFirst.Fleets
	return e, nil
}

// estimateHalves estimates a count by the method halves, and prints the estimate.
func (o *estimateFlags) estimateHalves(cmd *cobra.Command, n int) error {
	if opencl.Selects(o.kernel) {
		return cli.Usagef("--method %s counts on the processor: leave out --kernel %s", queens.Halves,
			o.kernel)
	}
	e, err := estimate.Halves(cmd.Context(), estimate.HalvesJob{
		N: n, Kernel: count.HalvesNamed(o.kernel), Threads: o.threads, Cores: min(o.threads, cli.Cores()),
	})
	if err != nil {
		return err
	}
	if o.asJSON {
		return report.WriteJSON(cmd.OutOrStdout(), e)
	}
	between := func(r estimate.Range) string { return humanize.Range(r.Low, r.High, humanize.Seconds) }
	measured := fmt.Sprintf("%s, from %s of n = %d", e.Kernel, humanize.Plural(e.Sample, "row set"),
		e.Measured)
	rows := [][]string{
		{"row sets", humanize.Int(e.RowSets), ""},
		{"core time", humanize.Seconds(e.CoreSeconds.Mid), between(e.CoreSeconds) + ", " + measured},
		{humanize.Plural(e.Threads, "thread"), humanize.Seconds(e.Seconds.Mid), between(e.Seconds)},
		{"memory", humanize.Bytes(e.Memory), "on these threads"},
	}
	for _, f := range e.Fleets {
		if f.Threads != e.Threads {
			rows = append(rows, []string{humanize.Plural(f.Threads, "thread"), humanize.Seconds(f.Seconds),
				""})
		}
	}
	return report.WriteTable(cmd.OutOrStdout(), rows, false)
}

// writeEstimate writes an estimate as a table. searcher is thread or device.
func writeEstimate(w io.Writer, e *estimate.Estimate, searcher string) error {
	between := func(r estimate.Range) string { return humanize.Range(r.Low, r.High, humanize.Seconds) }
	time, same := "core time", ""
	if searcher == "device" {
		time, same = "device time", "like the first of this machine"
	}
	rows := [][]string{
		{"nodes", humanize.Approx(e.Nodes),
			"of the plain search tree, in about " + humanize.Approx(e.Tasks) + " tasks"},
		{time, humanize.Seconds(e.CoreSeconds.Mid), between(e.CoreSeconds) + ", " + e.Kernel},
		{humanize.Plural(e.Threads, searcher), humanize.Seconds(e.Seconds.Mid), between(e.Seconds)},
	}
	for _, f := range e.Fleets {
		if f.Threads != e.Threads {
			number := humanize.Plural(f.Threads, searcher)
			rows = append(rows, []string{number, humanize.Seconds(f.Seconds), same})
		}
	}
	return report.WriteTable(w, rows, false)
}
