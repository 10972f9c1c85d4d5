//go:build unix

package main_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"nqueens/pkg/cli/clitest"
	"nqueens/pkg/httpserver"
	"nqueens/pkg/testkit"
)

// scraper scrapes a process again and again.
type scraper struct {
	t       *testing.T
	address string
	last    map[string]float64 // by metric and labels, as in the format of Prometheus
	text    string
}

// scrapes returns a scraper of a process that was started with --http.
func scrapes(t *testing.T, p *clitest.Process) *scraper {
	t.Helper()
	return &scraper{t: t, address: p.Await(`"http":"([^"]+)"`)}
}

// scrape reads all metrics, and reports whether the process answers. No counter may have fallen.
func (s *scraper) scrape() bool {
	s.t.Helper()
	response, err := http.Get("http://" + s.address + httpserver.MetricsPath)
	if err != nil {
		return false
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return false
	}
	if response.StatusCode != http.StatusOK {
		s.t.Fatalf("%s: %s", response.Status, text)
	}
	types, now := make(map[string]string), make(map[string]float64)
	lines := bufio.NewScanner(strings.NewReader(string(text)))
	for lines.Scan() {
		line := lines.Text()
		if words := strings.Fields(line); words[0] == "#" {
			if words[1] == "TYPE" {
				types[words[2]] = words[3]
			}
			continue
		}
		at := strings.LastIndexByte(line, ' ')
		name := line[:at]
		if now[name], err = strconv.ParseFloat(line[at+1:], 64); err != nil {
			s.t.Fatalf("%q: %v", line, err)
		}
		family, _, _ := strings.Cut(name, "{")
		if before, known := s.last[name]; types[family] == "counter" && known && now[name] < before {
			s.t.Errorf("%s fell from %v to %v", name, before, now[name])
		}
	}
	s.last, s.text = now, string(text)
	return true
}

// await scrapes until the condition holds.
func (s *scraper) await(what string, holds func() bool) {
	s.t.Helper()
	testkit.Eventually(s.t, what, func() bool { return s.scrape() && holds() })
}

// tasks returns the number of tasks in all states.
func (s *scraper) tasks() (all float64) {
	for name, value := range s.last {
		if strings.HasPrefix(name, "nqueens_tasks{") {
			all += value
		}
	}
	return all
}

// checkNoTotal fails if there is a sum of solutions after all tasks were counted.
func (s *scraper) checkNoTotal() {
	s.t.Helper()
	if _, found := s.last["nqueens_partial_solutions"]; found && s.last[`nqueens_tasks{state="done"}`] == s.tasks() {
		s.t.Errorf("a sum of all tasks:\n%s", s.text)
	}
}

// A coordinator and its workers answer scrapes while a run counts: the numbers are those of the run,
// no counter falls, and workers that leave disappear. Clients that never read what they asked for delay
// nothing.
func TestMetrics(t *testing.T) {
	long(t)
	coordinator, url := startCluster(t, "14", "--depth", "2", "--spot-check", "0%", "--http", "127.0.0.1:0")
	release := brake(t, join(t, url), coordinator.Await(counting))
	run := scrapes(t, coordinator)
	for range 8 {
		silent, err := net.Dial("tcp", run.address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = silent.Close() }) // it is of no more use
		if _, err := io.WriteString(silent, "GET "+httpserver.MetricsPath+" HTTP/1.1\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
	}
	first := startWorker(t, url, "--http", "127.0.0.1:0")
	worker := scrapes(t, first)

	tasks := float64(coordinator.Field("counting", "tasks"))
	accepted := func() float64 { return run.last[`nqueens_results_total{outcome="accepted"}`] }
	workers := func() float64 { // without the brake, of which the coordinator hears after a while
		return run.last["nqueens_workers"] - float64(coordinator.Lines(`"joined":\[[^]]*"brake"`))
	}
	run.await("all tasks but one are done", func() bool { return run.last[`nqueens_tasks{state="done"}`] == tasks-1 && workers() == 1 })
	if run.tasks() != tasks || run.last[`nqueens_tasks{state="in_flight"}`] != 1 || accepted() != tasks-1 ||
		run.last["nqueens_search_duration_seconds_count"] != tasks-1 || run.last["nqueens_partial_solutions"] <= 0 ||
		run.last["nqueens_ledger_commit_duration_seconds_count"] < 1 || run.last["nqueens_window_chunks"] != 1 ||
		run.last["nqueens_connected"] != 1 || run.last["nqueens_disk_free_bytes"] <= 0 ||
		run.last[`nqueens_stream_limit_bytes{stream="tasks"}`] <= 0 || !(run.last["nqueens_work_done_ratio"] < 1) {
		t.Errorf("one of %v tasks is left:\n%s", tasks, run.text)
	}
	name := first.Await(`"worker":"([^"]+)".*"worker starts"`)
	worker.await("the worker has reported all that it has counted", func() bool {
		return worker.last["nqueens_worker_tasks_total"] == tasks-1 && worker.last["nqueens_worker_results_total"] > 0
	})
	if worker.last[`nqueens_worker_info{kernel="generic",worker="`+name+`"}`] != 1 || worker.last["nqueens_worker_search_seconds_total"] <= 0 ||
		worker.last["nqueens_worker_prefixes_total"] < tasks-1 || worker.last["nqueens_connected"] != 1 {
		t.Errorf("the worker has counted %v tasks:\n%s", tasks-1, worker.text)
	}
	if strings.Contains(run.text, name) {
		t.Errorf("the coordinator has a series of worker %s:\n%s", name, run.text)
	}

	first.Signal(syscall.SIGTERM)
	first.ExpectExit(0)
	if worker.scrape() {
		t.Error("a worker that has ended answers")
	}
	run.await("the worker disappears", func() bool { return workers() == 0 && run.last["nqueens_threads"] == run.last["nqueens_workers"] })

	release()
	startWorker(t, url)
	testkit.Eventually(t, "the run ends", func() bool {
		if run.scrape() {
			run.checkNoTotal()
		}
		return coordinator.HasEnded()
	})
	coordinator.ExpectTotal(known(14))
	if accepted() < tasks-1 {
		t.Errorf("%v results were accepted in the end", accepted())
	}
	if run.scrape() {
		t.Error("a coordinator that has ended answers")
	}
}
