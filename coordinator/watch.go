package main

import (
	"cmp"
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
	"nqueens/pkg/humanize"
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
		Long: `Follow the named run, or else the newest one, until it ends, and print its total. With
--nats or --join, it is a run on that server. Otherwise it is a run of this machine; if
its coordinator does not answer, watch shows what the ledger has. Ctrl-C ends watch, not the run.`,
		Example: `  coordinator watch
  coordinator watch n20 --json
  coordinator watch --join join.token`,
		Args:              oneRunOrNone,
		ValidArgsFunction: data.completeRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			v := &watcher{app: app, ui: newUI(app), stdout: cmd.OutOrStdout(), json: asJSON, data: &data,
				server: &server}
			defer v.close()
			if err := v.find(cmd.Context(), args); err != nil {
				return err
			}
			return v.follow(cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&asJSON, "json", false, "print JSON objects, one a line")
	commonFlags(flags, &server, &data)
	return cmd
}

// watcher follows a run.
type watcher struct {
	app    *cli.App
	ui     *ui
	stdout io.Writer
	json   bool

	name   string
	bus    *bus.Bus    // nil if there is no server to ask
	store  *runs.Store // of a run of this machine, else nil
	data   *dataFlag
	server *bus.Flags

	latest   *queens.Snapshot // from the coordinator; nil before the first
	answered time.Time        // when the coordinator answered, or watch began
}

func (v *watcher) close() {
	v.ui.stop()
	if v.bus != nil {
		v.bus.Close()
	}
}

// find finds the run and its server.
func (v *watcher) find(ctx context.Context, args []string) (err error) {
	server, data := v.server, v.data
	if server.IsSet() {
		beginning := strings.Join(args, "") // one or none
		snapshots, err := askServer(ctx, v.app, server, beginning)
		switch {
		case err != nil:
			return err
		case len(snapshots) == 0 && beginning == "":
			return errors.New("no coordinator answers on the server")
		case len(snapshots) == 0:
			return fmt.Errorf("no coordinator answers for a run %s…: %s lists the runs on the server",
				beginning, serverCommand(server, "runs"))
		case len(snapshots) > 1 && beginning != "":
			return fmt.Errorf("%d runs on the server begin with %s: %s is the newest, name one",
				len(snapshots), beginning, snapshots[0].Run)
		}
		v.name = snapshots[0].Run
		v.bus, err = connect(ctx, v.app, server, "nqueens watch")
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
		v.bus, err = bus.Connect(ctx, local)
	}
	if err != nil {
		v.app.Log.Debug().Err(err).Msg(
			"the coordinator's server can't be asked: the run's ledger is read")
	}
	return nil
}

// ownToken returns how to connect to the server of a run of this machine. It uses the token of this
// server, if the server is an embedded one of the folder of --data.
func ownToken(data, url string) (bus.Options, error) {
	for _, token := range join.Running(data) {
		if token.URLs() == url {
			return bus.WithToken(token, "nqueens watch"), nil
		}
	}
	flags := bus.Flags{Options: bus.Options{URL: url}}
	return flags.Connection("nqueens watch")
}

// snapshot returns the latest snapshot of the run, from its coordinator or else from its ledger.
// The error says why the coordinator of a run of another machine does not answer.
func (v *watcher) snapshot(ctx context.Context) (*queens.Snapshot, error) {
	var failed error
	if v.bus != nil {
		asking, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		s, err := v.bus.Status(asking, v.name)
		if err == nil {
			v.latest, v.answered = s, time.Now()
			return s, nil
		}
		failed = err
	}
	if v.store == nil {
		return nil, failed
	}
	return v.ledgerSnapshot(ctx)
}

// ledgerSnapshot returns what the ledger of a run of this machine says. While a coordinator works
// on the run, that is the last mark, because reading a long ledger each second would slow the
// coordinator down.
func (v *watcher) ledgerSnapshot(ctx context.Context) (*queens.Snapshot, error) {
	r := v.store.Inspect(v.name)
	if r.Err != nil {
		return nil, r.Err
	}
	s := r.Snapshot()
	if s.State == queens.Running {
		if v.bus != nil {
			s.Waits = v.silence()
		}
		return &s, nil
	}
	defer slow(v.app, "auditing the ledger")()
	s, err := audit.Facts(ctx, v.store.Ledger(v.name)) // an audit says what confirms the total
	if s.State.Resumes() {
		s.Resume = v.data.resume(v.store, v.name)
	}
	return &s, err
}

// silence says that the coordinator does not answer, and since when.
func (v *watcher) silence() *queens.Wait {
	if why := v.bus.Problem(); why != "" {
		return &queens.Wait{Reason: queens.NoServer, Since: v.answered, Why: why}
	}
	return &queens.Wait{Reason: queens.SilentOne, Since: v.answered,
		Why: "run " + v.name + " does not answer"}
}

// watchInterval is the time between two snapshots.
const watchInterval = time.Second

// silentFor is how long watch waits for the answer of a coordinator on a server before watch gives
// up.
const silentFor = 30 * time.Second

// follow shows snapshots until the run or ctx ends, or no snapshot comes any more.
func (v *watcher) follow(ctx context.Context) error {
	v.ui.start()
	ticks := time.NewTicker(watchInterval)
	defer ticks.Stop()
	v.answered = time.Now()
	for {
		s, err := v.snapshot(ctx)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err == nil:
			if err := v.present(s); err != nil || s.State != queens.Running {
				return errors.Join(err, v.end(s))
			}
		case v.store != nil:
			return err
		case time.Since(v.answered) > silentFor:
			return fmt.Errorf("the coordinator of run %s has not answered for %v: to watch it when it is "+
				"back: %s: %w",
				v.name, silentFor, serverCommand(v.server, "watch", v.name), err)
		default:
			v.app.Log.Debug().Err(err).Msg("no snapshot")
			if v.latest != nil {
				old := *v.latest
				old.Waits, old.TimeToGo = v.silence(), nil
				if err := v.present(&old); err != nil {
					return err
				}
			}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticks.C:
		}
	}
}

// present shows a snapshot, and prints it as JSON if that is wanted.
func (v *watcher) present(s *queens.Snapshot) error {
	v.ui.show(s)
	if v.json {
		return report.WriteJSON(v.stdout, s)
	}
	return nil
}

// end prints how the run ended.
func (v *watcher) end(s *queens.Snapshot) error {
	v.ui.stop()
	workers := 0
	if s.Live != nil {
		workers = s.Workers
	}
	result := report.NewResult(s, nil, s.Elapsed.Duration, workers)
	result.Verify = v.data.command("verify", v.name)
	result.Log(v.app.Log)
	switch {
	case s.State == queens.Contradicted:
		return fmt.Errorf("%w: run %s has no total: see the log of its coordinator, and: %s",
			queens.ErrContradiction, v.name, result.Verify)
	case s.State.Resumes():
		where := ""
		if v.store == nil {
			where = " on the machine of its coordinator"
		}
		resume := cmp.Or(s.Resume, humanize.Command("coordinator", "resume", v.name))
		return fmt.Errorf("%w: run %s is %s; to go on%s: %s", queens.ErrIncomplete, v.name, s.State,
			where, resume)
	case v.json:
		return nil
	}
	return result.Write(v.stdout, false)
}
