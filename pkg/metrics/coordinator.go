package metrics

import (
	"math/big"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"nqueens/pkg/run"
)

// Buckets of the histograms, in seconds. They are fixed, so that those of all runs can be added.
var (
	searchBuckets = []float64{.001, .003, .01, .03, .1, .3, 1, 3, 10, 30, 100, 300, 1000, 3000, 10000}
	commitBuckets = []float64{.001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10}
)

// Coordinator exports a run. Its methods are safe for concurrent use, and do not block.
type Coordinator struct {
	page
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
		searches: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "nqueens_search_duration_seconds", Buckets: searchBuckets,
			Help: "Time that a thread of a worker has searched a task, as its result says.",
		}),
		commits: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "nqueens_ledger_commit_duration_seconds", Buckets: commitBuckets,
			Help: "Time to write a transaction of the ledger to its disk, with its fsyncs.",
		}),
	}
	c.page = newPage(c.searches, c.commits, collector(func(to scrape) {
		collectBuild(to, version)
		if s := c.site.Load(); s != nil {
			s.collect(to)
		}
		if s := c.snapshot.Load(); s != nil {
			collect(to, s)
		}
	}))
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

func (s *Site) collect(to scrape) {
	s.Link.collect(to)
	for name, stream := range s.Streams {
		gauge(to, "nqueens_stream_messages", "Messages in a stream of the NATS server, of all runs.", stream.Messages, "stream", name)
		gauge(to, "nqueens_stream_bytes", "Bytes in a stream of the NATS server, of all runs.", stream.Bytes, "stream", name)
		if stream.Limit > 0 {
			gauge(to, "nqueens_stream_limit_bytes", "Bytes at which a stream of the NATS server is full.", stream.Limit, "stream", name)
		}
	}
	if s.DiskFree >= 0 {
		gauge(to, "nqueens_disk_free_bytes", "Space left for the coordinator on the disk of the ledger.", s.DiskFree)
	}
}

func collect(to scrape, s *run.Snapshot) {
	gauge(to, "nqueens_run_info", "1; the labels are the name of the run, the side of its board, and its symmetry.", 1,
		"run", s.Run, "n", strconv.Itoa(s.N), "symmetry", string(s.Symmetry))
	gauge(to, "nqueens_work_done_ratio", "Share of the estimated work that is done, 0 to 1.", s.WorkDone)
	gauge(to, "nqueens_solutions_per_second", "Solutions found per second lately, weighted, as the display shows it.", s.Rate)
	gauge(to, "nqueens_elapsed_seconds", "Time for which coordinators have worked on the run, this one and those before it.", s.Elapsed.Seconds())
	counter(to, "nqueens_tasks_republished_total", "Tasks published again because no result came.", s.Republished)
	counter(to, "nqueens_disputes_total", "Tasks whose results contradicted each other, settled or not, since the run began.", s.Disputes)
	gauge(to, "nqueens_workers", "Workers with a recent heartbeat.", s.Workers)
	gauge(to, "nqueens_threads", "Threads of the workers with a recent heartbeat that do not pause.", s.Threads)
	gauge(to, "nqueens_needed_threads", "Threads that the run needs to end at its target, `--finish-in`; 0 when nothing is left.", s.NeededThreads)
	counter(to, "nqueens_chunk_results_total", "Results of chunks read from the server.", s.ChunkResults)
	counter(to, "nqueens_chunks_published_total", "Chunks published to the workers, each attempt counted.", s.PublishedChunks)
	gauge(to, "nqueens_quarantined_keys", "Keys of workers that were proven wrong: nothing is accepted from them.", s.Quarantined)
	gauge(to, "nqueens_idle_threads", "Threads of the workers with a recent heartbeat that search nothing, for any run.", s.IdleThreads)
	gauge(to, "nqueens_leases", "Chunks of the run that workers hold, as of their heartbeats.", s.HeldChunks)
	gauge(to, "nqueens_waiting_chunks", "Chunks of the run in the queue that no worker holds.", s.QueuedChunks)
	gauge(to, "nqueens_window_chunks", "Chunks of the run in flight: in the queue, held, or about to be published.", s.WindowChunks)
	gauge(to, "nqueens_window_bytes", "Memory of the prefixes of the chunks in flight.", s.WindowBytes)
	if s.Done < s.Tasks { // else the sum may be the total, which is not verified
		found, _ := (*big.Int)(s.Solutions).Float64()
		gauge(to, "nqueens_partial_solutions", "Solutions in the tasks counted so far, weighted. Not verified, and never a total: absent once all tasks are counted.", found)
	}
	if s.ETA != nil {
		gauge(to, "nqueens_eta_min_seconds", "The least time that the run is expected to take from now; absent while unknown.", s.ETA.Min.Seconds())
		gauge(to, "nqueens_eta_max_seconds", "The longest time that the run is expected to take from now; absent while unknown.", s.ETA.Max.Seconds())
	}
	for state, n := range map[string]uint64{
		"done": s.Done, "in_flight": s.States.InFlight, "waiting": s.States.Waiting, "disputed": s.States.Disputed,
		"dead_lettered": s.States.DeadLettered,
	} {
		gauge(to, "nqueens_tasks", "Tasks of the run by state; their sum is all of them.", n, "state", state)
	}
	for outcome, n := range map[string]uint64{
		"accepted": s.Results.Accepted, "confirmed": s.Results.Confirmed, "duplicate": s.Results.Duplicate,
		"disputed": s.Results.Disputed, "settled": s.Results.Settled,
	} {
		counter(to, "nqueens_results_total", "Results of single tasks by what they changed.", n, "outcome", outcome)
	}
	for reason, n := range map[string]uint64{
		"unknown_task": s.Refused.UnknownTask, "wrong_hash": s.Refused.WrongHash,
		"other_manifest": s.Refused.OtherManifest, "quarantined_key": s.Refused.QuarantinedKey,
	} {
		counter(to, "nqueens_results_refused_total", "Results of single tasks that do not count, by reason.", n, "reason", reason)
	}
}
