package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"nqueens/pkg/audit"
	"nqueens/pkg/bus"
	"nqueens/pkg/cli"
	"nqueens/pkg/join"
	"nqueens/pkg/queens"
	"nqueens/pkg/report"
	"nqueens/pkg/runs"
)

// watchCommand is coordinator watch: it follows a run that counts in another process.
func watchCommand(app *cli.App) *cobra.Command {
	var server bus.Flags
	var data dataFlag
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "watch [RUN]",
		Short: "Follow a run that counts in another process",
		Long: `Follow the named run, or else the newest one, until it ends, and print its total. With --nats or --join, it is
a run on that server. Otherwise it is a run of this machine; if its coordinator does not answer, watch shows what
the ledger has. Ctrl-C ends watch, not the run.`,
		Example: `  coordinator watch
  coordinator watch n20 --json
  coordinator watch --join join.token`,
		Args:              oneRunOrNone,
		ValidArgsFunction: data.completeRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			v := &watcher{app: app, ui: newUI(app), stdout: cmd.OutOrStdout(), json: asJSON}
			defer v.close()
			if err := v.find(cmd.Context(), &server, &data, args); err != nil {
				return err
			}
			return v.follow(cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&asJSON, "json", false, "print each snapshot as a JSON object on a line")
	commonFlags(flags, &server, &data)
	return cmd
}

// watcher follows a run.
type watcher struct {
	app    *cli.App
	ui     *ui
	stdout io.Writer
	json   bool

	name  string
	bus   *bus.Bus    // nil if there is no server to ask
	store *runs.Store // of a run of this machine, else nil
}

func (v *watcher) close() {
	v.ui.stop()
	if v.bus != nil {
		v.bus.Close()
	}
}

// find finds the run and its server.
func (v *watcher) find(ctx context.Context, server *bus.Flags, data *dataFlag, args []string) (err error) {
	if server.IsSet() {
		beginning := strings.Join(args, "") // one or none
		snapshots, err := askServer(ctx, v.app, server, beginning)
		switch {
		case err != nil:
			return err
		case len(snapshots) == 0 && beginning == "":
			return errors.New("no coordinator answers on the server")
		case len(snapshots) == 0:
			return fmt.Errorf("no coordinator answers for a run %s…: without RUN, %s lists the runs on the server",
				beginning, commandLine("runs"))
		case len(snapshots) > 1 && beginning != "":
			return fmt.Errorf("%d runs on the server begin with %s: %s is the newest, name one", len(snapshots), beginning, snapshots[0].Run)
		}
		v.name = snapshots[0].Run
		v.bus, err = connect(v.app, server, "nqueens watch")
		return err
	}
	isActive := func(r *runs.Run) bool { return r.Active != nil }
	isReadable := func(*runs.Run) bool { return true }
	if v.store, v.name, err = data.find(args, "to watch", isActive, isReadable); err != nil {
		return err
	}
	r := v.store.Inspect(v.name)
	if r.Active == nil || r.Active.Holder.Server == "" {
		return nil
	}
	local, err := ownToken(v.store.Path(), r.Active.Holder.Server)
	if err == nil {
		local.Log = v.app.Log
		v.bus, err = bus.Connect(local)
	}
	if err != nil {
		v.app.Log.Debug().Err(err).Msg("the coordinator's server can't be asked: the run's ledger is read")
	}
	return nil
}

// ownToken returns how to connect to the server of a run of this machine. It uses the token in the folder of --data if that is
// the token of this server.
func ownToken(data, url string) (bus.Options, error) {
	flags := bus.Flags{Options: bus.Options{URL: url}}
	if path, there := join.Own(data); there {
		if token, err := join.Load(path); err == nil && token.URLs() == url {
			flags.Join = path
		}
	}
	return flags.Connection("nqueens watch")
}

// snapshot returns the latest snapshot of the run, from its coordinator or else from its ledger.
func (v *watcher) snapshot(ctx context.Context) (*queens.Snapshot, error) {
	var failed error
	if v.bus != nil {
		asking, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		s, err := v.bus.Status(asking, v.name)
		if err == nil {
			return s, nil
		}
		failed = err
	}
	if v.store == nil {
		return nil, failed
	}
	r := v.store.Inspect(v.name)
	if r.Err != nil {
		return nil, r.Err
	}
	s := r.Snapshot()
	switch {
	case s.State == queens.Complete: // an audit says what confirms the total
		s, failed = audit.Facts(ctx, v.store.Ledger(v.name))
		return &s, failed
	case r.Status() == runs.Interrupted:
		s.State = queens.Stopped
	}
	return &s, nil
}

// watchInterval is the time between two snapshots.
const watchInterval = time.Second

// silentFor is how long watch waits for the answer of a coordinator on a server before watch gives up.
const silentFor = 30 * time.Second

// follow shows snapshots until the run or ctx ends, or no snapshot comes any more.
func (v *watcher) follow(ctx context.Context) error {
	v.ui.start()
	ticks := time.NewTicker(watchInterval)
	defer ticks.Stop()
	answered := time.Now()
	for {
		s, err := v.snapshot(ctx)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err == nil:
			answered = time.Now()
			v.ui.show(s)
			if v.json {
				if err := report.WriteJSON(v.stdout, s); err != nil {
					return err
				}
			}
			if s.State != queens.Running {
				return v.end(s)
			}
		case v.store != nil:
			return err
		case time.Since(answered) > silentFor:
			return fmt.Errorf("the coordinator of run %s has not answered for %v: call watch again when it is back: %w",
				v.name, silentFor, err)
		default:
			v.app.Log.Debug().Err(err).Msg("no snapshot")
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticks.C:
		}
	}
}

// end prints how the run ended.
func (v *watcher) end(s *queens.Snapshot) error {
	v.ui.stop()
	result := report.NewResult(s, nil, s.Elapsed.Duration, s.Workers)
	result.Log(v.app.Log)
	switch {
	case s.State == queens.Contradicted:
		return fmt.Errorf("%w: run %s has no total: see the log of its coordinator, and %s",
			queens.ErrContradiction, v.name, commandLine("verify", v.name))
	case s.State == queens.Stopped:
		return fmt.Errorf("%w: run %s is stopped: %s goes on", queens.ErrIncomplete, v.name, commandLine("resume", v.name))
	case v.json:
		return nil
	}
	return result.Write(v.stdout, false)
}
