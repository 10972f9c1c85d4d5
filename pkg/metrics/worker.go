package metrics

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// The metrics of a worker.
var (
	workerInfo    = gauge("nqueens_worker_info", "1; the labels are the name of the worker and its kernel.", "worker", "kernel")
	workerThreads = gauge("nqueens_worker_threads", "Threads that search. A device counts as several.")
	searchSeconds = counter("nqueens_worker_search_seconds_total", "Time that threads have searched. Its rate divided by the threads is the busy share.")
	prefixes      = counter("nqueens_worker_prefixes_total", "Prefixes, the states that tasks consist of, that were searched to the end.")
	tasksCounted  = counter("nqueens_worker_tasks_total", "Tasks that were counted.")
	stored        = counter("nqueens_worker_results_total", "Results of chunks that the server has stored.")
	held          = gauge("nqueens_worker_held_chunks", "Chunks that the worker holds, by what it does with them.", "stage")
)

// workerMetrics are all of them.
var workerMetrics = []metric{
	buildInfo, connected, reconnects, unreadable,
	workerInfo, workerThreads, searchSeconds, prefixes, tasksCounted, stored, held,
}

// Worker is what a worker process does at a moment.
type Worker struct {
	Link Link
	// Threads is the number of threads that search, and SearchTime how long they have, together.
	Threads    int
	SearchTime time.Duration
	Prefixes   uint64 // Searched to the end.
	Tasks      uint64 // Counted.
	Results    uint64 // Of chunks, stored by the server.
	// Ready, Searching and Reporting are the chunks held: to be searched, in search, and counted
	// but not acknowledged yet.
	Ready, Searching, Reporting int
}

// workerExporter exports a worker process.
type workerExporter struct {
	version, name, kernel string
	read                  func() Worker
}

// NewWorker returns the handler of scrapes of a worker process of that version, with that name and
// kernel. Each scrape calls read, which must be safe for concurrent use.
func NewWorker(version, name, kernel string, read func() Worker) http.Handler {
	return newPage(&workerExporter{version, name, kernel, read}).Handler()
}

// Describe implements [prometheus.Collector].
func (e *workerExporter) Describe(to chan<- *prometheus.Desc) {
	for _, m := range workerMetrics {
		to <- m.desc
	}
}

// Collect implements [prometheus.Collector].
func (e *workerExporter) Collect(to chan<- prometheus.Metric) {
	emit, w := emitter(to), e.read()
	emit.value(buildInfo, 1, e.version)
	w.Link.collect(emit)
	emit.value(workerInfo, 1, e.name, e.kernel)
	emit.value(workerThreads, float64(w.Threads))
	emit.value(searchSeconds, w.SearchTime.Seconds())
	emit.count(prefixes, w.Prefixes)
	emit.count(tasksCounted, w.Tasks)
	emit.count(stored, w.Results)
	emit.value(held, float64(w.Ready), "ready")
	emit.value(held, float64(w.Searching), "searching")
	emit.value(held, float64(w.Reporting), "reporting")
}
