// Package worker is the service that takes chunks of tasks from the queues of runs, counts the
// tasks, and publishes the results. It keeps nothing but the chunks that it holds: a worker may
// die at any moment, and its chunks go to others when their leases lapse. That is safe because
// it stores a result before it acknowledges the chunk.
//
// What must hold, and where:
//
//	chunks come only from runs whose announcements say that they are alive            runs.go
//	a search ends soon after its run, or when an announcement names its chunk          runs.go
//	live runs get thread time by their weights, whatever their chunks take    shares.go
//	no thread waits for the network while a queue has chunks                  shares.go
//	a worker without work sends no requests, but lets pulls wait              fetch.go
//	a device searches chunks of one run and board together, and never a suspect
//	chunk with others                                                          batch.go
//	the chunks of a batch are charged all time of the device, as threads       batch.go
//	a kernel that fails returns its chunks, and the worker ends                batch.go
//	a task that this key has counted goes to another first          batch.go, counted.go
//	a heartbeat names a chunk that may kill the worker before its search      heartbeat.go
//	the chunk is acknowledged only when its result is stored                  report.go
//	what was counted of a chunk when the worker stops is reported              batch.go
//	a result is signed by the thread that has counted it                       batch.go
//	a worker that a run has proven wrong leaves                               runs.go
//	a worker that pauses searches nothing and holds no chunk                  pause.go
//	leases are extended only while the searches advance                       leases.go
//
// The package does not choose a kernel or connect to a server.
package worker

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"nqueens/pkg/kernel"
	"nqueens/pkg/queens"
	"nqueens/pkg/ratelimit"
	"nqueens/pkg/run"
)

// Queue lends chunks. It is called from one goroutine; leases are used from any, also after
// Close.
type Queue interface {
	// Take takes the chunks that wait now in the queue of a run, at most most. None is not an
	// error.
	Take(ctx context.Context, run string, most int) ([]run.Loan, error)
	// Park leaves a request for one chunk of a run at the server, unless one is there already.
	// The request ends by itself after a while, and may get lost.
	Park(run string)
	// Parked delivers the chunks that parked requests bring, and those that come after their
	// Take has returned.
	Parked() <-chan run.Loan
	// Close ends all requests, and returns to the queues the chunks that are on their way.
	Close()
}

// Results stores results. It is safe for concurrent use.
type Results interface {
	// Publish returns nil when the result is stored.
	Publish(ctx context.Context, r *run.ChunkResult) error
}

// Telemetry connects the worker with the coordinators. It is safe for concurrent use.
type Telemetry interface {
	PublishHeartbeat(h run.Heartbeat, by run.Signer) error
	// SubscribeAnnouncements calls each for the announcements of all runs until unsubscribe is called.
	SubscribeAnnouncements(each func(run.Announcement)) (unsubscribe func(), err error)
	// Connected returns nil while there is a connection to a server.
	Connected() error
}

// Identity is the worker's private key. It is safe for concurrent use.
type Identity interface {
	// Key returns the public key, an NKey of a user.
	Key() string
	// Sign returns the Ed25519 signature of a text.
	Sign(text []byte) ([]byte, error)
}

// Worker is the service.
type Worker struct {
	cfg       Config
	queue     Queue
	results   Results
	telemetry Telemetry

	wakeFetch        chan struct{}      // holds a token when there may be something to fetch
	wakeAnnouncement chan struct{}      // holds a token when the worker began or ceased to hold chunks
	flushes          chan chan struct{} // each is closed when a heartbeat has been published
	limiter          ratelimit.Limiter  // of store errors
	onTheirWay       chan struct{}      // holds a token for each result that is reported
	reporting        sync.WaitGroup     // goroutines that report
	cleanups         sync.WaitGroup     // goroutines that return or remove chunks

	// Set by Run: the contexts of searches, which ends with the grace, and of reports, which
	// leaves some time to store what was counted until then.
	searches, reports context.Context
	// leave, set by Run too, makes the worker stop.
	leave func()

	threads int // all, see [Config.AllThreads]

	mu         sync.Mutex
	begin      *sync.Cond // signalled when a chunk is ready, or the worker stops
	stopping   bool       // nothing more is taken or begun
	held       map[*heldChunk]struct{}
	suspect    bool                // a suspect chunk is being searched
	ready      []*heldChunk        // those held and not begun, in order of arrival
	waiting    map[*Device]int     // how many threads or devices of a kind wait for a chunk
	batches    map[*batch]struct{} // in search
	runs       map[string]*knownRun
	shares     shares
	connected  bool
	quarantine error               // why the worker leaves: a run has quarantined its key
	paused     string              // why the worker pauses, or empty
	pausedAt   time.Time           // since when
	worked     map[string]struct{} // runs of chunks that were searched since the last log line
	total      uint64              // tasks counted since the start
	prefixes   uint64              // of them
	stored     uint64              // results of chunks since the start
	searchTime time.Duration       // of all threads since the start, without batches in search
	idleSince  time.Time           // when the worker last held a chunk, or started
	renewedAt  time.Time           // when renewLoop last extended leases
	stalled    int                 // searches that did not advance then
}

// New returns a worker. It does not start it. Only Version, Admission, Counted, Grace, IdleExit, Pause
// and ReportEvery may be zero.
func New(cfg Config, queue Queue, results Results, telemetry Telemetry) *Worker {
	if cfg.Counted == nil {
		cfg.Counted = new(CountedTasks)
	}
	w := &Worker{
		cfg: cfg, queue: queue, results: results, telemetry: telemetry,
		wakeFetch: make(chan struct{}, 1), wakeAnnouncement: make(chan struct{}, 1),
		threads: cfg.AllThreads(), flushes: make(chan chan struct{}, cfg.Threads+len(cfg.Devices)),
		held: make(map[*heldChunk]struct{}), runs: make(map[string]*knownRun), shares: make(shares),
		batches: make(map[*batch]struct{}), waiting: make(map[*Device]int), worked: make(map[string]struct{}),
	}
	w.onTheirWay = make(chan struct{}, reportsPerThread*w.threads)
	w.begin = sync.NewCond(&w.mu)
	return w
}

// NewName returns a name for a worker on this machine, such as laptop-3f9a21.
func NewName() string {
	host, _ := os.Hostname() // empty if it fails
	var id [3]byte
	rand.Read(id[:]) // never fails, see crypto/rand
	return fmt.Sprintf("%.64s-%x", queens.Sanitize(cmp.Or(host, "worker")), id)
}

// ErrQuarantined says that the coordinator of a run has proven a count of this worker wrong, and
// accepts nothing more from its key.
var ErrQuarantined = errors.New("this worker's key is quarantined")

// errStopping ends searches and reports when the grace is over.
var errStopping = errors.New("the worker is stopping")

// lastReports is how long after the grace the worker may take to report what it has counted.
const lastReports = 2 * time.Second

// Run takes and counts chunks until ctx ends, or it has been idle for too long. Then it takes no
// more, releases the chunks it has not begun, and gives searches and reports the grace to finish.
// Of the chunks that are not finished then it reports the tasks that it has counted; it releases
// those without any. It ends in the same way if a kernel fails or has no counter for a thread, or a run has
// quarantined its key. The error is nil, wraps [ErrQuarantined], or is that of a kernel.
//
// A chunk passes three stages, each with its own goroutines: one fetches chunks, some ahead
// so that no thread waits for the network; one per thread searches; one per chunk reports.
func (w *Worker) Run(ctx context.Context) error {
	searching, ctx := errgroup.WithContext(ctx)
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	w.leave = leave
	w.idleSince = time.Now()
	defer w.setDeadlines(ctx)()

	var others sync.WaitGroup
	search := func(d *Device) {
		searching.Go(func() error {
			return d.Kernel.WithCounter(func(c kernel.Counter) error { return w.searchLoop(c, d) })
		})
	}
	thread := &Device{Kernel: w.cfg.Kernel, Threads: 1}
	for range w.cfg.Threads {
		search(thread)
	}
	for i := range w.cfg.Devices {
		search(&w.cfg.Devices[i])
	}
	holding, release := context.WithCancel(context.WithoutCancel(ctx))
	if w.cfg.IdleExit > 0 {
		others.Go(func() { w.idleLoop(ctx, leave) })
	}
	if w.cfg.Pause != nil {
		w.setPaused(w.cfg.Pause())
		others.Go(func() { w.pauseLoop(ctx) })
	}
	unsubscribe := w.subscribe(ctx) // before the first heartbeat: it is answered with an announcement
	others.Go(func() { w.renewLoop(holding) })
	others.Go(func() { w.heartbeatLoop(holding) })
	others.Go(func() { w.watchLoop(holding) })
	others.Go(func() { w.logLoop(holding) })

	w.fetchLoop(ctx)
	err := searching.Wait()
	w.reporting.Wait()
	unsubscribe()
	w.cleanups.Wait()
	release()
	others.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	return cmp.Or(err, w.quarantine)
}

// setDeadlines makes the contexts of searches and reports, which end some time after ctx. The
// function that it returns frees them.
func (w *Worker) setDeadlines(ctx context.Context) (free func()) {
	searches, abort := context.WithCancelCause(context.WithoutCancel(ctx))
	reports, abandon := context.WithCancelCause(context.WithoutCancel(ctx))
	w.searches, w.reports = searches, reports
	stop := context.AfterFunc(ctx, func() {
		time.AfterFunc(w.cfg.Grace, func() { abort(errStopping) })
		time.AfterFunc(w.cfg.Grace+lastReports, func() { abandon(errStopping) })
	})
	return func() {
		stop()
		abort(nil)
		abandon(nil)
	}
}

// idleLoop calls leave when the worker has been idle for too long, and ends with ctx. A pause is no idle time.
func (w *Worker) idleLoop(ctx context.Context, leave func()) {
	for left := w.cfg.IdleExit; left > 0; left = w.cfg.IdleExit - w.idleWithoutPause() {
		select {
		case <-ctx.Done():
			return
		case <-time.After(left):
		}
	}
	w.cfg.Log.Info().Float64("idle_s", w.cfg.IdleExit.Seconds()).Msg("no task for too long, leaving")
	leave()
}

// wake leaves a token in a channel, unless one is there.
func wake(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
