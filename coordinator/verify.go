package main

import (
	"context"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"nqueens/pkg/audit"
	"nqueens/pkg/cli"
	"nqueens/pkg/kernel"
	"nqueens/pkg/report"
	"nqueens/pkg/run"
)

// verifyFlags are the flags of verify.
type verifyFlags struct {
	sample  string
	limit   time.Duration
	seed    uint64
	kernel  string
	threads int
	json    bool
	data    dataFlag
	report  reportFlag
}

func verifyCommand(app *cli.App) *cobra.Command {
	var o verifyFlags
	cmd := &cobra.Command{
		Use:   "verify RUN",
		Short: "Audit a run's ledger, and recount a sample of its tasks",
		Long: `Check the whole ledger of a run: checksums, signatures, missing tasks, the manifest, the sums by
task and by class, and the published total. Then recount a sample of the tasks, each with the fastest kernel other than
the one that counted it; with --sample and --for, whichever ends first. A run of up to 16
queens is also recounted as a whole, by another symmetry.

A difference does not end the recount; the exit code is 3. Ctrl-C ends it and prints what is
verified.`,
		Example: `  coordinator verify n14-20261120-153012-ab12
  coordinator verify n14-20261120-153012-ab12 --for 30s
  coordinator verify n14-20261120-153012-ab12 --sample 100% --kernel auto`,
		Args:              oneRun,
		ValidArgsFunction: o.data.completeRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("seed") {
				o.seed = rand.Uint64()
			}
			if cmd.Flags().Changed("for") && !cmd.Flags().Changed("sample") {
				o.sample = "100%"
			}
			return verify(cmd.Context(), app, args[0], &o, cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.sample, "sample", "1%", "`SHARE` of the tasks to recount, 0% to 100%; at least one task")
	cli.DefaultIs(flags, "sample", "1%, or 100% with --for")
	flags.DurationVar(&o.limit, "for", 0, "recount for this `DURATION`, such as 30s")
	flags.Uint64Var(&o.seed, "seed", 0, "choose the sample by the number `N` (default random)")
	flags.Var(cli.NewEnum(&o.kernel, otherKernel, append([]string{otherKernel}, kernel.Names()...)...).WithScope("this machine"),
		"kernel", "`KERNEL` to recount with; other is the fastest that did not count the task")
	flags.IntVar(&o.threads, "threads", runtime.GOMAXPROCS(0), "recount `N` tasks at once, 1 to 4096")
	cli.DefaultIs(flags, "threads", cli.OnePerCore)
	flags.BoolVar(&o.json, "json", false, "print one JSON object")
	o.data.register(flags)
	o.report.register(flags)
	return cmd
}

// otherKernel is the choice of a kernel for each task: see [kernel.Differing].
const otherKernel = "other"

func verify(ctx context.Context, app *cli.App, name string, o *verifyFlags, stdout io.Writer) (err error) {
	start := time.Now()
	share, err := parseShare("sample", o.sample)
	if err != nil {
		return err
	}
	if err := cli.CheckRange("threads", o.threads, 1, cli.MaxThreads); err != nil {
		return err
	}
	if o.limit < 0 {
		return cli.Usagef("--for must not be negative, such as 30s, not %v", o.limit)
	}
	sample := audit.Sample{
		Share: share, Limit: o.limit, Seed: o.seed, Threads: o.threads,
		OnDifference: func(d run.Difference) {
			app.Log.Error().Uint64("task", d.Task).Msg("a recount differs: " + d.String())
		},
	}
	if o.kernel != otherKernel {
		k, err := kernel.Choose(o.kernel)
		if err != nil {
			return cli.Usagef("--kernel: %v", err)
		}
		sample.Kernel = &k
	}
	if err := o.report.check(); err != nil {
		return err
	}
	store, name, err := o.data.find(app.Log, name)
	if err != nil {
		return err
	}
	l, err := store.OpenReadOnly(name)
	if err != nil {
		return withHint(err)
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	if !app.NoProgress {
		sample.OnProgress = logRecount(app, o.limit)
	}
	v, err := audit.Verify(ctx, l, sample, func(err error) {
		app.Log.Warn().Err(err).Msg("there is no total; a sample is recounted all the same")
	})
	if err != nil {
		return err
	}
	v.Seconds = time.Since(start).Seconds()
	ended := withHint(v.Err)
	var failed error
	if o.report.path != "" {
		d := &report.Document{Verification: &v, Survey: audit.Survey(l)}
		failed = o.report.write(app, d, store, name, ended)
	}
	return errors.Join(failed, report.WriteVerification(stdout, &v, o.json), ended)
}

// logRecount returns a function that logs from time to time how far a recount is that ends after limit, or 0 for none.
func logRecount(app *cli.App, limit time.Duration) func(done, of uint64) {
	checking := time.AfterFunc(recountLogInterval, func() { app.Log.Info().Msg("checking the ledger") })
	var begun, logged time.Time
	return func(done, of uint64) {
		now := time.Now()
		if done == 0 {
			checking.Stop()
			begun, logged = now, now
		}
		if now.Sub(logged) < recountLogInterval {
			return
		}
		logged = now
		left := now.Sub(begun).Seconds() / float64(done) * float64(of-done)
		if limit > 0 {
			left = min(left, max(limit-now.Sub(begun), 0).Seconds())
		}
		app.Log.Info().Uint64("recounted", done).Uint64("of", of).Float64("eta_s", math.Round(left)).Msg("verifying")
	}
}

// recountLogInterval is the time between two lines of progress.
const recountLogInterval = 10 * time.Second

// parseShare reads a percentage, such as 1% or 0.05%.
func parseShare(flag, text string) (float64, error) {
	number, percent := strings.CutSuffix(text, "%")
	share, err := strconv.ParseFloat(number, 64)
	if !percent || err != nil || !(share >= 0 && share <= 100) {
		return 0, cli.Usagef("--%s must be from 0%% to 100%%, such as 1%%, not %q", flag, text)
	}
	return share / 100, nil
}
