package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"nqueens/pkg/bus"
	"nqueens/pkg/cli"
	"nqueens/pkg/humanize"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/runstore"
)

func runsCommand(app *cli.App) *cobra.Command {
	var server *cli.Connection
	var data dataFlag
	var asJSON bool
	cmd := &cobra.Command{
		Use:        "runs",
		SuggestFor: []string{"list", "ls", "status"},
		Short:      "List the runs of this machine, and those on a server",
		Long: `List the runs whose ledgers are under --data, the newest first, and with --nats those
that the server knows as well. A run that is "interrupted" has lost its coordinator:
coordinator resume goes on with it.`,
		Example: `  coordinator runs
  coordinator runs --nats nats://127.0.0.1:4222 --json`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := server.Check(); err != nil {
				return err
			}
			store, err := data.open(app.Log)
			if err != nil {
				return err
			}
			rows, err := listRuns(cmd.Context(), app, store, server.URL)
			// Those of this machine are shown also where the server is away.
			if len(rows) == 0 && err == nil {
				app.Log.Info().Str("data", store.Path()).Msg("there are no runs")
			}
			return errors.Join(seenEnough(printRuns(cmd.OutOrStdout(), rows, asJSON)), err)
		},
	}
	flags := cmd.Flags()
	server = cli.ConnectionFlags(flags, "", "also list the runs on")
	flags.BoolVar(&asJSON, "json", false, "print a JSON object a line")
	data.register(flags)
	return cmd
}

// runRow is a run as runs shows it, and the JSON object that it prints.
type runRow struct {
	Run      string          `json:"run"`
	N        int             `json:"n,omitempty"` // not of a run that can't be read
	Symmetry queens.Symmetry `json:"symmetry,omitempty"`
	Placed   []queens.Square `json:"placed,omitempty"` // each [row,column]
	State    string          `json:"state"`
	Done     uint64          `json:"done"`
	Tasks    uint64          `json:"tasks"`
	Created  time.Time       `json:"created,omitzero"`
	Ledger   string          `json:"ledger,omitempty"` // folder, of a run of this machine
	Server   string          `json:"server,omitempty"` // that has the run, or on which this machine is at work on it
	Owner    string          `json:"owner,omitempty"`  // of a run that is at work
}

// listRuns returns the runs of this machine and those of a server, if one is named.
// A run that both know is listed for both. Beside an error there are those of this machine.
func listRuns(ctx context.Context, app *cli.App, store *runstore.Store, url string) ([]runRow, error) {
	local, err := store.List()
	if err != nil {
		return nil, withHint(err)
	}
	var rows []runRow
	for _, r := range local {
		row := runRow{
			Run: r.Run, N: r.N, Symmetry: r.Symmetry, Placed: r.Placed, State: r.Status(),
			Done: r.Done, Tasks: r.Tasks, Created: r.Created, Ledger: store.Folder(r.Run),
		}
		switch {
		case r.Err != nil:
			app.Log.Warn().Err(r.Err).Str("run", r.Run).Msg("the run's ledger can't be read")
		case r.Locked != nil:
			h := &r.Locked.Holder
			row.Owner, row.Server = fmt.Sprintf("%s, process %d", h.Host, h.PID), h.Server
		}
		if r.Damaged > 0 {
			app.Log.Warn().Str("run", r.Run).Int("records", r.Damaged).Msg("records of the run's ledger are damaged: they count for nothing")
		}
		rows = append(rows, row)
	}
	if url == "" {
		return rows, nil
	}
	b, err := bus.Connect(bus.Config{URL: url, Name: "nqueens runs", Lease: bus.DefaultLease, Log: app.Log})
	if err != nil {
		return rows, err
	}
	defer b.Close()
	records, err := b.Runs(ctx)
	if err != nil {
		return rows, fmt.Errorf("list the runs on %s: %w", b.Server(), err)
	}
	for _, r := range records {
		row := runRow{
			Run: r.Run, N: r.Manifest.N, Symmetry: r.Manifest.Symmetry, Placed: r.Manifest.Placed, State: string(r.State), Done: r.Done,
			Tasks: r.Manifest.Tasks, Created: r.Created, Server: b.Server(), Owner: r.Owner,
		}
		if r.State == run.Running && !atWork(&r) {
			row.State = runstore.Interrupted
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// lostAfter is how long a coordinator may not have renewed its record before it is
// held to be gone: several times the interval.
const lostAfter = 15 * time.Second

// atWork reports whether a run's coordinator has renewed its record lately.
func atWork(r *run.Record) bool {
	return r.State == run.Running && time.Since(r.Updated) < lostAfter
}

func printRuns(stdout io.Writer, rows []runRow, asJSON bool) error {
	if asJSON {
		out := json.NewEncoder(stdout)
		for _, row := range rows {
			if err := out.Encode(row); err != nil {
				return err
			}
		}
		return nil
	}
	if len(rows) == 0 {
		return nil
	}
	out := tabwriter.NewWriter(stdout, 0, 8, 2, ' ', 0)
	lines := []error{line(out, "RUN\tSTATE\tDONE\tTASKS\t%%\tAGE\tWHERE\n")}
	for _, r := range rows {
		done, tasks, share := "?", "?", "?"
		if r.State != runstore.Unreadable {
			done, tasks, share = strconv.FormatUint(r.Done, 10), strconv.FormatUint(r.Tasks, 10), percent(r.Done, r.Tasks)
		}
		lines = append(lines, line(out, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.Run, r.State, done, tasks, share, humanize.Age(r.Created), r.where()))
	}
	return errors.Join(append(lines, out.Flush())...)
}

// where says for people where a run is, and who is at work on it. That comes from others,
// on the server or in the folder.
func (r *runRow) where() string {
	words := slices.DeleteFunc([]string{r.Ledger, r.Server, r.Owner}, func(word string) bool { return word == "" })
	if len(r.Placed) > 0 {
		words = append(words, "queens placed on "+humanize.Squares(r.Placed))
	}
	return cli.Printable(strings.Join(words, ", "))
}

func line(out io.Writer, format string, args ...any) error {
	_, err := fmt.Fprintf(out, format, args...)
	return err
}

// percent rounds down: 100 means all.
func percent(done, tasks uint64) string {
	switch {
	case done == tasks:
		return "100"
	case tasks == 0:
		return "0"
	}
	return strings.TrimSuffix(humanize.Percent(float64(done)/float64(tasks), false), "%")
}
