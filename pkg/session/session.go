// Package session runs one count on this machine from its configuration to its result: it
// opens the run's ledger and the connection to a NATS server, embedded or outside, claims the
// run, runs the coordinator and the workers of this process, publishes the progress, and
// cleans up. It knows no flags and prints nothing: it calls its observers, and logs. The
// rules by which a total is reached are those of package coordinator.
package session

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/audit"
	"nqueens/pkg/bus"
	"nqueens/pkg/dashboard"
	"nqueens/pkg/humanize"
	"nqueens/pkg/identity"
	"nqueens/pkg/kernel"
	"nqueens/pkg/keyring"
	"nqueens/pkg/ledger"
	"nqueens/pkg/metrics"
	"nqueens/pkg/queens"
	"nqueens/pkg/report"
	"nqueens/pkg/run"
	"nqueens/pkg/runstore"
)

// Config says where and with what to count.
type Config struct {
	Store   *runstore.Store
	Workers int           // in this process, one thread each
	Kernel  kernel.Kernel // of those workers
	Version string        // of this program, which the workers report
	URL     string        // of one or more NATS servers, see [bus.Config]; empty for an embedded server
	// Credentials are for the server of URL.
	Credentials bus.Credentials
	Listen      string // host:port at which the embedded server accepts others; empty for none, and with a URL
	// TokenFile has the token with which workers join the embedded server; empty for one that is made
	// where others than this machine reach the server.
	TokenFile string
	// Replicas is how many servers of a cluster keep the run's streams at least: 1, 3 or 5. 0 leaves
	// streams that exist as they are.
	Replicas int
	// WorkerProgram are the words that start a worker, for the hint how workers join; empty means "worker".
	WorkerProgram []string
	// Page has where the page, health checks and metrics are served; without an address they are not.
	Page dashboard.HostConfig
	// Linger is how long the page stays after the run has come to its end; see [Session.Linger].
	Linger time.Duration
	// FinishIn is how long the whole run should take; see [run.Snapshot.NeededThreads].
	FinishIn time.Duration
	Unique   bool // also count the fundamental solutions
	Survey   bool // also survey the ledger at the end, for a report
	// Priority is how the run shares workers with other runs of the server; empty means normal.
	Priority run.Priority

	// Admission says which workers are admitted. Those of this process always are, and those who have a key
	// or the token of an embedded server that asks for one.
	Admission keyring.Sources

	// Alone counts a task in a process of its own; see [coordinator.Config]. It may be nil.
	Alone func(ctx context.Context, task *queens.Task) (run.TaskCount, error)

	// OnStop is called if another process asks this one to stop. It must end the contexts of the session.
	OnStop func()
	// OnStart is called once, with the name of the run, when counting starts.
	OnStart func(run string)
	// OnSnapshot is called with each snapshot from then on. Calls do not overlap.
	OnSnapshot func(run.Snapshot)
	// OnStatus is called every second with what the snapshots do not tell, for people; empty for nothing.
	OnStatus func(text string)
	Log      zerolog.Logger
}

// Validate reports what a session can't run with. Flags that exclude each other are the business of the command.
func (c *Config) Validate() error {
	switch {
	case c.Store == nil || c.OnStop == nil || c.OnStart == nil || c.OnSnapshot == nil || c.OnStatus == nil:
		return errors.New("a session needs a store and observers")
	case c.Workers == 0 && c.URL == "" && c.Listen == "":
		return errors.New("no workers: none in this process, and the embedded server accepts no others")
	}
	return nil
}

// Session is a run whose ledger is open in this process. [Count] and [Resume] open one.
type Session struct {
	cfg     Config
	log     zerolog.Logger
	started time.Time
	host    *dashboard.Host      // of the page; nil without an address for it
	metrics *metrics.Coordinator // nil without it too
	ledger  *ledger.Ledger
	control *runstore.Control // nil if the ledger is open for reading only
	created bool              // the run is new, and not claimed yet
	lingers bool              // the page is still served
	// takeOver says that the run may be taken from a coordinator that has more results of it.
	takeOver bool

	bus        *bus.Bus                                                    // from connectAndRun on
	admits     func(key string, admission []byte) (admitted, byToken bool) // of admitter; nil without it
	admitter   *keyring.Admitter                                           // nil if only the workers of this process are admitted
	unread     string                                                      // the last error of rereadAdmitted
	identity   *identity.Identity                                          // of the coordinators and workers of this store, from connectAndRun on
	latest     atomic.Pointer[run.Snapshot]
	outage     outage       // of the server
	fleet      fleet        // of other processes
	lastReport atomic.Int64 // when the coordinator last reported progress, in Unix nanoseconds
	unique     *big.Int     // nil unless fundamental solutions are counted
}

// open returns a session whose ledger openLedger opens.
func open(cfg Config, openLedger func(s *Session) error) (*Session, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	s := &Session{cfg: cfg, log: cfg.Log, started: time.Now()}
	if err := s.setAdmission(cfg.Admission); err != nil {
		return nil, err
	}
	var err error
	if cfg.Page.Address != "" {
		s.metrics = metrics.NewCoordinator(cfg.Version)
		s.host, err = s.listen()
	}
	if err == nil {
		err = openLedger(s)
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// close closes what open opened.
func (s *Session) close() error {
	if s.host != nil && !s.lingers {
		s.host.Close()
	}
	if s.control != nil {
		s.control.Close()
	}
	if s.ledger == nil {
		return nil
	}
	return s.ledger.Close()
}

// openWriting opens the ledger of a run for writing, and answers other processes.
func (s *Session) openWriting(ctx context.Context, name string) error {
	control := s.cfg.Store.NewControl(name, s.cfg.OnStop)
	l, err := s.cfg.Store.Work(ctx, control)
	if err == nil {
		s.ledger, s.control = l, control
	}
	return err
}

// answerForNew answers other processes for a ledger that is new.
func (s *Session) answerForNew(l *ledger.Ledger) {
	s.ledger, s.control = l, s.cfg.Store.NewControl(l.Header().Run, s.cfg.OnStop)
	s.control.Listen(l)
}

// Name returns the name of the run.
func (s *Session) Name() string { return s.ledger.Header().Run }

// Folder returns the folder of the run.
func (s *Session) Folder() string { return s.cfg.Store.Folder(s.Name()) }

// Interrupted reports, before [Session.Run], whether the run was started before this session, and
// is not finished.
func (s *Session) Interrupted() bool { return !s.created && !isFinal(s.ledger) }

// Made returns when the run ended, if nothing is left to count: [Session.Run] only audits it. The time is zero if it is
// not known.
func (s *Session) Made() (at time.Time, final bool) { return s.ledger.Ended(), isFinal(s.ledger) }

// isFinal reports whether nothing is left to count. A complete run with damaged records is
// not final.
func isFinal(l *ledger.Ledger) bool {
	return l.State().Finished() && (l.State() != run.Complete || l.Len() == l.Header().Manifest.Tasks)
}

// Run counts until the run ends, or audits a finished run again, and closes the session. The
// result is valid with any error, which wraps [run.ErrContradiction],
// [run.ErrIncomplete], [run.ErrCancelled], [run.ErrNoConnection] or the cause of
// ctx's end. A new run that fails before it is claimed leaves nothing on disk.
func (s *Session) Run(ctx context.Context) (report.Result, error) {
	count, finished := s.connectAndRun, isFinal(s.ledger)
	if finished {
		count = s.auditAgain
	}
	e, err := count(ctx)
	result := s.result(ctx, &e, err)
	if s.cfg.Survey && (finished || result.Count != nil) {
		result.Survey, result.History = audit.Survey(s.ledger), s.ledger.History().Samples()
	}
	name := s.Name()
	if s.ledger.State().Finished() {
		_ = s.cfg.Store.RemoveRest(name) // the next resume tries again
	}
	err = errors.Join(err, s.close())
	if s.created {
		_ = os.RemoveAll(s.cfg.Store.Folder(name)) // nothing is counted, and err says what went wrong
	}
	return result, err
}

// slowAfter is how long work that usually takes an instant goes unmentioned.
const slowAfter = time.Second

// keyFile holds, in the folder of all runs, the key of this machine's coordinators and of the
// workers in their processes.
const keyFile = "coordinator.key"

// connectAndRun connects to the server, claims the run, and counts. If the run can be
// resumed, it leaves on the server what that needs; otherwise it leaves nothing.
func (s *Session) connectAndRun(ctx context.Context) (e ending, err error) {
	if s.cfg.Workers > 0 {
		if err := kernel.SelfTest(ctx, s.cfg.Kernel); err != nil {
			return e, err
		}
	}
	if s.identity, err = identity.LoadOrCreate(filepath.Join(s.cfg.Store.Path(), keyFile)); err != nil {
		return e, err
	}
	server, err := s.connect(s.Name())
	if err != nil {
		return e, err
	}
	defer server.close()
	s.bus = server.bus
	s.control.SetServer(server.publicURL())
	claim, err := s.claim(ctx)
	if err != nil {
		return e, err
	}
	s.created = false
	if err := s.ledger.SetState(run.Running); err != nil {
		return e, err
	}
	return s.runClaimed(ctx, server, claim)
}

// claim sets up the server and makes this process the run's coordinator.
func (s *Session) claim(ctx context.Context) (*bus.Claim, error) {
	for _, id := range s.ledger.Damaged() {
		s.log.Warn().Uint64("task", id).Msg("the ledger's record of the task was damaged: it is counted again")
	}
	if err := s.bus.Ensure(ctx, s.Name()); err != nil {
		return nil, s.wrapSetupError(ctx, err)
	}
	if err := s.checkNewest(ctx); err != nil {
		return nil, err
	}
	h := s.ledger.Header()
	claim, err := s.bus.Registry().Claim(ctx, run.Record{
		Redundancy: h.Trust.Redundancy, SpotCheck: h.Trust.SpotCheck,
		Run: h.Run, Manifest: h.Manifest, State: run.Running, Owner: ownerID(),
		Done: s.ledger.Len(), Lost: s.ledger.Lost(), Created: h.Created,
	})
	switch {
	case err == nil:
		return claim, nil
	case errors.Is(err, run.ErrCancelled):
		// The record was kept only to tell this coordinator.
		return nil, errors.Join(err, s.ledger.SetState(run.Cancelled), s.bus.Registry().Delete(ctx, h.Run))
	case s.created:
		// The record may exist although no answer came.
		ctx, done := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
		defer done()
		_ = s.bus.Registry().Delete(ctx, h.Run) // best effort: err says why the run can't start
	}
	return nil, s.wrapSetupError(ctx, err)
}

// checkNewest returns an error if another coordinator works on the run with a newer ledger: then
// this one is a copy. Who has the newest ledger takes the run over at once, since a coordinator
// that was killed is the common case. That ledger may have fewer results than the record says, because of a
// quarantine; with what it has lost it never has.
func (s *Session) checkNewest(ctx context.Context) error {
	if s.takeOver || s.cfg.URL == "" {
		return nil
	}
	record, err := s.bus.Registry().Record(ctx, s.Name())
	if err != nil {
		return nil //nolint:nilerr // there is none, or the claim fails too
	}
	if why := whyNewer(&record, s.ledger.Len(), s.ledger.Lost()); why != "" && record.IsActive() {
		return activeError(s.Name(), record.Owner+", "+why)
	}
	return nil
}

// whyNewer says how the ledger behind a record is newer than one that has so many results and has lost so many;
// empty if it is not. After a quarantine the newer one may have fewer results.
func whyNewer(record *run.Record, has, lost uint64) string {
	switch {
	case record.Done+record.Lost <= has+lost:
		return ""
	case record.Lost > lost:
		return fmt.Sprintf("with %d tasks, after results became void; the ledger here, with %d tasks, is from before that", record.Done, has)
	}
	return fmt.Sprintf("with %d tasks; the ledger here has only %d", record.Done, has)
}

func (s *Session) wrapSetupError(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, run.ErrNoConnection): // nothing is lost, and the server permits nothing
		return err
	case s.cfg.URL == "":
		err = fmt.Errorf("%w for the embedded server, %s: %w", runstore.ErrFolder, s.cfg.Store.Path(), err)
	default:
		err = fmt.Errorf("set up the server: %w", err)
	}
	if !s.created {
		err = fmt.Errorf("%w: %w", run.ErrIncomplete, err)
	}
	return err
}

// ownerID names this coordinator in the run's record.
func ownerID() string {
	host, err := os.Hostname()
	if err != nil {
		host = "an unnamed host"
	}
	return fmt.Sprintf("%s, process %d", host, os.Getpid())
}

// runClaimed counts the claimed run to its end. The outcome is stored and published before
// runClaimed returns, because the caller's terminal may block.
func (s *Session) runClaimed(ctx context.Context, server *connection, claim *bus.Claim) (e ending, err error) {
	h := s.ledger.Header()
	event := s.log.Info().Str("run", h.Run).Int("n", h.Manifest.N).Str("symmetry", string(h.Manifest.Symmetry)).
		Uint64("tasks", h.Manifest.Tasks).Uint64("done", s.ledger.Len()).Int("workers", s.cfg.Workers).
		Str("kernel", s.cfg.Kernel.Name).Str("server", server.address)
	if h.Trust.Redundancy > 1 {
		event.Int("redundancy", h.Trust.Redundancy)
	}
	if len(h.Manifest.Placed) > 0 {
		event.Str("placed", humanize.Squares(h.Manifest.Placed))
	}
	event.Str(humanize.LogField, s.countingLine(server.address)).Msg("counting")
	s.warnVoters(server)
	s.cfg.OnStart(s.Name())
	s.startPage(ctx)
	e.Outcome, err = s.runServices(ctx, server, claim)
	e.counted = true
	last := s.lastSnapshot(&e.Outcome, endState(ctx, err))
	s.showEnd(&last, err)
	resumable, failed := s.finish(ctx, server, claim, &last, err)
	e.resumable = resumable
	switch {
	case s.host == nil:
	case s.cfg.Linger > 0 && s.isOver():
		s.lingers = true
	default:
		s.stopPage()
	}
	return e, errors.Join(err, failed)
}
