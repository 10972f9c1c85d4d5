//go:build unix

package main_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"nqueens/pkg/cli/clitest"
	"nqueens/pkg/testkit"
)

// pageEvent is an event of a page, with some fields of its run.
type pageEvent struct {
	name string
	shownRun
}

// shownRun has some fields of a run on a page.
type shownRun struct {
	Run, Source, State, Status, Total, Known string
	Done, Tasks                              uint64
	Listed                                   int `json:"listed_workers"`
	States                                   map[string]uint64
}

// browser reads the events of a page until their end.
type browser struct {
	t      *testing.T
	events chan pageEvent
	seen   []pageEvent
}

// browse connects to the events of the page of the process that works on a run or watches it, with
// a token or none.
func browse(t *testing.T, p *clitest.Process, token string) *browser {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.Await(`"page":"([^"]+)"`)+"api/v1/run/events", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != http.StatusOK {
		t.Fatalf("the events: %s", response.Status)
	}
	b := &browser{t: t, events: make(chan pageEvent)}
	t.Cleanup(func() {
		_ = response.Body.Close() // it was only read
		for range b.events {      // until the reader has ended
		}
	})
	go func() {
		defer close(b.events)
		name := ""
		for lines := bufio.NewScanner(response.Body); lines.Scan(); {
			key, value, _ := strings.Cut(lines.Text(), ": ")
			switch key {
			case "event":
				name = value
			case "data":
				e := pageEvent{name: name}
				if err := json.Unmarshal([]byte(value), &e.shownRun); err != nil {
					t.Errorf("%v in %s", err, value)
				}
				b.events <- e
			}
		}
	}()
	return b
}

// get asks for a page, and returns the status and the text.
func get(t *testing.T, url string) (status int, text string) {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	content, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(content)
}

// await returns the next event that the condition holds for.
func (b *browser) await(what string, holds func(e pageEvent) bool) pageEvent {
	b.t.Helper()
	for e := range b.events {
		b.seen = append(b.seen, e)
		if holds(e) {
			return e
		}
	}
	b.t.Fatalf("the events have ended without this: %s; the last are %+v", what, b.seen[max(0, len(b.seen)-5):])
	return pageEvent{}
}

// The pages of a coordinator and of a watcher show a run from its middle to its total, and end with it.
// That of the watcher asks for its token.
func TestLivePage(t *testing.T) {
	long(t)
	coordinator, url := startCluster(t, "12", "--depth", "2", "--spot-check", "0%", "--http", "127.0.0.1:0")
	name := coordinator.Await(counting)
	release := brake(t, join(t, url), name)
	const token = "0123456789abcdefghijklmnop"
	file := filepath.Join(t.TempDir(), "page.token")
	if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	watcher := startWatch(t, "--nats", url, "--http", "127.0.0.1:0", "--http-token-file", file)
	if status, _ := get(t, watcher.Await(`"page":"([^"]+)"`)+"api/v1/run"); status != http.StatusUnauthorized {
		t.Errorf("without the token: status %d", status)
	}
	startWorker(t, url)
	own, other := browse(t, coordinator, ""), browse(t, watcher, token)
	tasks := uint64(coordinator.Field("counting", "tasks"))
	allButOne := func(e pageEvent) bool { return e.name == "run" && e.Done == tasks-1 && e.Listed > 0 } // the brake is listed after a while
	if e := own.await("all tasks but one are done", allButOne); e.Source != "coordinator" || e.States["in_flight"] != 1 || e.Status != "" {
		t.Errorf("the coordinator's page: %+v", e)
	}
	if e := other.await("all tasks but one are done", allButOne); e.Source != "watch" || e.States["in_flight"] != 1 || e.Status != "" {
		t.Errorf("the watcher's page: %+v", e)
	}
	release()
	for _, b := range []*browser{own, other} {
		b.await("the end", func(e pageEvent) bool { return e.name == "end" })
		last := pageEvent{}
		for _, e := range b.seen {
			if e.name == "run" {
				last = e
			}
		}
		if last.State != "complete" || last.Total != known(12) || last.Known != "match" {
			t.Errorf("the last state is %+v", last)
		}
	}
	coordinator.ExpectTotal(known(12))
	watcher.ExpectTotal(known(12))
	if _, err := http.Get(coordinator.Await(`"page":"([^"]+)"`)); err == nil {
		t.Error("the page of a coordinator that has ended answers")
	}
	if strings.Contains(watcher.Log(), token) {
		t.Error("the log has the token")
	}
}

// The page says that the server is away, that it is back, and that its coordinator was stopped; so does
// that of a watcher. A watcher that starts meanwhile waits for the server.
func TestLivePageSaysWhyThereIsNoNews(t *testing.T) {
	long(t)
	address, store := testkit.Address(t), t.TempDir()
	server := startServerAt(t, address, store)
	coordinator := startCount(t, "12", "--depth", "2", "--nats", server.url, "--http", "127.0.0.1:0")
	name := coordinator.Await(counting)
	watcher := startWatch(t, "--nats", server.url, "--http", "127.0.0.1:0")
	own, other := browse(t, coordinator, ""), browse(t, watcher, "")
	live := func(e pageEvent) bool { return e.name == "run" && e.Status == "" }
	away := func(e pageEvent) bool { return strings.Contains(e.Status, "server disconnected since") }
	for _, b := range []*browser{own, other} {
		b.await("the run is live", live)
	}
	server.Kill()
	for _, b := range []*browser{own, other} {
		b.await("the server is away", away)
	}
	late := startWatchJSON(t, "--nats", server.url)
	late.Await(`(server not reachable yet)`)
	startServerAt(t, address, store)
	awaitObject(t, late)
	for _, b := range []*browser{own, other} {
		b.await("the server is back", live)
	}
	coordinator.Signal(syscall.SIGTERM)
	stopped := func(e pageEvent) bool {
		return e.State == "stopped" && strings.Contains(e.Status, "coordinator resume "+name)
	}
	own.await("the coordinator is stopped", stopped)
	other.await("the coordinator is stopped", stopped)
	for e := range own.events {
		if e.name == "end" {
			t.Error("a run that can be resumed has ended")
		}
	}
}

// A page that lingers shows the end of a run after the total is printed: the process is healthy, and an interrupt ends it
// with the exit code of the count.
func TestLivePageLingers(t *testing.T) {
	t.Parallel()
	coordinator := startCount(t, "8", "--workers", "2", "--http", "127.0.0.1:0", "--http-linger", "1h")
	coordinator.Await("(the page stays)")
	page := coordinator.Await(`"page":"([^"]+)"`)
	ok := func(path string) string {
		status, text := get(t, page+path)
		if status != http.StatusOK {
			t.Errorf("%s: status %d, %s", path, status, text)
		}
		return text
	}
	var end struct {
		Total    string
		Solution []int
	}
	if text := ok("api/v1/run"); json.Unmarshal([]byte(text), &end) != nil || end.Total != "92" || len(end.Solution) != 8 {
		t.Errorf("the page shows %s", text)
	}
	var list struct {
		Workers []struct{ Tasks, Held int }
	}
	tasks := 0
	if err := json.Unmarshal([]byte(ok("api/v1/run/workers")), &list); err != nil {
		t.Error(err)
	}
	for _, w := range list.Workers {
		tasks += w.Tasks
		if w.Held > 0 {
			t.Errorf("a worker holds %d chunks after the end", w.Held)
		}
	}
	if all := coordinator.Field("counting", "tasks"); len(list.Workers) != 2 || tasks != all {
		t.Errorf("%d workers counted %d of %v tasks", len(list.Workers), tasks, all)
	}
	ok("healthz")
	ok("readyz")
	coordinator.Signal(syscall.SIGTERM)
	coordinator.ExpectTotal("92")
}

// runs --http serves the runs of this machine and their reports, and an interrupt ends it.
func TestPageOfRuns(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	count := startCount(t, "8", "--data", data)
	count.ExpectTotal("92")
	name := count.Await(counting)
	runs := start(t, "coordinator", "runs", "--data", data, "--http", "127.0.0.1:0")
	page := runs.Await(`"page":"([^"]+)"`)
	for path, want := range map[string]string{"": "runs/" + name, "runs/" + name: "confirmed by the published total", "runs/n8-none": "no such run"} {
		if status, text := get(t, page+path); !strings.Contains(strings.ToLower(text), want) {
			t.Errorf("/%s: status %d, %s", path, status, text)
		}
	}
	runs.Signal(syscall.SIGINT)
	runs.ExpectExit(0)
}
