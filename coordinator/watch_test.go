//go:build unix

package main_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"nqueens/pkg/cli/clitest"
	"nqueens/pkg/ledger"
	"nqueens/pkg/run"
)

// startWatch starts a watcher.
func startWatch(t *testing.T, args ...string) *clitest.Process {
	t.Helper()
	return start(t, "coordinator", append([]string{"watch"}, args...)...)
}

// startWatchJSON starts a watcher that prints objects.
func startWatchJSON(t *testing.T, args ...string) *clitest.Process {
	t.Helper()
	return startWatch(t, append([]string{"--json"}, args...)...)
}

// watched has some fields of an object of watch --json.
type watched struct {
	Run, State string
	Percent    float64
	Done       uint64
	Tasks      uint64
	Total      *string
}

// objects returns the objects that a watcher has printed.
func objects(t *testing.T, watcher *clitest.Process) (all []watched) {
	t.Helper()
	for line := range strings.Lines(watcher.Stdout()) {
		if !strings.HasSuffix(line, "\n") {
			continue
		}
		var w watched
		if err := json.Unmarshal([]byte(line), &w); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		all = append(all, w)
	}
	return all
}

// awaitObject waits until a watcher prints another object.
func awaitObject(t *testing.T, watcher *clitest.Process) {
	t.Helper()
	before := strings.Count(watcher.Stdout(), "\n")
	if !watcher.AwaitEndOr("another object", func() bool { return strings.Count(watcher.Stdout(), "\n") > before }) {
		t.Fatal("the watcher has ended without another object")
	}
}

// expectEnd waits until a watcher that prints objects has ended with that total.
func expectEnd(t *testing.T, watcher *clitest.Process, total string) {
	t.Helper()
	watcher.ExpectExit(0)
	all := objects(t, watcher)
	if last := all[len(all)-1]; last.State != "complete" || last.Total == nil || *last.Total != total {
		t.Errorf("the last object is %+v, want the total %s", last, total)
	}
}

// Watchers see a run's progress from the start to the end, and print its total, whether they
// name the run or not. Several watchers, and one that stops, change nothing.
func TestWatchersSeeTheWholeRun(t *testing.T) {
	long(t)
	s := startScene(t, "14", "--depth", "2")
	release := brake(t, join(t, s.server.url), s.run)
	named, newest := startWatchJSON(t, s.run, "--nats", s.server.url), startWatch(t, "--nats", s.server.url)
	leaves := startWatch(t, s.run, "--nats", s.server.url)
	named.Await(`("done":0,)`)
	newest.Await(`"run":"(` + s.run + `)".*"watching"`)
	leaves.Await(`("watching")`) // before, a signal may just kill it
	leaves.Signal(syscall.SIGINT)
	leaves.ExpectExit(128 + int(syscall.SIGINT))
	startWorker(t, s.server.url)
	const tasks = 78
	named.Await(fmt.Sprintf(`("done":%d,"tasks":%d,).*"worker_list":\[{"name"`, tasks-1, tasks))
	release()
	s.coordinator.ExpectTotal(known(14))
	newest.ExpectTotal(known(14))
	named.ExpectExit(0)

	seen := objects(t, named)
	for i := range seen[1:] {
		if seen[i+1].Done < seen[i].Done || seen[i+1].Percent < seen[i].Percent {
			t.Errorf("after %+v comes %+v", seen[i], seen[i+1])
		}
	}
	last := seen[len(seen)-1]
	if last.Total == nil || *last.Total != known(14) || last.State != "complete" || last.Percent != 100 || last.Done != tasks {
		t.Errorf("the last object is %+v", last)
	}
	if first := seen[0]; first.Total != nil || first.State != "running" || first.Run != s.run {
		t.Errorf("the first object is %+v", first)
	}
}

// A watcher continues after the coordinator is killed or stopped and another resumes the run,
// and reports each change.
func TestWatchContinuesWithTheNextCoordinator(t *testing.T) {
	long(t)
	s := startScene(t, "12", "--depth", "2")
	w := startWatchJSON(t, s.run, "--nats", s.server.url)
	awaitObject(t, w)
	s.coordinator.Kill()
	w.Await(`(waiting for a message of its coordinator)`)
	w.Await(`(has been silent for \d+s: if it has died, coordinator resume ` + s.run + ` resumes the run)`)
	s.resume()
	w.Await(`("the run continues")`)
	awaitObject(t, w)
	s.coordinator.Signal(syscall.SIGTERM)
	s.coordinator.ExpectExit(128 + int(syscall.SIGTERM))
	w.Await(`(stopped.*: coordinator resume ` + s.run + ` resumes the run)`)
	// A watcher that starts now reports the same, from the server's record alone.
	late := startWatch(t, "--nats", s.server.url)
	late.Await(`(stopped with 0 of \d+ tasks done: coordinator resume ` + s.run + `)`)
	s.resume()
	if !w.AwaitEndOr("that the run continues again", func() bool { return w.Lines(`"the run continues"`) >= 2 }) {
		t.Fatal("the watcher ended")
	}
	startWorker(t, s.server.url)
	s.coordinator.ExpectTotal(known(12))
	late.ExpectTotal(known(12))
	w.ExpectExit(0)
}

// A run of this machine is found by its folder, and watched by the socket of its process if its server does not
// listen. A watcher goes on after the run is resumed. When the run has ended, its ledger has the total.
func TestWatchFindsARunOfThisMachine(t *testing.T) {
	long(t)
	data := t.TempDir()
	closed := start(t, "coordinator", "count", "20", "--workers", "1", "--depth", "1", "--data", data)
	run := closed.Await(counting)
	byName, newest := startWatchJSON(t, run, "--data", data), startWatchJSON(t, "--data", data)
	awaitObject(t, byName)
	awaitObject(t, newest)
	newest.Signal(syscall.SIGINT)
	newest.ExpectExit(128 + int(syscall.SIGINT))
	paged := startWatch(t, "--data", data, "--http", "127.0.0.1:0") // the page needs the run's server
	paged.ExpectExit(1)
	paged.Await(`(run ` + run + ` has no server from which a page of it could be served: give --http to its coordinator)`)
	closed.Signal(syscall.SIGTERM)
	closed.ExpectExit(128 + int(syscall.SIGTERM))
	byName.Await(`(stopped with \d+ of \d+ tasks done: coordinator resume ` + run + ` resumes the run)`)
	again := start(t, "coordinator", "resume", run, "--workers", "1", "--data", data)
	again.Await(counting)
	awaitObject(t, byName)
	start(t, "coordinator", "cancel", run, "--data", data).ExpectExit(0)
	byName.ExpectExit(1)
	byName.Await(`"exit":1,.*(run ` + run + `: the run was cancelled)`)

	none := startWatch(t, "--data", data)
	none.ExpectExit(1)
	none.Await(`"exit":1,.*(no run in ` + data + ` is active or has ended: name the server of a run elsewhere with --nats)`)
	open := start(t, "coordinator", "count", "12", "--workers", "0", "--listen", "127.0.0.1:0", "--depth", "2", "--data", data)
	url := open.Await(`"server":"(nats://[^"]+)".*"counting"`)
	w := startWatch(t, "--data", data)
	w.Await(`"server":"(` + url + `)".*"watching"`)
	json := startWatchJSON(t, "--data", data)
	awaitObject(t, json)
	startWorker(t, url)
	open.ExpectTotal(known(12))
	w.ExpectTotal(known(12))
	json.ExpectExit(0)

	over := startWatch(t, "--data", data)
	over.ExpectTotal(known(12))
	over.Await(`"ended":"([^"]+)".*"the run has ended: verifying its ledger"`)
	expectEnd(t, startWatchJSON(t, "--data", data), known(12))
}

// A run of this machine that ended contradicted is exit 3, and has no total.
func TestWatchOfAContradictedRunIsExit3(t *testing.T) {
	t.Parallel()
	const name = "n6-wrong"
	data := t.TempDir()
	createRun(t, data, name, 6)
	l, err := ledger.Open(t.Context(), filepath.Join(data, name), nil)
	if err == nil {
		err = errors.Join(l.SetState(run.Contradicted), l.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	w := startWatch(t, "--data", data)
	if printed := w.ExpectExit(3); printed != "" {
		t.Errorf("it prints %q", printed)
	}
	w.Await(`(coordinator verify ` + name + `)`)
}
