package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"runtime"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"nqueens/pkg/cli"
	"nqueens/pkg/kernel"
	"nqueens/pkg/keyring"
	"nqueens/pkg/report"
	"nqueens/pkg/run"
	"nqueens/pkg/session"
)

// sessionFlags are the flags of the commands that count: where, with what, and how to print
// the result.
type sessionFlags struct {
	workers  int
	kernel   string
	unique   bool
	json     bool
	page     pageFlags
	listen   string
	admitted string // file
	priority string
	replicas string
	nats     *cli.Connection
	data     dataFlag
	report   reportFlag

	flags *pflag.FlagSet
}

func (o *sessionFlags) register(flags *pflag.FlagSet) {
	o.flags = flags
	flags.IntVar(&o.workers, "workers", runtime.GOMAXPROCS(0),
		"start `N` workers in this process, one thread each, 0 to 4096; with --nats the default is 0")
	cli.DefaultIsCores(flags, "workers")
	flags.Var(kernelFlag(&o.kernel, kernel.Auto), "kernel",
		"`KERNEL` that the workers in this process use; see worker kernels")
	flags.BoolVar(&o.unique, "unique", false, "also give the number of fundamental solutions, those that differ by more "+
		"than a rotation or reflection, on a second line")
	flags.BoolVar(&o.json, "json", false, "print one JSON object")
	o.page.register(flags, "`ADDR` on which to serve a live page of the run, /healthz, /readyz and /metrics, such as 127.0.0.1:8080")
	o.nats = cli.ConnectionFlags(flags, "", "use")
	flags.StringVar(&o.listen, "listen", "", "`ADDR` on which the embedded server accepts workers, such as 127.0.0.1:4222")
	flags.StringVar(&o.admitted, "admitted", "", "`FILE` with the public keys of workers, one a line, that are admitted "+
		"besides those of a folder of keys; it is read again when it changes")
	_ = cobra.MarkFlagFilename(flags, "admitted") // fails only for unknown flags
	flags.Var(cli.NewEnum(&o.priority, string(run.Normal), string(run.Low), string(run.Normal), string(run.High)), "priority",
		"share of the workers beside other runs of the server: high gets 4 times that of normal, low what the others leave")
	flags.Var(cli.NewEnum(&o.replicas, "1", "1", "3", "5"), "replicas",
		"servers of a cluster that keep the run's streams; streams that have more keep them")
	o.data.register(flags)
	o.report.register(flags)
}

// config checks the flags and returns the configuration of a session, and its user interface.
func (o *sessionFlags) config(app *cli.App) (cfg session.Config, u *ui, err error) {
	if !o.flags.Changed("workers") && o.nats.URL != "" {
		o.workers = 0
	}
	switch {
	case o.workers < 0 || o.workers > cli.MaxThreads:
		return cfg, nil, cli.Usagef("--workers must be from 0 to %d, not %d", cli.MaxThreads, o.workers)
	case o.workers == 0 && o.nats.URL == "" && o.listen == "":
		return cfg, nil, cli.Usagef("--workers 0 leaves no worker to count: " +
			"accept workers with --listen, or name their server with --nats")
	case o.nats.URL != "" && o.listen != "":
		return cfg, nil, cli.Usagef("--listen opens the embedded server, --nats (or NQUEENS_NATS) names another: " +
			"give one of them")
	}
	replicas := 0
	if o.flags.Changed("replicas") {
		replicas = int(o.replicas[0] - '0')
	}
	if replicas > 1 && o.nats.URL == "" {
		return cfg, nil, cli.Usagef("--replicas %d needs a cluster of NATS servers, which the embedded server is not: "+
			"name its servers with --nats", replicas)
	}
	listen := cli.CheckAddress("listen", o.listen, "127.0.0.1:4222")
	if err := cmp.Or(o.nats.Check(app.Log), listen, o.page.check(), o.report.check()); err != nil {
		return cfg, nil, err
	}
	if _, err := keyring.NewAdmitter(keyring.Sources{List: o.admitted}); err != nil {
		return cfg, nil, withHint(err)
	}
	k, err := kernel.Choose(o.kernel)
	if err != nil {
		return cfg, nil, cli.Usagef("--kernel: %v", err)
	}
	store, err := o.data.open(app.Log)
	if err != nil {
		return cfg, nil, err
	}
	u = newUI(app)
	return session.Config{
		Store: store, Workers: o.workers, Kernel: k, Version: cli.Version(),
		URL: o.nats.URL, Credentials: credentials(o.nats), Admission: admission(o.nats, o.admitted), TokenFile: o.nats.TokenFile,
		Listen: o.listen, HTTP: o.page.http, HTTPTokenFile: o.page.tokenFile,
		Unique: o.unique, Survey: o.report.path != "", Priority: run.Priority(o.priority), Replicas: replicas, Alone: countAlone,
		OnStop: func() {
			app.Log.Info().Msg("stopping the run: coordinator stop has asked for it")
			app.Interrupt()
		},
		OnStart: func(name string) {
			o.keep(app, store, name)
			u.start()
		},
		OnSnapshot: u.show, OnConnection: u.setDisconnected, Log: app.Log,
	}, u, nil
}

// logFlushDelay is the time between a cluster's last log line and the total, so that merged
// streams, as with Docker, end with the total.
const logFlushDelay = 100 * time.Millisecond

// run runs a session and prints its result, after the result is stored and published,
// because a stopped terminal blocks.
func (o *sessionFlags) run(ctx context.Context, app *cli.App, s *session.Session, u *ui, stdout io.Writer) error {
	defer u.answerSignals()()
	result, err := s.Run(ctx)
	u.stop()
	failed := o.writeReport(app, &result, withHint(err))
	switch {
	case u.unresponsive, result.End == report.Complete && showTable(app, &result):
	case result.Count != nil:
		result.Log(app.Log)
	case result.Total != nil:
		result.LogTotal(app.Log)
	}
	if result.Count != nil && result.Count.Resumable {
		app.Log.Info().Str("run", result.Run).Msg("to resume the run: " + o.resumeCommandLine(result.Run))
	}
	if result.Total != nil && o.nats.URL != "" {
		select {
		case <-ctx.Done():
		case <-time.After(logFlushDelay):
		}
	}
	return errors.Join(withHint(err), failed, result.Write(stdout, o.json))
}

// writeReport writes the report of a session that ended with an error, or nil, if one is wanted. A session
// that failed before it counted has none.
func (o *sessionFlags) writeReport(app *cli.App, r *report.Result, ended error) error {
	if r.Survey == nil {
		return nil
	}
	store, err := o.data.open(app.Log)
	if err != nil {
		return err
	}
	d := &report.Document{Result: r, Survey: r.Survey, History: r.History}
	if r.Count != nil && r.Count.Resumable {
		d.Resume = o.resumeCommandLine(r.Run)
	}
	return o.report.write(app, d, store, r.Run, ended)
}

// showTable writes a result with a total as a table if stderr is a terminal that shows a
// display, and reports whether it is.
func showTable(app *cli.App, r *report.Result) bool {
	tty := app.TTY()
	if tty == nil || app.Log.GetLevel() > zerolog.InfoLevel {
		return false
	}
	_ = r.WriteTable(tty, app.Colors()) // fails if the terminal was closed
	return true
}
