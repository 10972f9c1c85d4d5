package page

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"nqueens/pkg/queens"
)

// metricsType is the media type of the text format of Prometheus.
const metricsType = "text/plain; version=0.0.4"

// metrics is text in the format of Prometheus.
type metrics struct{ strings.Builder }

// add adds a metric with one value. It is a counter if its name ends in _total. labels are names
// and values in turn.
func (m *metrics) add(name, help string, value float64, labels ...string) {
	m.describe(name, help)
	m.sample(name, value, labels...)
}

// describe writes what a metric is. Its samples follow.
func (m *metrics) describe(name, help string) {
	kind := "gauge"
	if strings.HasSuffix(name, "_total") {
		kind = "counter"
	}
	_, _ = fmt.Fprintf(m, "# HELP %s %s\n# TYPE %[1]s %[3]s\n", name, help, kind)
}

// sample writes a value of a metric, with pairs of names and values of labels.
func (m *metrics) sample(name string, value float64, labels ...string) {
	m.WriteString(name)
	var pairs []string
	for i := 0; i < len(labels); i += 2 {
		pairs = append(pairs, labels[i]+"="+strconv.Quote(queens.Sanitize(labels[i+1])))
	}
	if len(pairs) > 0 {
		m.WriteString("{" + strings.Join(pairs, ",") + "}")
	}
	m.WriteString(" " + strconv.FormatFloat(value, 'g', -1, 64) + "\n")
}

// runMetrics returns the metrics of a run. Before the first snapshot s is nil, and there are only
// the metrics of the process.
func runMetrics(s *queens.Snapshot, version string) string {
	var m metrics
	m.add("nqueens_build_info", "1; the label is the version of the program.", 1, "version", version)
	if s == nil {
		return m.String()
	}
	m.add("nqueens_run_info", "1; the labels are the run, the side of its board, "+
		"its method and its symmetry.", 1,
		"run", s.Run, "n", strconv.Itoa(s.N), "method", string(s.Method), "symmetry", string(s.Symmetry))
	m.add("nqueens_running", "1 while the run counts, 0 when it has ended.",
		oneIf[s.State == queens.Running])
	m.add("nqueens_tasks", "Tasks of the run.", float64(s.Tasks))
	m.add("nqueens_done_tasks", "Tasks that are done.", float64(s.Done))
	m.add("nqueens_work_done_ratio", "Part of the estimated work that is done, 0 to 1.",
		float64(s.WorkDone))
	if s.Solutions != nil {
		found, _ := new(big.Float).SetInt((*big.Int)(s.Solutions)).Float64()
		m.add("nqueens_solutions", "Solutions found so far, weighted; absent if it can't be right.",
			found)
	}
	m.add("nqueens_elapsed_seconds", "Time for which coordinators have worked on the run.",
		s.Elapsed.Seconds())
	if s.Rate != nil {
		m.add("nqueens_solutions_per_second",
			"Solutions found per second over the last 30 seconds; absent while unknown.", s.PerSecond)
	}
	if s.TimeToGo != nil {
		m.add("nqueens_time_to_go_least_seconds", "Time to go, at least; absent while unknown.",
			s.Least.Seconds())
		m.add("nqueens_time_to_go_most_seconds", "Time to go, at most; absent while unknown.",
			s.Most.Seconds())
	}
	if s.Remaining != nil {
		m.add("nqueens_remaining_thread_seconds",
			"Time that one thread needs for the rest; absent while unknown.", s.ThreadSeconds)
	}
	if w := s.Waits; w != nil {
		m.add("nqueens_waiting_seconds",
			"How long the run has waited; the label says for what. Absent while it does not wait.",
			max(0, s.At.Sub(w.Since).Seconds()), "for", string(w.Reason))
	}
	m.addLive(s.Live)
	m.addChecks(s.Checks)
	return m.String()
}

// addLive adds what only a running coordinator knows.
func (m *metrics) addLive(s *queens.Live) {
	if s == nil {
		return
	}
	m.add("nqueens_waiting_tasks", "Tasks that wait to be handed out.", float64(s.Waiting))
	m.add("nqueens_held_tasks", "Tasks that workers hold.", float64(s.Held))
	m.add("nqueens_machines", "Machines with a worker that is present.", float64(s.Machines))
	m.add("nqueens_workers", "Workers that are present.", float64(s.Workers))
	m.add("nqueens_threads", "Threads of all workers.", float64(s.Threads))
	m.add("nqueens_idle_threads", "Threads that search nothing.", float64(s.IdleThreads))
	m.add("nqueens_results_refused_total", "Results that were refused, since this coordinator began.",
		float64(s.Refused))
	m.add("nqueens_chunks_lost_total",
		"Chunks that workers lost or gave up, since this coordinator began.", float64(s.Lost))
	m.add("nqueens_queue_seconds",
		"How long a message of a worker waited at most until it was read, in the last second.",
		s.Queue.Seconds())
	m.add("nqueens_messages_dropped_total",
		"Messages of workers that were dropped unread: a newer one came, or they were too old.",
		float64(s.Dropped))
}

// addChecks adds what the whole ledger says.
func (m *metrics) addChecks(s *queens.Checks) {
	if s == nil {
		return
	}
	m.add("nqueens_disputes_total", "Tasks whose counts differed, since the run began.",
		float64(s.Disputes))
	m.add("nqueens_recounting_tasks", "Tasks that wait for a recount.", float64(s.Recounting))
	m.add("nqueens_banned_machines", "Machines whose counts are void.", float64(len(s.Banned)))
	m.add("nqueens_results_recorded_total", "Results of chunks in the ledger, since the run began.",
		float64(s.Recorded))
}

// oneIf gives the value of a metric: 1 for true, 0 for false.
var oneIf = map[bool]float64{true: 1, false: 0}
