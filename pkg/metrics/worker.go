package metrics

import (
	"net/http"

	"nqueens/pkg/run"
)

// NewWorker returns the handler of scrapes of a worker process of that version, with that name and
// kernel. Each scrape calls read, which must be safe for concurrent use.
func NewWorker(version, name, kernel string, read func() (Link, run.Work)) http.Handler {
	return workerPage(version, name, kernel, read).Handler()
}

func workerPage(version, name, kernel string, read func() (Link, run.Work)) page {
	return newPage(collector(func(to scrape) {
		link, w := read()
		collectBuild(to, version)
		link.collect(to)
		gauge(to, "nqueens_worker_info", "1; the labels are the name of the worker and its kernel.", 1, "worker", name, "kernel", kernel)
		gauge(to, "nqueens_worker_threads", "Threads that search. A device counts as several.", w.Threads)
		counter(to, "nqueens_worker_search_seconds_total", "Time that threads have searched. Its rate divided by the threads is the busy share.", w.SearchTime.Seconds())
		counter(to, "nqueens_worker_prefixes_total", "Prefixes, the states that tasks consist of, that were searched to the end.", w.Prefixes)
		counter(to, "nqueens_worker_tasks_total", "Tasks that were counted.", w.Tasks)
		counter(to, "nqueens_worker_results_total", "Results of chunks that the server has stored.", w.Results)
		held := func(stage string, chunks int) {
			gauge(to, "nqueens_worker_held_chunks", "Chunks that the worker holds, by what it does with them.", chunks, "stage", stage)
		}
		held("ready", w.Ready)
		held("searching", w.Searching)
		held("reporting", w.Reporting)
	}))
}
