package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"golang.org/x/term"

	"nqueens/pkg/bus"
	"nqueens/pkg/cli"
	"nqueens/pkg/humanize"
	"nqueens/pkg/queens"
	"nqueens/pkg/report"
	"nqueens/pkg/runs"
)

// runsCommand is coordinator runs: it lists the runs on this machine, or the runs that answer on a
// server.
func runsCommand(app *cli.App) *cobra.Command {
	var server bus.Flags
	var data dataFlag
	var asJSON bool
	cmd := &cobra.Command{
		Use:        "runs [RUN]",
		SuggestFor: []string{"list", "ls", "status", "ps"},
		Short:      "List the runs on this machine, or those on a server",
		Long: `List the runs under --data, the newest first, each with its start, the time that it took,
and its total or the part of its work that is done. An "interrupted" run has lost its coordinator:
the command resume goes on with it. With --nats or --join, list the runs whose coordinators answer
on that server.`,
		Example: `  coordinator runs
  coordinator runs n20 --json
  coordinator runs --nats nats://127.0.0.1:4222`,
		Args:              oneRunOrNone,
		ValidArgsFunction: data.completeRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			prefix := strings.Join(args, "")
			if server.IsSet() {
				snapshots, err := askServer(cmd.Context(), app, &server, prefix)
				if len(snapshots) == 0 && err == nil {
					app.Log.Info().Msg("no coordinator answers on the server")
				}
				return errors.Join(writeSnapshots(cmd.OutOrStdout(), snapshots, asJSON), err)
			}
			store, err := data.open()
			if err != nil {
				return err
			}
			list, err := store.List()
			if err != nil {
				return err
			}
			list = slices.DeleteFunc(list, func(r runs.Run) bool {
				return !queens.BeginsRun(r.Name, prefix)
			})
			if len(list) == 0 {
				app.Log.Info().Msg("there are no runs in " + store.Path())
			}
			return writeRuns(cmd.OutOrStdout(), store, &data, list, asJSON)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&asJSON, "json", false, "print JSON objects, one a line")
	commonFlags(flags, &server, &data)
	return cmd
}

// listedRun is a run of this machine in JSON.
type listedRun struct {
	queens.Snapshot
	Status string `json:"status"`           // the state
	Ledger string `json:"ledger"`           // folder of the ledger
	Bytes  int64  `json:"bytes"`            // size of the ledger
	Server string `json:"server,omitempty"` // address at which it can be watched
}

// unreadableRun is a run of this machine in JSON that can't be read: nothing else is known of it.
type unreadableRun struct {
	Run    string `json:"run"`
	Status string `json:"status"` // "unreadable"
	Ledger string `json:"ledger"` // folder of the ledger
	Error  string `json:"error"`  // why it can't be read
}

// writeRun writes a run of this machine as JSON.
func writeRun(w io.Writer, store *runs.Store, data *dataFlag, r *runs.Run) error {
	folder := store.Folder(r.Name)
	if r.Err != nil {
		return report.WriteJSON(w, unreadableRun{r.Name, r.Status(), folder, r.Err.Error()})
	}
	listed := listedRun{Snapshot: r.Snapshot(), Status: r.Status(), Ledger: folder, Bytes: r.Bytes}
	if r.State.Resumes() {
		listed.Resume = data.resume(store, r.Name)
	}
	if r.Active != nil {
		listed.Server = bus.Redact(r.Active.Holder.Server)
	}
	return report.WriteJSON(w, listed)
}

// writeRuns writes the runs of a store, as JSON, or as a table with notes below it.
func writeRuns(w io.Writer, store *runs.Store, data *dataFlag, list []runs.Run, asJSON bool) error {
	if len(list) == 0 {
		return nil
	}
	rows := [][]string{{"RUN", "STATE", "TOTAL", "STARTED", "TOOK"}}
	var notes []string
	for i := range list {
		r := &list[i]
		if asJSON {
			if err := writeRun(w, store, data, r); err != nil {
				return err
			}
			continue
		}
		started := r.Created().Local().Format("2006-01-02 15:04")
		if r.Err != nil {
			rows = append(rows, []string{r.Name, r.Status(), "?", started, "?"})
			notes = append(notes, fmt.Sprintf("%s: %v", r.Name, r.Err))
			continue
		}
		s := r.Snapshot()
		rows = append(rows, []string{r.Name, r.Status(), totalOf(&s), started,
			humanize.Duration(s.Elapsed.Duration)})
		if len(s.Placed) > 0 {
			notes = append(notes, r.Name+": with queens placed on "+humanize.Squares(s.Placed))
		}
		if r.Active != nil {
			notes = append(notes, fmt.Sprintf("%s: %v", r.Name, r.Active))
		}
	}
	if asJSON {
		return nil
	}
	err := report.WriteTable(w, rows, false)
	for _, note := range notes {
		_, failed := fmt.Fprintln(w, queens.Sanitize(note))
		err = errors.Join(err, failed)
	}
	return err
}

// writeSnapshots writes the snapshots of runs on a server, as JSON or as a table.
func writeSnapshots(w io.Writer, snapshots []queens.Snapshot, asJSON bool) error {
	if asJSON {
		return report.WriteJSON(w, snapshots...)
	}
	rows := [][]string{{"RUN", "STATE", "DONE", "RATE", "THREADS", "TIME TO GO"}}
	for i := range snapshots {
		s := &snapshots[i]
		rate, threads := "?", "?"
		if s.Rate != nil {
			rate = humanize.Rate(s.PerSecond)
		}
		if s.Live != nil {
			threads = humanize.Int(s.Threads)
		}
		rows = append(rows, []string{s.Run, string(s.State), totalOf(s), rate, threads,
			report.TimeToGo(s)})
	}
	if len(rows) == 1 {
		return nil
	}
	return report.WriteTable(w, rows, false)
}

// totalOf returns the total of a complete run, or else the part of the work that is done.
func totalOf(s *queens.Snapshot) string {
	if s.Total != nil {
		return s.Total.String()
	}
	return report.Share(s)
}

// announceTime is how long a list of runs waits for announcements, which come every 2 s.
const announceTime = 2200 * time.Millisecond

// mostListed limits how many runs of a server are listed.
const mostListed = 256

// askServer returns the snapshots of the runs on a server whose names begin with the given text and
// whose coordinators answer, the newest run first, but of at most mostListed runs. If ctx ends
// before that, it also returns context.Cause(ctx).
func askServer(
	ctx context.Context, app *cli.App, server *bus.Flags, prefix string,
) ([]queens.Snapshot, error) {
	b, err := connect(ctx, app, server, "nqueens runs")
	if err != nil {
		return nil, err
	}
	defer b.Close()
	var mu sync.Mutex
	names := make(map[string]bool)
	stop, err := b.Announcements(func(a queens.Announcement) {
		mu.Lock()
		defer mu.Unlock()
		if queens.BeginsRun(a.Run, prefix) && len(names) < mostListed {
			names[a.Run] = true
		}
	})
	if err != nil {
		return nil, err
	}
	select {
	case <-ctx.Done():
	case <-time.After(announceTime):
	}
	stop()
	mu.Lock()
	asked := slices.Collect(maps.Keys(names))
	mu.Unlock()
	var snapshots []queens.Snapshot
	var group errgroup.Group
	for _, name := range asked {
		group.Go(func() error {
			if s, err := b.Status(ctx, name); err == nil { // runs that do not answer are left out
				mu.Lock()
				defer mu.Unlock()
				snapshots = append(snapshots, *s)
			}
			return nil
		})
	}
	_ = group.Wait() // the functions return no error
	slices.SortFunc(snapshots, func(a, b queens.Snapshot) int {
		return strings.Compare(startOf(b.Run), startOf(a.Run))
	})
	return snapshots, context.Cause(ctx)
}

// startOf returns the part of a run's name after the side of the board. This part begins with the
// date and time of the start.
func startOf(run string) string {
	_, start, _ := strings.Cut(run, "-")
	return start
}

// connect connects to the server that the flags name.
func connect(
	ctx context.Context, app *cli.App, server *bus.Flags, name string,
) (*bus.Bus, error) {
	options, err := server.Connection(name)
	if err != nil {
		return nil, cli.Usagef("%w", err)
	}
	options.Log = app.Log
	return bus.Connect(ctx, options)
}

// rmCommand is coordinator rm: it removes runs of this machine.
func rmCommand(app *cli.App) *cobra.Command {
	var data dataFlag
	var olderThan time.Duration
	var dryRun, yes bool
	cmd := &cobra.Command{
		Use:   "rm RUN... | --older-than D",
		Short: "Remove runs of this machine",
		Long: `Remove the named runs, or all runs whose ledgers have not changed for the time D, such as
30d. The ledgers are lost. To keep a run, copy its folder first. A run on which a process works is
never removed. A run without a total is removed only if you answer yes, or with --yes. With
--older-than, --dry-run shows what would be removed, and --yes removes it.`,
		Example: `  coordinator rm n14-20261120-153012-ab12
  coordinator rm --older-than 30d --dry-run`,
		ValidArgsFunction: data.completeRun,
		Args: func(_ *cobra.Command, args []string) error {
			if (len(args) == 0) == (olderThan == 0) {
				return cli.Usagef("takes the names of runs, or --older-than with a time such as 30d: one of " +
					"the two")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if olderThan != 0 && !yes && !dryRun {
				return cli.Usagef("--older-than removes runs for good: look with --dry-run first, then say " +
					"--yes")
			}
			store, err := data.open()
			if err != nil {
				return err
			}
			names, err := toRemove(store, args, olderThan)
			if err != nil {
				return err
			}
			if len(names) == 0 {
				app.Log.Info().Msg("no run is that old")
			}
			if !yes && !dryRun {
				if err := confirm(cmd, &data, store, names); err != nil {
					return err
				}
			}
			verb := map[bool]string{false: "removed", true: "would be removed"}[dryRun]
			for _, name := range names {
				size, failed := store.Remove(name, dryRun)
				if failed != nil {
					err = errors.Join(err, fmt.Errorf("run %s stays: %w", name, failed))
					continue
				}
				_, failed = fmt.Fprintf(cmd.OutOrStdout(), "%s %s, %s\n", name, verb,
					humanize.Bytes(uint64(size)))
				err = errors.Join(err, failed)
			}
			return err
		},
	}
	flags := cmd.Flags()
	cli.Duration(flags, &olderThan, "older-than",
		"remove runs whose ledgers have not changed for this `TIME`, such as 30d")
	flags.BoolVar(&dryRun, "dry-run", false, "print what would be removed, and remove nothing")
	flags.BoolVar(&yes, "yes", false,
		"remove what --older-than finds, and runs without a total, without a question")
	data.register(flags)
	return cmd
}

// confirm asks a person on a terminal whether runs without a total may be removed. Without a
// terminal, the command line must say so.
func confirm(cmd *cobra.Command, data *dataFlag, store *runs.Store, names []string) error {
	var unfinished []string
	for _, name := range names {
		if r := store.Inspect(name); r.State != queens.Complete {
			unfinished = append(unfinished, name)
		}
	}
	if len(unfinished) == 0 {
		return nil
	}
	list := strings.Join(unfinished, ", ")
	in, isFile := cmd.InOrStdin().(*os.File)
	if !isFile || !term.IsTerminal(int(in.Fd())) {
		yes := data.command(slices.Concat([]string{"rm"}, names, []string{"--yes"})...)
		return cli.Usagef("these runs have no total, and what they have counted would be lost: %s; to "+
			"remove them: %s", list, yes)
	}
	cmd.PrintErrf("These runs have no total, and what they have counted will be lost: %s. Remove? "+
		"[y/N] ", list)
	answer, _ := bufio.NewReader(in).ReadString('\n') // the end of the input is no
	if !slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(answer))) {
		return errors.New("nothing is removed")
	}
	return nil
}

// toRemove returns the names of the runs that the command line selects.
func toRemove(
	store *runs.Store, beginnings []string, olderThan time.Duration,
) (names []string, err error) {
	for _, beginning := range beginnings {
		name, failed := store.Find(beginning)
		err = errors.Join(err, failed)
		names = append(names, name)
	}
	if olderThan == 0 || err != nil {
		return names, err
	}
	list, err := store.List()
	for i := range list {
		if r := &list[i]; r.Err == nil && r.Active == nil && time.Since(r.Modified) > olderThan {
			names = append(names, r.Name)
		}
	}
	return names, err
}
