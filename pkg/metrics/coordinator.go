package metrics

import (
	"math/big"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"nqueens/pkg/run"
)

// The metrics of a coordinator.
var (
	runInfo     = gauge("nqueens_run_info", "1; the labels are the name of the run, the side of its board, and its symmetry.", "run", "n", "symmetry")
	tasks       = gauge("nqueens_tasks", "Tasks of the run by state; their sum is all of them.", "state")
	workDone    = gauge("nqueens_work_done_ratio", "Share of the estimated work that is done, 0 to 1.")
	partial     = gauge("nqueens_partial_solutions", "Solutions in the tasks counted so far, weighted. Not verified, and never a total: absent once all tasks are counted.")
	rate        = gauge("nqueens_solutions_per_second", "Solutions found per second lately, weighted, as the display shows it.")
	etaMin      = gauge("nqueens_eta_min_seconds", "The least time that the run is expected to take from now; absent while unknown.")
	etaMax      = gauge("nqueens_eta_max_seconds", "The longest time that the run is expected to take from now; absent while unknown.")
	elapsed     = gauge("nqueens_elapsed_seconds", "Time since rates are measured: since the start, or the last change of who is believed.")
	results     = counter("nqueens_results_total", "Results of single tasks by what they changed.", "outcome")
	refused     = counter("nqueens_results_refused_total", "Results of single tasks that do not count, by reason.", "reason")
	reports     = counter("nqueens_chunk_results_total", "Results of chunks read from the server.")
	published   = counter("nqueens_chunks_published_total", "Chunks published to the workers, each attempt counted.")
	republished = counter("nqueens_tasks_republished_total", "Tasks published again because no result came.")
	disputes    = counter("nqueens_disputes_total", "Tasks whose results contradicted each other, settled or not, since the run began.")
	keys        = gauge("nqueens_quarantined_keys", "Keys of workers that were proven wrong: nothing is accepted from them.")
	workers     = gauge("nqueens_workers", "Workers with a recent heartbeat.")
	threads     = gauge("nqueens_threads", "Threads of the workers with a recent heartbeat.")
	idle        = gauge("nqueens_idle_threads", "Threads of the workers with a recent heartbeat that search nothing, for any run.")
	leases      = gauge("nqueens_leases", "Chunks of the run that workers hold, as of their heartbeats.")
	waiting     = gauge("nqueens_waiting_chunks", "Chunks of the run in the queue that no worker holds.")
	window      = gauge("nqueens_window_chunks", "Chunks of the run in flight: in the queue, held, or about to be published.")
	bytes       = gauge("nqueens_window_bytes", "Memory of the prefixes of the chunks in flight.")
	messages    = gauge("nqueens_stream_messages", "Messages in a stream of the NATS server, of all runs.", "stream")
	size        = gauge("nqueens_stream_bytes", "Bytes in a stream of the NATS server, of all runs.", "stream")
	limit       = gauge("nqueens_stream_limit_bytes", "Bytes at which a stream of the NATS server is full.", "stream")
	disk        = gauge("nqueens_disk_free_bytes", "Space left for the coordinator on the disk of the ledger.")
)

// coordinatorMetrics are all of them, apart from the histograms.
var coordinatorMetrics = []metric{
	buildInfo, connected, reconnects, unreadable,
	runInfo, tasks, workDone, partial, rate, etaMin, etaMax, elapsed, results, refused, reports, published, republished,
	disputes, keys, workers, threads, idle, leases, waiting, window, bytes, messages, size, limit, disk,
}

// Buckets of the histograms, in seconds. They are fixed, so that those of all runs can be added.
var (
	searchBuckets = []float64{.001, .003, .01, .03, .1, .3, 1, 3, 10, 30, 100, 300, 1000, 3000, 10000}
	commitBuckets = []float64{.001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10}
)

// Coordinator exports a run. Its methods are safe for concurrent use, and do not block.
type Coordinator struct {
	page
	version  string
	snapshot atomic.Pointer[run.Snapshot]
	site     atomic.Pointer[Site]
	searches prometheus.Histogram
	commits  prometheus.Histogram
}

// Site is what surrounds a coordinator.
type Site struct {
	Link Link
	// Streams are those of the server, by what they hold: "tasks" and "results". A stream is left
	// out if the server did not tell.
	Streams map[string]Stream
	// DiskFree is the space left on the disk of the ledger, in bytes; negative if unknown.
	DiskFree int64
}

// Stream is what a stream of the server holds.
type Stream struct {
	Messages, Bytes uint64
	Limit           uint64 // Bytes at which it is full; 0 without a limit.
}

// NewCoordinator returns the exporter of a coordinator of that version. It exports a run from the
// first Update on.
func NewCoordinator(version string) *Coordinator {
	c := &Coordinator{
		version: version,
		searches: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "nqueens_search_duration_seconds", Buckets: searchBuckets,
			Help: "Time that a thread of a worker has searched a task, as its result says.",
		}),
		commits: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "nqueens_ledger_commit_duration_seconds", Buckets: commitBuckets,
			Help: "Time to write a transaction of the ledger to its disk, with its fsyncs.",
		}),
	}
	c.page = newPage(c, c.searches, c.commits)
	return c
}

// Update has later scrapes read these numbers. Nobody may change them any more.
func (c *Coordinator) Update(s *run.Snapshot) { c.snapshot.Store(s) }

// SetSite has later scrapes read these numbers. Nobody may change them any more.
func (c *Coordinator) SetSite(s Site) { c.site.Store(&s) }

// ObserveSearch records how long a task was searched.
func (c *Coordinator) ObserveSearch(d time.Duration) { c.searches.Observe(d.Seconds()) }

// ObserveCommit records how long a transaction of the ledger took.
func (c *Coordinator) ObserveCommit(d time.Duration) { c.commits.Observe(d.Seconds()) }

// Describe implements [prometheus.Collector].
func (c *Coordinator) Describe(to chan<- *prometheus.Desc) {
	for _, m := range coordinatorMetrics {
		to <- m.desc
	}
}

// Collect implements [prometheus.Collector].
func (c *Coordinator) Collect(to chan<- prometheus.Metric) {
	emit := emitter(to)
	emit.value(buildInfo, 1, c.version)
	if s := c.site.Load(); s != nil {
		s.collect(emit)
	}
	if s := c.snapshot.Load(); s != nil {
		collect(s, emit)
	}
}

func (s *Site) collect(emit emitter) {
	s.Link.collect(emit)
	for name, stream := range s.Streams {
		emit.count(messages, stream.Messages, name)
		emit.count(size, stream.Bytes, name)
		if stream.Limit > 0 {
			emit.count(limit, stream.Limit, name)
		}
	}
	if s.DiskFree >= 0 {
		emit.value(disk, float64(s.DiskFree))
	}
}

func collect(s *run.Snapshot, emit emitter) {
	emit.value(runInfo, 1, s.Run, strconv.Itoa(s.N), string(s.Symmetry))
	emit.value(workDone, float64(s.WorkDone))
	if s.Done < s.Tasks { // else the sum may be the total, which is not verified
		found, _ := (*big.Int)(s.Solutions).Float64()
		emit.value(partial, found)
	}
	emit.value(rate, s.Rate)
	if s.ETA != nil {
		emit.value(etaMin, s.ETA.Min.Seconds())
		emit.value(etaMax, s.ETA.Max.Seconds())
	}
	emit.value(elapsed, s.Elapsed.Seconds())
	emit.count(republished, s.Republished)
	emit.value(disputes, float64(s.Disputes))
	emit.value(workers, float64(s.Workers))
	emit.value(threads, float64(s.Threads))

	emit.count(tasks, s.Done, "done")
	emit.count(tasks, s.States.InFlight, "in_flight")
	emit.count(tasks, s.States.Waiting, "waiting")
	emit.count(tasks, s.States.Disputed, "disputed")
	emit.count(tasks, s.States.DeadLettered, "dead_lettered")

	emit.count(results, s.Results.Accepted, "accepted")
	emit.count(results, s.Results.Confirmed, "confirmed")
	emit.count(results, s.Results.Duplicate, "duplicate")
	emit.count(results, s.Results.Disputed, "disputed")
	emit.count(results, s.Results.Settled, "settled")

	emit.count(refused, s.Refused.UnknownTask, "unknown_task")
	emit.count(refused, s.Refused.WrongHash, "wrong_hash")
	emit.count(refused, s.Refused.OtherManifest, "other_manifest")
	emit.count(refused, s.Refused.QuarantinedKey, "quarantined_key")

	emit.count(reports, s.ChunkResults)
	emit.count(published, s.PublishedChunks)
	emit.value(keys, float64(s.Quarantined))
	emit.value(idle, float64(s.IdleThreads))
	emit.value(leases, float64(s.HeldChunks))
	emit.value(waiting, float64(s.QueuedChunks))
	emit.value(window, float64(s.WindowChunks))
	emit.value(bytes, float64(s.WindowBytes))
}
