package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"nqueens/pkg/audit"
	"nqueens/pkg/cli"
	"nqueens/pkg/humanize"
	"nqueens/pkg/page"
	"nqueens/pkg/queens"
	"nqueens/pkg/report"
	"nqueens/pkg/runs"
)

// verifyCommand is coordinator verify: it audits a run, and counts a sample of its tasks again.
func verifyCommand(app *cli.App) *cobra.Command {
	var data dataFlag
	var share float64
	var asJSON bool
	var method string
	cmd := &cobra.Command{
		Use:   "verify RUN",
		Short: "Audit a run's ledger, and count a sample of its tasks again",
		Long: `Audit the whole ledger of a run: checksums, missing tasks, whether each result searched
what this program would search, and the total, which is computed in two ways and compared with the
published one. Then count a sample of the tasks again, each by another kernel than before, or by
another method. A board of up to 16 queens is also counted as a whole, by another symmetry. Exit 3
says that something differs. Ctrl-C ends the recount and prints what is verified so far.`,
		Example: `  coordinator verify n14
  coordinator verify n14-20261120-153012-ab12 --sample 100%`,
		Args:              oneRun,
		ValidArgsFunction: data.completeRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			store, name, err := data.find(args, "")
			if err != nil {
				return err
			}
			if r := store.Inspect(name); r.Active != nil && r.IsUnfinished() {
				return fmt.Errorf("%w: follow it with %s, and verify it when it has ended", r.Active,
					data.command("watch", name))
			}
			audited := sync.OnceFunc(slow(app, "auditing the ledger"))
			defer audited()
			recounts := logRecount(app)
			s := audit.Sample{Share: share, Threads: cli.Cores(), OnProgress: func(done, of uint64) {
				audited()
				recounts(done, of)
			}}
			s.Other = method == "other"
			v, err := audit.Verify(cmd.Context(), store.Ledger(name), s)
			if v.Run == "" {
				return err
			}
			if asJSON {
				return errors.Join(report.WriteJSON(cmd.OutOrStdout(), v), err)
			}
			return errors.Join(report.WriteTable(cmd.OutOrStdout(), verification(&v), false), err)
		},
	}
	flags := cmd.Flags()
	shareFlag(flags, &share, "sample",
		"count this `SHARE` of the tasks again, 0% to 100%: 0% counts none, more at least one")
	cli.Enum(flags, &method, "method", "same",
		"count again by the method of the run, or by the other (only after halves)", "same", "other")
	flags.BoolVar(&asJSON, "json", false, "print the result as a JSON object")
	data.register(flags)
	return cmd
}

// verification returns the rows of a table about a verification.
func verification(v *audit.Verification) [][]string {
	rows := [][]string{{"run", v.Run, ""},
		{"tasks", humanize.Int(v.Done), "of " + humanize.Int(v.Tasks) + " are done"}}
	if v.Total != nil {
		rows = append(rows, []string{"total", v.Total.String(), report.ConfirmedBy(v.Confirmed)})
	}
	if v.Dropped > 0 {
		rows = append(rows, []string{"damaged", humanize.Int(v.Dropped),
			"results or marks, which are left out"})
	}
	if v.Recounted > 0 {
		outcome := "all agree"
		if v.Differing > 0 {
			outcome = humanize.Int(v.Differing) + " differ"
		}
		recounted := fmt.Sprintf("%s of the work, by %s: %s",
			humanize.Percent(v.Share, v.Share >= 1), strings.Join(v.Kernels, " and "), outcome)
		rows = append(rows, []string{"recounted", humanize.Plural(v.Recounted, "task"), recounted})
	}
	if v.Whole != "" {
		rows = append(rows, []string{"recounted", "whole", "by symmetry " + v.Whole})
	}
	took := humanize.Duration(time.Duration(v.Seconds * float64(time.Second)))
	return append(rows, []string{"verified", map[bool]string{true: "yes", false: "no"}[v.Verified],
		"in " + took})
}

// logRecount returns a function that logs the progress of a recount, at most every 10 s, unless
// --no-progress is set.
func logRecount(app *cli.App) func(done, of uint64) {
	var logged time.Time
	return func(done, of uint64) {
		switch {
		case done == 0:
			logged = time.Now()
		case !app.NoProgress && time.Since(logged) >= 10*time.Second:
			logged = time.Now()
			text := humanize.Int(done) + " of " + humanize.Plural(of, "task") + " recounted"
			app.Log.Info().Uint64("recounted", done).Uint64("of", of).
				Str(humanize.LogField, text).Msg("verifying")
		}
	}
}

// slow logs what a command does, as [report.Slow] does, unless --no-progress is set. The caller
// calls done at the end.
func slow(app *cli.App, what string) (done func()) {
	if app.NoProgress {
		return func() {}
	}
	return report.Slow(app.Log, what)
}

// ledgerCommand is coordinator ledger: it exports the tasks and counts of a run.
func ledgerCommand(app *cli.App) *cobra.Command {
	return writing(app, "exporting the tasks", &cobra.Command{
		Use:   "ledger RUN",
		Short: "Export the tasks of a run and their counts as JSON lines",
		Long: `Write every task of a run as a line of JSON: its id, the weight of its class, the allowed
squares of the board, the prefixes, and the count with the machine and kernel that counted it.
docs/ledger.md says how to add up the counts without this program. The run may still be counting.`,
		Example: "  coordinator ledger n14 > n14.jsonl",
	}, func(ctx context.Context, _ *dataFlag, store *runs.Store, run string, w io.Writer) error {
		return audit.Export(ctx, store.Ledger(run), w)
	})
}

// reportCommand is coordinator report: it writes the page of a run as one HTML file.
func reportCommand(app *cli.App) *cobra.Command {
	return writing(app, "writing the page", &cobra.Command{
		Use:   "report RUN",
		Short: "Write the page of a run as one HTML file",
		Long: "Write the page of a run, as it is now, as one HTML file that needs no other: to " +
			"keep, or to send.",
		Example: "  coordinator report n20 > n20.html",
	}, writeReport)
}

// writeReport writes the page of a run. For a complete run it audits the ledger first, so that the
// page has a total only if the audit finds it.
func writeReport(
	ctx context.Context, data *dataFlag, store *runs.Store, run string, w io.Writer,
) error {
	path := store.Ledger(run)
	snapshot, err := audit.Facts(ctx, path)
	if err != nil {
		return err
	}
	// the ledger does not say that a coordinator works on it
	if r := store.Inspect(run); r.State == queens.Running {
		snapshot.State = queens.Running
	}
	if snapshot.State.Resumes() {
		snapshot.Resume = data.resume(store, run)
	}
	out := bufio.NewWriter(w)
	if err := page.Write(out, &snapshot, audit.History(path), cli.Version()); err != nil {
		return err
	}
	return out.Flush()
}

// writing adds RUN, --data and the given function to a command. The function reads the ledger of
// the run, and writes to stdout. If that takes long, the log says what is done.
func writing(
	app *cli.App, what string, cmd *cobra.Command,
	write func(ctx context.Context, data *dataFlag, store *runs.Store, run string, w io.Writer) error,
) *cobra.Command {
	var data dataFlag
	cmd.Args, cmd.ValidArgsFunction = oneRun, data.completeRun
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		store, name, err := data.find(args, "")
		if err != nil {
			return err
		}
		defer slow(app, what)()
		return write(cmd.Context(), &data, store, name, cmd.OutOrStdout())
	}
	data.register(cmd.Flags())
	return cmd
}
