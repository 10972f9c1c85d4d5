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
	"nqueens/pkg/notify"
	"nqueens/pkg/progress"
	"nqueens/pkg/report"
	"nqueens/pkg/run"
	"nqueens/pkg/session"
)

// sessionFlags are the flags of the commands that count: where, with what, and how to print
// the result.
type sessionFlags struct {
	cfg      session.Config // what flags set as it is; config has the rest
	kernel   string
	json     bool
	page     pageFlags
	replicas string
	nats     *cli.Connection
	data     dataFlag
	report   reportFlag
	watts    wattsFlag
	notify   string // file

	flags *pflag.FlagSet
}

func (o *sessionFlags) register(flags *pflag.FlagSet) {
	o.flags = flags
	cli.FlagGroup(flags, "Checks", func(flags *pflag.FlagSet) {
		flags.StringVar(&o.cfg.Admission.List, "admitted", "", "`FILE` of public keys of workers, one a line, that are admitted; "+
			"it is read again when it changes")
		_ = cobra.MarkFlagFilename(flags, "admitted") // fails only for unknown flags
	})
	cli.FlagGroup(flags, "Workers", func(flags *pflag.FlagSet) {
		flags.IntVar(&o.cfg.Workers, "workers", runtime.GOMAXPROCS(0), "start `N` workers in this process, one thread each, 0 to 4096")
		cli.DefaultIs(flags, "workers", cli.OnePerCore+", or 0 with --nats")
		flags.Var(kernelFlag(&o.kernel, kernel.Auto), "kernel", "`KERNEL` of these workers; see worker kernels")
		flags.DurationVar(&o.cfg.FinishIn, "finish-in", progress.DefaultTarget, "target `DURATION` of the whole run, "+
			"for the metric of needed threads")
		flags.StringVar(&o.cfg.Listen, "listen", "", "`ADDR` on which workers of other machines join, such as 0.0.0.0:4222")
	})
	o.nats = cli.ConnectionFlags(flags, "", "use", "coordinator")
	cli.FlagGroup(flags, "Server", func(flags *pflag.FlagSet) {
		flags.Var(cli.NewEnum((*string)(&o.cfg.Priority), string(run.Normal), string(run.Low), string(run.Normal), string(run.High)), "priority",
			"share of the workers: high gets 4 times that of normal, low what the others leave")
		flags.Var(cli.NewEnum(&o.replicas, "1", "1", "3", "5"), "replicas", "servers of a cluster that keep the run's streams")
		cli.DefaultIs(flags, "replicas", "1, or as many as the streams have")
	})
	cli.FlagGroup(flags, "Output", func(flags *pflag.FlagSet) {
		flags.BoolVar(&o.json, "json", false, "print one JSON object")
		o.report.register(flags)
		o.watts.register(flags)
		o.page.register(flags, "`ADDR` on which to serve a live page, /healthz, /readyz and /metrics, such as 127.0.0.1:8080",
			"keep the page for this `DURATION` after the total, such as 1h; an interrupt ends it")
		flags.StringVar(&o.notify, "notify-file", "", "`FILE` of webhooks or commands, one a line, that get a JSON object "+
			"when the run ends, stalls, or has a dispute that waits")
		_ = cobra.MarkFlagFilename(flags, "notify-file") // fails only for unknown flags
		o.data.register(flags)
	})
}

// registerUnique registers --unique, which count has among other flags than resume.
func (o *sessionFlags) registerUnique(flags *pflag.FlagSet) {
	flags.BoolVar(&o.cfg.Unique, "unique", false, "also give the number of fundamental solutions, which differ by more "+
		"than a rotation or reflection")
}

// config checks the flags and returns the configuration of a session, and its user interface.
func (o *sessionFlags) config(ctx context.Context, app *cli.App) (cfg session.Config, u *ui, err error) {
	cfg = o.cfg
	if !o.flags.Changed("workers") && o.nats.URL != "" {
		cfg.Workers = 0
	}
	switch {
	case cfg.Workers < 0 || cfg.Workers > cli.MaxThreads:
		return cfg, nil, cli.Usagef("--workers must be from 0 to %d, not %d", cli.MaxThreads, cfg.Workers)
	case cfg.Workers == 0 && o.nats.URL == "" && cfg.Listen == "":
		return cfg, nil, cli.Usagef("--workers 0 leaves no worker to count: " +
			"accept workers with --listen, or name their server with --nats")
	case o.nats.URL != "" && cfg.Listen != "":
		return cfg, nil, cli.Usagef("--listen opens the embedded server, --nats (or NQUEENS_NATS) names another: " +
			"give one of them")
	}
	if o.nats.TokenFile == "-" {
		return cfg, nil, cli.Usagef("--token-file must name a file here: who is admitted depends on it as long as the run lasts")
	}
	if o.flags.Changed("replicas") {
		cfg.Replicas = int(o.replicas[0] - '0')
	}
	if cfg.Replicas > 1 && o.nats.URL == "" {
		return cfg, nil, cli.Usagef("--replicas %d needs a cluster of NATS servers, which the embedded server is not: "+
			"name its servers with --nats", cfg.Replicas)
	}
	if cfg.FinishIn <= 0 {
		return cfg, nil, cli.Usagef("--finish-in must be longer than 0, not %v", cfg.FinishIn)
	}
	listen := cli.CheckAddress("listen", cfg.Listen, "127.0.0.1:4222")
	if err := cmp.Or(o.nats.Check(app.Log), listen, o.page.check(), o.report.check(), o.watts.check()); err != nil {
		return cfg, nil, err
	}
	if _, err := keyring.NewAdmitter(cfg.Admission); err != nil {
		return cfg, nil, withHint(err)
	}
	if o.notify != "" {
		if err := notify.Check(o.notify); err != nil {
			return cfg, nil, cli.Usagef("--notify-file: %w", err)
		}
		cli.WarnOfReaders(app.Log, o.notify)
	}
	if cfg.Kernel, err = kernel.Choose(o.kernel); err != nil {
		return cfg, nil, cli.Usagef("--kernel: %v", err)
	}
	store, err := o.data.open(app.Log)
	if err != nil {
		return cfg, nil, err
	}
	u = newUI(app)
	u.notifier = newNotifier(ctx, app, store)
	cfg.Store, cfg.Version, cfg.Log = store, cli.Version(), app.Log
	cfg.URL, cfg.Credentials, cfg.Admission, cfg.TokenFile = o.nats.URL, credentials(o.nats), admission(o.nats, cfg.Admission.List), o.nats.TokenFile
	cfg.Page, cfg.Linger = o.page.HostConfig, o.page.linger
	cfg.Survey, cfg.WorkerProgram, cfg.Alone = o.report.path != "", workerProgram(), countAlone
	cfg.OnStop = func() {
		app.Log.Info().Msg("stopping the run: coordinator stop has asked for it")
		app.Interrupt()
	}
	cfg.OnStart = func(name string) {
		o.keep(app, store, name)
		u.start()
		u.notifier.start(ctx, name, o.flags.Lookup("notify-file"))
	}
	cfg.OnSnapshot = func(s run.Snapshot) {
		u.show(s)
		u.notifier.observe(&s)
	}
	cfg.OnStatus = u.setStatus
	return cfg, u, nil
}

// logFlushDelay is the time between a cluster's last log line and the total, so that merged
// streams, as with Docker, end with the total.
const logFlushDelay = 100 * time.Millisecond

// run runs a session and prints its result, after the result is stored and published,
// because a stopped terminal blocks.
func (o *sessionFlags) run(ctx context.Context, app *cli.App, s *session.Session, u *ui, stdout io.Writer) error {
	defer u.logProgress()()
	result, err := s.Run(ctx)
	result.KWh = o.watts.kWh(result.CoreHours)
	u.stop()
	failed := o.writeReport(app, &result, withHint(err))
	resumable := result.Count != nil && result.Count.Resumable
	switch {
	case u.unresponsive, result.End == report.Complete && showTable(app, &result):
	case resumable && result.End == report.Stopped && app.Tell(result.StoppedText(u.latest.Load(), s.Folder(), o.resumeCommandLine(result.Run))):
		resumable = false // it is told
	case result.Count != nil:
		result.Log(app.Log)
	case result.Total != nil:
		result.LogTotal(app.Log)
	}
	if resumable {
		app.Log.Info().Str("run", result.Run).Msg("to resume the run: " + o.resumeCommandLine(result.Run))
	}
	if result.Total != nil && o.nats.URL != "" {
		select {
		case <-ctx.Done():
		case <-time.After(logFlushDelay):
		}
	}
	err = errors.Join(withHint(err), failed, result.Write(stdout, o.json))
	u.notifier.end(ctx, &result)
	s.Linger(ctx)
	return err
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
