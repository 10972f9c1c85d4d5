package main

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"nqueens/pkg/bus"
	"nqueens/pkg/cli"
	"nqueens/pkg/count"
	"nqueens/pkg/display"
	"nqueens/pkg/humanize"
	"nqueens/pkg/join"
	"nqueens/pkg/kernel"
	"nqueens/pkg/ledger"
	"nqueens/pkg/page"
	"nqueens/pkg/queens"
	"nqueens/pkg/report"
	"nqueens/pkg/session"
)

// sessionFlags are the flags of the commands that count: they say where to count, by which means,
// and how to print the result.
type sessionFlags struct {
	unique    bool
	workers   int
	kernel    string
	listen    string
	advertise string
	server    bus.Flags
	machine   string
	http      string
	linger    time.Duration
	json      bool
	data      dataFlag

	flags *pflag.FlagSet
}

func (o *sessionFlags) registerUnique(flags *pflag.FlagSet) {
	flags.BoolVar(&o.unique, "unique", false,
		"also print the number of solutions up to rotation and reflection")
}

func (o *sessionFlags) register(flags *pflag.FlagSet) {
	o.flags = flags
	workers := cli.Threads(flags, &o.workers, "workers", 0, cli.MaxThreads,
		"count on `K` threads of this process")
	workers.DefValue += ", or 0 with --nats or --join"
	cli.Address(flags, &o.listen, "listen", "",
		"let workers elsewhere join at `ADDR`, such as 0.0.0.0:4222", "0.0.0.0:4222")
	flags.StringVar(&o.advertise, "advertise", "",
		"put `HOST` or host:port into the token, not the addresses of this machine")
	cli.Enum(flags, &o.kernel, "kernel", kernel.Auto, "kernel of the threads", kernel.Names()...)
	flags.Lookup("kernel").Hidden = true
	flags.StringVar(&o.machine, "machine", "",
		"`NAME` of this machine (default the boot id of its kernel)")
	cli.Heading(flags, "Workers", "workers")
	cli.Address(flags, &o.http, "http", "",
		"serve a live page, its JSON, /metrics and /healthz at `ADDR`, such as "+defaultPage, defaultPage)
	cli.Duration(flags, &o.linger, "linger",
		"keep the page for this `TIME` after the total, such as 1h; Ctrl-C ends it")
	flags.BoolVar(&o.json, "json", false, "print the result as a JSON object")
	cli.Heading(flags, "Output", "http")
	commonFlags(flags, &o.server, &o.data)
}

// config checks the flags and returns the configuration of a session.
func (o *sessionFlags) config(app *cli.App) (cfg session.Config, err error) {
	outside := o.server.IsSet()
	if !o.flags.Changed("workers") && outside {
		o.workers = 0
	}
	if err := o.validate(); err != nil {
		return cfg, err
	}
	if cfg.Kernel, err = kernel.Choose(o.kernel); err != nil {
		return cfg, cli.Usagef("--kernel: %v", err)
	}
	cfg.Halves = count.HalvesNamed(o.kernel)
	cfg.Memory, _ = count.MemoryOf(cli.Memory())
	if cfg.Store, err = o.data.open(); err != nil {
		return cfg, err
	}
	if outside {
		options, err := o.server.Connection("nqueens coordinator")
		if err != nil {
			return cfg, cli.Usagef("%w", err)
		}
		cfg.Server, cfg.Join = &options, o.workerCommand()
	}
	if cfg.Machine, err = cli.MachineName(o.machine); err != nil {
		return cfg, err
	}
	if o.machine == "" {
		cfg.HidesHardware = cli.HidesHardware()
	}
	cfg.Threads, cfg.Listen, cfg.Advertise, cfg.Unique = o.workers, o.listen, o.advertise, o.unique
	cfg.Version, cfg.Host, cfg.Log = cli.Version(), cli.HostName(o.machine), app.Log
	cfg.Flags, cfg.Resume = o.kept(), o.resume
	cfg.Recount, err = recounter(app)
	return cfg, err
}

// validate returns an error if the flags contradict each other.
func (o *sessionFlags) validate() error {
	outside := o.server.IsSet()
	switch {
	case o.workers == 0 && !outside && o.listen == "":
		return cli.Usagef(
			"--workers 0 leaves no thread to count: let workers join with --listen, --nats or --join")
	case outside && o.listen != "":
		return cli.Usagef(
			"--listen opens the server of this process, --nats and --join name another: give one of them")
	case o.advertise != "" && o.listen == "":
		return cli.Usagef("--advertise is for the token of --listen: give both")
	case o.linger > 0 && o.http == "":
		return cli.Usagef("--linger keeps a page: give its address with --http")
	}
	return nil
}

// kept returns the flags that a command needs to go on with a run, because the ledger does not
// store them. Paths are absolute. No password is among them, and not the folder of the runs.
func (o *sessionFlags) kept() (words []string) {
	kept := pflag.NewFlagSet("", pflag.ContinueOnError)
	new(sessionFlags).register(kept)
	o.flags.Visit(func(f *pflag.Flag) {
		switch value := f.Value.String(); {
		case kept.Lookup(f.Name) == nil || f.Name == "data":
		case f.NoOptDefVal != "":
			words = append(words, "--"+f.Name)
		case f.Name == "nats" && strings.Contains(value, "@"):
			words = append(words, "--nats", "URL")
		case slices.Contains(bus.Files, f.Name):
			words = append(words, "--"+f.Name, absolute(value))
		default:
			words = append(words, "--"+f.Name, value)
		}
	})
	return words
}

// workerCommand returns what to type to start a worker at the server of the flags, or "" if only
// the server's owner knows. The token of workers is beside that of the coordinator.
func (o *sessionFlags) workerCommand() string {
	switch {
	case o.server.Join != "":
		token := filepath.Join(filepath.Dir(absolute(o.server.Join)), join.FileName)
		return humanize.Command("worker", "--join", token)
	case o.server.Creds != "" || o.server.NKey != "" || strings.Contains(o.server.URL, "@"):
		return ""
	case o.server.TLSCA != "":
		return humanize.Command("worker", "--nats", o.server.URL, "--tls-ca", absolute(o.server.TLSCA))
	}
	return humanize.Command("worker", "--nats", o.server.URL)
}

// resume returns what to type to go on with a run, with the flags that the ledger does not store.
// It shows no password.
func (o *sessionFlags) resume(run string) string {
	return o.data.command(append([]string{"resume", run}, o.kept()...)...)
}

// recounter returns a function that counts a task on all cores, in a child process of the program
// that runs now.
func recounter(app *cli.App) (
	func(ctx context.Context, task queens.Task, kernel string, deeper bool) (uint64, error), error,
) {
	image, err := count.OwnImage()
	say := func(problem error) { app.Log.Warn().Err(problem).Msg("the system gives no process") }
	return func(ctx context.Context, task queens.Task, kernel string, deeper bool) (uint64, error) {
		_, memory := count.MemoryOf(cli.Memory())
		r := count.Recount{Task: queens.Exported(&task, 1), Kernel: kernel, Deeper: deeper,
			Memory: memory}
		return r.InChild(ctx, image, say)
	}, err
}

// logDelay is the time between the last line of the log and the total, with --nats or --join. The
// delay makes the total the last line even where a service manager such as Docker merges stdout and
// stderr.
const logDelay = 100 * time.Millisecond

// opener opens the run of a command.
type opener func(context.Context, session.Config) (*session.Session, error)

// run opens a session, runs it, and prints its result.
func (o *sessionFlags) run(cmd *cobra.Command, app *cli.App, open opener) (err error) {
	cfg, err := o.config(app)
	if err != nil {
		return err
	}
	ctx, u := cmd.Context(), newUI(app)
	cfg.OnStart, cfg.OnSnapshot = func(string) { u.start() }, u.show
	s, err := open(ctx, cfg)
	if errors.Is(err, session.ErrAlone) {
		return cli.Usagef("%w", err)
	} else if err != nil {
		return err
	}
	closePage, err := o.openPage(app, u, s)
	if err != nil {
		return errors.Join(err, s.Close(ctx))
	}
	defer func() { err = errors.Join(err, closePage(ctx)) }()
	if s.Ended() {
		text := "run " + s.Name() + " has ended: its ledger is audited, and nothing is counted again"
		app.Log.Info().Str("run", s.Name()).Str(humanize.LogField, text).Msg("audit")
	}
	result, err := s.Run(ctx)
	u.stop()
	result.Verify = o.data.command("verify", s.Name())
	folder := s.Folder()
	if errors.Is(err, ledger.ErrGone) {
		folder = ""
	}
	o.present(app, u, s, result, folder, ctx.Err() != nil)
	if result.Total != nil && o.server.IsSet() {
		time.Sleep(logDelay)
	}
	err = errors.Join(err, result.Write(cmd.OutOrStdout(), o.json))
	// err has the failure of the ledger already
	if closed := s.Close(ctx); !errors.Is(err, ledger.ErrFailed) {
		err = errors.Join(err, closed)
	}
	return err
}

// openPage serves the page of a session, if the flags ask for it. The function that it returns ends
// the page.
func (o *sessionFlags) openPage(
	app *cli.App, u *ui, s *session.Session,
) (end func(context.Context) error, err error) {
	if o.http == "" {
		return func(context.Context) error { return nil }, nil
	}
	p, err := page.Listen(page.Config{
		Address: o.http, Version: cli.Version(), Linger: o.linger, History: s.History,
		Snapshot: u.latest.Load, Workers: s.Workers,
	})
	if err != nil {
		return nil, err
	}
	app.Log.Info().Str("page", p.URL()).Str(humanize.LogField,
		"the page of the run is at "+p.URL()).Msg("page")
	return p.Close, nil
}

// present shows on the terminal or in the log how a session ended. The parameter folder names the
// folder of the ledger; it is empty if that folder is gone.
func (o *sessionFlags) present(
	app *cli.App, u *ui, s *session.Session, result *report.Result, folder string, interrupted bool,
) {
	resume := o.resume(s.Name())
	resumes := result.Last.State.Resumes()
	stopped := report.Stopped(result.Last, u.counting.Load(), folder, resume)
	switch {
	case u.unresponsive: // nobody reads the terminal
	case result.Total == nil && s.Empty(): // nothing is left to resume
	case result.Total != nil && app.TTY() != nil && app.Log.GetLevel() <= zerolog.InfoLevel:
		// fails if the terminal was closed
		_ = report.WriteTable(app.TTY(), result.Summary(s.Earlier()), app.Colors())
	case resumes && interrupted && app.Tell(stopped):
	default:
		result.Log(app.Log)
		if resumes && folder != "" {
			app.Log.Info().Str("run", s.Name()).Str("command", resume).
				Str(humanize.LogField, "to resume the run: "+resume).Msg("to resume the run")
		}
	}
}

// ui shows snapshots of a run on the display and in the log, and keeps the latest for the page.
type ui struct {
	app          *cli.App
	display      *display.Display // nil if there is none
	follower     report.Follower
	begun        time.Time
	latest       atomic.Pointer[queens.Snapshot]
	counting     atomic.Pointer[queens.Snapshot] // the latest snapshot in the state running
	unresponsive bool
}

func newUI(app *cli.App) *ui { return &ui{app: app, begun: time.Now()} }

// start shows the display, if stderr is a terminal that can show it.
func (u *ui) start() {
	u.follower = report.Follower{Log: u.app.Log, Progress: !u.app.NoProgress}
	if tty := u.app.TTY(); tty != nil {
		u.display = display.New(tty, u.app.Colors())
		u.app.RedirectLog(u.display)
		u.follower.Progress = false
	}
}

// show presents a snapshot.
func (u *ui) show(s *queens.Snapshot) {
	latest := *s
	u.latest.Store(&latest)
	if s.State == queens.Running {
		u.counting.Store(&latest)
	}
	if u.display != nil {
		u.display.Show(&latest)
	}
	u.follower.Follow(time.Since(u.begun), &latest)
}

// stop removes the display.
func (u *ui) stop() {
	if u.display != nil {
		u.unresponsive = !u.display.Close()
		u.app.RedirectLog(nil)
		u.display = nil
	}
}
