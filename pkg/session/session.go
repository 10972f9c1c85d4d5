// Package session runs one count on this machine, from its configuration to its result. It opens
// the ledger of the run, connects to a NATS server, embedded or outside, and runs the coordinator
// and the worker of this process. It knows no flags and prints nothing: it logs, and calls the
// functions of its [Config].
package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/big"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/audit"
	"nqueens/pkg/bus"
	"nqueens/pkg/coordinator"
	"nqueens/pkg/count"
	"nqueens/pkg/halves"
	"nqueens/pkg/humanize"
	"nqueens/pkg/kernel"
	"nqueens/pkg/ledger"
	"nqueens/pkg/progress"
	"nqueens/pkg/queens"
	"nqueens/pkg/report"
	"nqueens/pkg/runs"
	"nqueens/pkg/split"
	"nqueens/pkg/symmetry"
)

// Config says where to count, and by which means.
type Config struct {
	Store   *runs.Store
	Threads int           // of the worker in this process; 0 if there is no worker
	Kernel  kernel.Kernel // of that worker
	// of that worker by the method halves; the zero value is the default of this machine
	Halves halves.Kernel
	// in bytes, the limit of the method halves in that worker; 0 is none
	Memory  uint64
	Version string // of this program
	Machine string // name of this machine
	// why the name of this machine does not show its hardware; empty if it does, or was given
	HidesHardware string
	Host          string       // name of this host, for people
	Server        *bus.Options // an outside server; nil for an embedded one
	Join          string       // what to type to start a worker at the outside server
	// Listen is the host:port at which the embedded server accepts connections; empty if no other
	// process may connect. Advertise is the address that the join token names; empty for those of this
	// machine.
	Listen, Advertise string
	Unique            bool // also count the fundamental solutions
	// Recount counts a task in a child process.
	Recount func(ctx context.Context, task queens.Task, kernel string, deeper bool) (uint64, error)
	// Flags are those with which the run goes on after this process: what the ledger does not keep.
	// Resume returns what to type to go on with a run.
	Flags  []string
	Resume func(run string) string
	// OnStart is called once, with the name of the run, when counting starts.
	OnStart func(run string)
	// OnSnapshot is called with each snapshot while the run counts, and with the last snapshot of a
	// run. Calls do not overlap.
	OnSnapshot func(*queens.Snapshot)
	Log        zerolog.Logger
}

// Job is what to count.
type Job struct {
	Method   queens.Method // empty for that of a run of the same count, or else the fastest
	N        int           // side of the board, 1 to [queens.MaxN]
	Symmetry queens.Symmetry
	Placed   []queens.Square // queens placed beforehand, sorted; they need [queens.None]
	// rows of all prefixes, with one prefix in each task; 0 for tasks of a good size
	Depth      int
	Redundancy int // machines that must agree on each task, 1 or 2
	// with a redundancy of 1, share of the tasks that a second machine counts, 0 to 1
	SpotCheck float64
	New       bool // start a new run, even if there are runs of the same count
}

// Session is a run whose ledger is open in this process. [Count] and [Resume] open one.
type Session struct {
	cfg     Config
	name    string
	run     *ledger.Log // nil if the run has ended: nothing is written
	state   *ledger.State
	index   *split.Index
	tested  func() error // waits for the kernel's self-test and returns its error
	created bool         // the run is new
	earlier uint64       // tasks that were done before this session
	started time.Time
	meter   progress.Meter
	history history
	server  *server

	coordinator atomic.Pointer[coordinator.Coordinator] // nil before it counts
}

// Count opens the run of a job. That is the newest unfinished run of the same count, or else the
// newest complete run, or else a new one. With job.New, it is always a new one.
func Count(ctx context.Context, cfg Config, job Job) (*Session, error) {
	if !job.New {
		r, err := cfg.Store.Of(runs.Count{
			Method: job.Method, N: job.N, Symmetry: job.Symmetry, Placed: job.Placed, Depth: job.Depth,
			Redundancy: job.Redundancy,
		})
		if err != nil {
			return nil, err
		}
		if r != nil {
			return Resume(ctx, cfg, r.Name)
		}
	}
	if err := cfg.reaches(job.Redundancy); err != nil {
		return nil, err
	}
	begun := time.Now()
	tested := cfg.selfTest(ctx)
	defer report.Slow(cfg.Log, "splitting the board into tasks")()
	what := queens.Manifest{
		Method: cmp.Or(job.Method, job.fastest(cfg.Kernel.Name)), N: job.N, Symmetry: job.Symmetry,
		Placed: job.Placed,
	}
	m, index, err := split.New(ctx, what, job.Depth)
	if err != nil {
		return nil, err
	}
	h := ledger.Header{Manifest: m, Redundancy: job.Redundancy, SpotCheck: job.SpotCheck,
		Depth: job.Depth}
	log, state, err := cfg.Store.Create(h, begun)
	if err != nil {
		return nil, err
	}
	return &Session{
		cfg: cfg, name: state.Header().Run, run: log, state: state, index: index, tested: tested,
		created: true, started: begun,
	}, nil
}

// ErrAlone says that a run needs several machines, but no other machine can join.
var ErrAlone = errors.New("no other machine can join: add --listen or --nats")

// reaches returns an error if the redundancy needs other machines, and none can join.
func (c *Config) reaches(redundancy int) error {
	if c.Server == nil && c.Listen == "" && redundancy > 1 {
		return fmt.Errorf("a redundancy of %d needs as many machines: %w", redundancy, ErrAlone)
	}
	return nil
}

// selfTest starts the self-test of the kernel, which runs while the count is prepared. It returns a
// function that waits for the test and returns its error.
func (c *Config) selfTest(ctx context.Context) (wait func() error) {
	done := make(chan error, 1)
	if c.Threads == 0 {
		done <- nil
	} else {
		by := count.Kernels{Prefixes: c.Kernel, Halves: c.Halves}
		go func() { done <- by.SelfTest(ctx) }()
	}
	return func() error { return <-done }
}

// Resume opens the named run of the store, even if the run has ended.
func Resume(ctx context.Context, cfg Config, name string) (*Session, error) {
	s := &Session{cfg: cfg, name: name, started: time.Now()}
	defer report.Slow(cfg.Log, "reading the ledger")()
	state, _, err := cfg.Store.Load(name)
	if err != nil {
		return nil, err
	}
	if state.Ended() != "" {
		s.state = state
		return s, nil
	}
	if err := cfg.reaches(state.Header().Redundancy); err != nil {
		return nil, err
	}
	s.tested = cfg.selfTest(ctx)
	debug.FreeOSMemory() // the fold of the open ledger takes the place of this one
	var notes ledger.Notes
	if s.run, s.state, notes, err = cfg.Store.Open(name); err != nil {
		return nil, err
	}
	if n := len(notes.Dropped); n > 0 {
		cfg.Log.Warn().Int("records",
			n).Msg("the ledger has damaged results or marks: tasks of these results are counted again")
	}
	if n := len(notes.Mended); n > 0 {
		cfg.Log.Warn().Int("records",
			n).Msg("the ledger has damaged bytes, which hide no record: check the disk")
	}
	if notes.Torn > 0 {
		cfg.Log.Warn().Int64("bytes",
			notes.Torn).Msg("the last results were not written as a whole: they are counted again")
	}
	if s.index, err = split.Check(ctx, &s.state.Header().Manifest, nil); err != nil {
		return nil, errors.Join(err, s.Close(ctx))
	}
	s.earlier = s.state.NumberDone()
	return s, nil
}

// Name returns the name of the run.
func (s *Session) Name() string { return s.name }

// Folder returns the folder of the run.
func (s *Session) Folder() string { return s.cfg.Store.Folder(s.name) }

// Earlier returns the number of tasks that were done before this session.
func (s *Session) Earlier() uint64 { return s.earlier }

// Ended reports whether nothing is left to count. Then [Session.Run] only audits the run.
func (s *Session) Ended() bool { return s.run == nil }

// Empty reports whether the run is new, has no results and has not ended. Then Close removes it
// from the disk.
func (s *Session) Empty() bool {
	return s.created && s.state.Results() == 0 && s.state.Ended() == ""
}

// Close ends the coordinator and closes the ledger. It removes an empty run from the disk. If the
// run has ended and workers of other processes are present, the coordinator first goes on for 5 s,
// or until ctx ends, to tell them that the run has ended.
func (s *Session) Close(ctx context.Context) error {
	if c := s.coordinator.Load(); c != nil {
		c.Linger(ctx)
		c.Close()
	}
	if s.server != nil {
		s.server.close()
	}
	if s.run == nil {
		return nil
	}
	err := s.run.Close()
	if s.Empty() {
		_, removed := s.cfg.Store.Remove(s.name, false)
		err = errors.Join(err, removed)
	}
	return err
}

// History returns the progress of the run over time: see [history].
func (s *Session) History() []progress.Point {
	return s.history.points(func() []progress.Point {
		return audit.History(s.cfg.Store.Ledger(s.name))
	})
}

// Workers returns a page of the present workers: see [coordinator.Coordinator.Workers].
func (s *Session) Workers(ctx context.Context, number uint64) ([]queens.Worker, uint64, error) {
	c := s.coordinator.Load()
	if c == nil {
		return nil, 0, errors.New("nothing is counted")
	}
	return c.Workers(ctx, number)
}

// Run counts until the run or ctx ends, or audits a run that has ended. The result is valid even
// with an error. The error may wrap [queens.ErrContradiction], [queens.ErrIncomplete],
// [queens.ErrNoConnection] or context.Cause(ctx).
func (s *Session) Run(ctx context.Context) (*report.Result, error) {
	var last queens.Snapshot
	var err error
	if s.Ended() {
		last, err = s.auditAgain(ctx)
	} else {
		last, err = s.count(ctx)
		if gone := s.run.Intact(); errors.Is(gone, ledger.ErrGone) && !errors.Is(err, ledger.ErrGone) {
			err = errors.Join(fmt.Errorf("%w: %w", queens.ErrIncomplete, gone), err)
		}
	}
	unique, uniqueErr := s.countUnique(ctx, &last)
	return report.NewResult(&last, unique, time.Since(s.started), s.state.Workers()),
		errors.Join(err, uniqueErr)
}

// auditAgain computes the total of an ended run from its ledger.
func (s *Session) auditAgain(ctx context.Context) (queens.Snapshot, error) {
	defer report.Slow(s.cfg.Log, "auditing the ledger")()
	last, err := audit.Facts(ctx, s.cfg.Store.Ledger(s.name))
	if errors.Is(err, queens.ErrContradiction) {
		contradict(&last)
	}
	s.cfg.OnSnapshot(&last)
	return last, err
}

// contradict takes the total out of a snapshot, because something contradicts it.
func contradict(last *queens.Snapshot) {
	last.State, last.Total, last.Confirmed = queens.Contradicted, nil, nil
	last.Disclaim()
}

// countUnique counts the fundamental solutions, if the configuration asks for them and the run has
// a total. If the two numbers contradict each other, the last snapshot loses the total. After
// another error, such as the end of ctx, the total stays valid.
func (s *Session) countUnique(ctx context.Context, last *queens.Snapshot) (*big.Int, error) {
	if !s.cfg.Unique || last.Total == nil {
		return nil, nil
	}
	defer report.Slow(s.cfg.Log, "counting the symmetric solutions")()
	unique, err := symmetry.Fundamental(ctx, last.N, (*big.Int)(last.Total), runtime.GOMAXPROCS(0))
	switch {
	case err == nil:
		return unique, nil
	case errors.Is(err, queens.ErrContradiction):
		contradict(last)
		s.cfg.OnSnapshot(last)
	}
	return nil, fmt.Errorf("the fundamental solutions were not counted: %w", err)
}

// startLine returns a text that says what this coordinator counts, and where.
func (s *Session) startLine(server string) string {
	m := &s.state.Header().Manifest
	line := fmt.Sprintf("counting n = %d, run %s: %s by the method %s", m.N, s.name,
		humanize.Plural(m.Tasks, "task"), m.Method)
	if s.earlier > 0 {
		line += fmt.Sprintf(", %s done", humanize.Int(s.earlier))
	}
	if len(m.Placed) > 0 {
		line += ", queens placed on " + humanize.Squares(m.Placed)
	}
	if s.cfg.Threads > 0 {
		line += fmt.Sprintf("; %s in this process, kernel %s", humanize.Plural(s.cfg.Threads, "thread"),
			s.cfg.Kernel.Name)
	}
	return line + "; " + server
}
