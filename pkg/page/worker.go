package page

import (
	"fmt"
	"net/http"

	"nqueens/pkg/humanize"
	"nqueens/pkg/queens"
)

// Worker is what the page of a worker shows.
type Worker struct {
	Machine, Process, Kernel, Version string
	Threads, Busy                     int    // all threads, and the threads that search
	Tasks                             uint64 // counted since the start
	Connected                         bool   // to a NATS server
	Waits                             []Wait // of the parts that search nothing
}

// Wait says for what a part of a worker waits: a device, or the threads of the processor.
type Wait struct {
	Kernel string
	queens.Wait
}

// ListenWorker opens an address for a worker. It answers / with a line for people, /metrics with
// the metrics, and /healthz with 200, even without a connection to a server: the worker goes on
// searching then, and must not be killed.
func ListenWorker(address string, status func() Worker) (*Server, error) {
	routes := http.NewServeMux()
	routes.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		s := status()
		connection := map[bool]string{true: "connected", false: "not connected"}[s.Connected]
		for _, w := range s.Waits {
			connection += "; "
			if w.Kernel != s.Kernel { // it is one of several parts
				connection += w.Kernel + ": "
			}
			connection += w.Sentence()
		}
		text(w, "text/plain",
			fmt.Sprintf("worker %s/%s, kernel %s, version %s: %s, %s busy, %s counted, %s\n",
				s.Machine, s.Process, s.Kernel, s.Version, humanize.Plural(s.Threads, "thread"),
				humanize.Int(s.Busy),
				humanize.Plural(s.Tasks, "task"), connection))
	})
	routes.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		text(w, metricsType, workerMetrics(status()))
	})
	routes.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		text(w, "text/plain", "ok\n")
	})
	s := new(Server)
	return s, s.listen(address, routes)
}

func workerMetrics(s Worker) string {
	var m metrics
	m.add("nqueens_build_info", "1; the label is the version of the program.", 1, "version", s.Version)
	m.add("nqueens_worker_info", "1; the labels are the machine, the process, and its kernel.", 1,
		"machine", s.Machine, "process", s.Process, "kernel", s.Kernel)
	m.add("nqueens_worker_connected", "1 while there is a connection to a NATS server, else 0.",
		oneIf[s.Connected])
	m.add("nqueens_worker_threads", "Threads of the worker.", float64(s.Threads))
	m.add("nqueens_worker_busy_threads", "Threads that search.", float64(s.Busy))
	for i, w := range s.Waits {
		if i == 0 {
			m.describe("nqueens_worker_waiting",
				"1 while a part of the worker waits; the labels say which, and for what.")
		}
		m.sample("nqueens_worker_waiting", 1, "kernel", w.Kernel, "for", string(w.Reason))
	}
	m.add("nqueens_worker_tasks_total", "Tasks that the worker counted.", float64(s.Tasks))
	return m.String()
}
