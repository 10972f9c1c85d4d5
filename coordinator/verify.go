package main

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"nqueens/pkg/audit"
	"nqueens/pkg/cli"
	"nqueens/pkg/kernel"
	"nqueens/pkg/queens"
	"nqueens/pkg/report"
)

// verifyFlags are the flags of verify.
type verifyFlags struct {
	sample  string
	seed    uint64
	kernel  string
	threads int
	json    bool
	data    dataFlag
}

func verifyCommand(app *cli.App) *cobra.Command {
	var o verifyFlags
	cmd := &cobra.Command{
		Use:   "verify RUN",
		Short: "Audit a run's ledger, and recount a sample of its tasks",
		Long: `Read the whole ledger of a run and check the checksum of every record, that no task is
missing, that the tasks match the manifest, that the sums by task and by class agree, and
the published total. Then recount a sample of the tasks with the reference kernel, at least
one of each class. A run of up to 16 queens is also recounted as a whole: by another
symmetry, or with placed queens as its mirror image.`,
		Example: `  coordinator verify n14-20261120-153012-ab12
  coordinator verify n14-20261120-153012-ab12 --sample 100% --kernel auto`,
		ValidArgsFunction: cli.WithEnvironment(o.data.completeRun),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := runArg(args)
			if err != nil {
				return err
			}
			if !cmd.Flags().Changed("seed") {
				o.seed = rand.Uint64()
			}
			return verify(cmd.Context(), app, name, &o, cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.sample, "sample", "1%", "`share` of the tasks to recount, 0% to 100%; at least one per class")
	flags.Uint64Var(&o.seed, "seed", 0, "`number` that determines the sample (default random)")
	flags.Var(kernelFlag(&o.kernel, "generic"), "kernel", "search to recount with; see worker kernels")
	flags.IntVar(&o.threads, "threads", runtime.GOMAXPROCS(0), "tasks to recount at once, 1 to 4096")
	flags.BoolVar(&o.json, "json", false, "print one JSON object")
	o.data.register(flags)
	return cmd
}

func verify(ctx context.Context, app *cli.App, name string, o *verifyFlags, stdout io.Writer) (err error) {
	start := time.Now()
	share, err := parseShare(o.sample)
	if err != nil {
		return err
	}
	if err := cli.CheckRange("threads", o.threads, 1, cli.MaxThreads); err != nil {
		return err
	}
	k, err := kernel.Choose(o.kernel)
	if err != nil {
		return cli.Usagef("--kernel: %v", err)
	}
	l, err := o.data.openLedger(app.Log, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	m := l.Header().Manifest
	v := report.Verification{
		Run: name, N: m.N, Placed: m.Placed, Done: l.Len(), Tasks: m.Tasks, Kernel: k.Name, Seed: o.seed,
	}
	var recounted atomic.Uint64
	stopLogging := func() {}
	if !app.NoProgress {
		stopLogging = every(logInterval, func() {
			app.Log.Info().Uint64("recounted", recounted.Load()).Msg("verifying")
		})
	}
	sample := audit.Sample{Share: share, Seed: o.seed, Kernel: k, Threads: o.threads, Recounted: &recounted}
	found, err := audit.Verify(ctx, l, sample, func(err error) {
		app.Log.Warn().Err(err).Msg("there is no total; a sample is recounted all the same")
	})
	stopLogging()
	if err != nil && !errors.Is(err, queens.ErrContradiction) && !errors.Is(err, queens.ErrIncomplete) {
		return err
	}
	v.Recounted, v.Whole = found.Recounted, found.RecountedBy
	v.Known = report.Comparison(audit.CompareKnown(l, found.Total, err))
	v.Seconds = time.Since(start).Seconds()
	if v.Verified = err == nil; v.Verified {
		v.Total = (*report.Decimal)(found.Total)
	}
	return errors.Join(v.Write(stdout, o.json), withHint(err))
}

// parseShare reads a percentage, such as 1% or 0.05%.
func parseShare(text string) (float64, error) {
	number, percent := strings.CutSuffix(text, "%")
	share, err := strconv.ParseFloat(number, 64)
	if !percent || err != nil || !(share >= 0 && share <= 100) {
		return 0, cli.Usagef("--sample must be from 0%% to 100%%, such as 1%%, not %q", text)
	}
	return share / 100, nil
}
