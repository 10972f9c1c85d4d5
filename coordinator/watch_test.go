//go:build unix

package main_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// startWatch starts somebody who watches.
func startWatch(t *testing.T, args ...string) *process {
	t.Helper()
	return start(t, "coordinator", append([]string{"watch"}, args...)...)
}

// startWatchJSON starts somebody who watches, and whose objects stand among the lines of
// the log, to be waited for.
func startWatchJSON(t *testing.T, args ...string) *process {
	t.Helper()
	folder, err := commands()
	if err != nil {
		t.Fatal(err)
	}
	args = append([]string{"-c", `exec "$0" watch --json "$@" >&2`, filepath.Join(folder, "coordinator")}, args...)
	return startCommand(t, "coordinator", exec.Command("sh", args...))
}

// watched is what is needed here of an object that watch prints.
type watched struct {
	Run, State string
	Percent    float64
	Done       uint64
	Tasks      uint64
	Total      *string
}

// objects returns what watch has printed among its log.
func (p *process) objects() (all []watched) {
	p.t.Helper()
	for line := range strings.Lines(p.log.text()) {
		if !strings.HasPrefix(line, `{"run":`) || !strings.HasSuffix(line, "\n") {
			continue
		}
		var w watched
		if err := json.Unmarshal([]byte(line), &w); err != nil {
			p.t.Fatalf("%v: %s", err, line)
		}
		all = append(all, w)
	}
	return all
}

// awaitMore waits for an object that is printed from now on.
func (p *process) awaitMore() {
	p.t.Helper()
	for before, deadline := len(p.objects()), time.Now().Add(patience); len(p.objects()) == before; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			p.t.Fatalf("no snapshot within %v", patience)
		}
	}
}

// Those who watch beside a count see it rise from nothing to its end, and have its total,
// whether they name the run or not; however many there are, and one that leaves, change
// nothing.
func TestWatchBesideACount(t *testing.T) {
	t.Parallel()
	s := startScene(t, "14", "--depth", "2")
	release := brake(t, join(t, s.server.url))
	named, newest := startWatchJSON(t, s.run, "--nats", s.server.url), startWatch(t, "--nats", s.server.url)
	leaves := startWatch(t, s.run, "--nats", s.server.url)
	named.await(`("done":0,)`)
	newest.await(`"run":"(` + s.run + `)".*"watching"`)
	leaves.signal(syscall.SIGINT)
	leaves.expectEnd(128 + int(syscall.SIGINT))
	startWorker(t, s.server.url)
	const tasks = 78
	named.await(fmt.Sprintf(`("done":%d,"tasks":%d,).*"crew":\[{"name"`, tasks-1, tasks))
	release()
	s.coordinator.expectTotal(known(14))
	newest.expectTotal(known(14))
	named.expectEnd(0)

	seen := named.objects()
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

// Who watches stays through restarts of the server, also of one that has lost its store.
func TestWatchThroughServerRestarts(t *testing.T) {
	t.Parallel()
	s := startScene(t, "12", "--depth", "2")
	early := startWatchJSON(t, s.run, "--nats", s.server.url)
	early.awaitMore()
	for _, wiped := range []bool{false, true} {
		s.server.kill()
		if wiped {
			s.wipe()
		}
		late := startWatch(t, "--nats", s.server.url)
		late.await(`(no server there yet)`)
		s.restartServer()
		late.await(`"run":"(` + s.run + `)".*"watching"`)
		early.awaitMore()
		early.awaitMore()
	}
	startWorker(t, s.server.url)
	s.coordinator.expectTotal(known(12))
	early.await(`"state":"complete".*"total":"(` + known(12) + `)"`)
	early.expectEnd(0)
}

// Who watches stays when the coordinator is killed, stopped, and followed by another, and
// says how things stand.
func TestWatchThroughCoordinators(t *testing.T) {
	t.Parallel()
	s := startScene(t, "12", "--depth", "2")
	w := startWatchJSON(t, s.run, "--nats", s.server.url)
	w.awaitMore()
	s.coordinator.kill()
	w.await(`(waiting for word of its coordinator)`)
	w.await(`(has not been heard of for 1\ds: if it has died, coordinator resume ` + s.run + ` goes on with it)`)
	s.resume()
	w.await(`("the run goes on")`)
	w.awaitMore()
	s.coordinator.signal(syscall.SIGTERM)
	s.coordinator.expectEnd(128 + int(syscall.SIGTERM))
	w.await(`(stopped.*: coordinator resume ` + s.run + ` goes on with it)`)
	// Who comes now is told the same, with nothing but the server's record.
	late := startWatch(t, "--nats", s.server.url)
	late.await(`(stopped with 0 of \d+ tasks done: coordinator resume ` + s.run + `)`)
	s.resume()
	startWorker(t, s.server.url)
	s.coordinator.expectTotal(known(12))
	late.expectTotal(known(12))
	w.expectEnd(0)
	if w.lines(`"the run goes on"`) < 2 {
		t.Error("it was not said each time that the run goes on")
	}
}

// Who watches a run that another coordinator takes over sees that go on with it.
func TestWatchThroughATakeOver(t *testing.T) {
	t.Parallel()
	s := startScene(t, "12", "--depth", "2")
	w := startWatchJSON(t, s.run, "--nats", s.server.url)
	w.awaitMore()
	second := start(t, "coordinator", "resume", s.run, "--take-over", "--data", t.TempDir(), "--nats", s.server.url)
	second.await(counting)
	s.coordinator.expectEnd(4)
	w.awaitMore()
	startWorker(t, s.server.url)
	second.expectTotal(known(12))
	w.expectEnd(0)
	if w.lines("stopped") != 0 {
		t.Error("the run was said to be stopped")
	}
}

// To watch is to read: who watches, and finds the run alone, asks the server for what its
// streams are and for records, and everything there stays as it was.
func TestWatchDisturbsNothing(t *testing.T) {
	t.Parallel()
	s := startScene(t, "12", "--depth", "2")
	s.view.eventually("there are tasks", func() bool { waiting, _ := s.view.tasks(); return waiting > 0 })
	s.coordinator.signal(syscall.SIGTERM)
	s.coordinator.expectEnd(128 + int(syscall.SIGTERM))
	before := s.view.everything()
	spy, err := s.view.conn.SubscribeSync(">")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.view.conn.Flush(); err != nil {
		t.Fatal(err)
	}
	w := startWatch(t, "--nats", s.server.url)
	w.await(`(stopped with)`)
	elapse(t, 3*time.Second) // of looking again
	w.signal(syscall.SIGTERM)
	w.expectEnd(128 + int(syscall.SIGTERM))
	if err := s.view.conn.Flush(); err != nil {
		t.Fatal(err)
	}
	asked := 0
	for m, err := spy.NextMsg(time.Second); err == nil; m, err = spy.NextMsg(100 * time.Millisecond) {
		switch {
		case strings.HasPrefix(m.Subject, "$JS.API.STREAM.INFO.KV_nq_runs"), strings.HasPrefix(m.Subject, "$JS.API.DIRECT.GET.KV_nq_runs"):
			asked++
		case !strings.HasPrefix(m.Subject, "_INBOX.") && !strings.HasPrefix(m.Subject, "$JS.EVENT.ADVISORY."): // the server's
			t.Errorf("who watches has sent to %s: %.100q", m.Subject, m.Data)
		}
	}
	if asked < 4 {
		t.Errorf("who watches has asked the server %d times: the spy is blind", asked)
	}
	if after := s.view.everything(); after != before {
		t.Errorf("the server had\n%s\nand has\n%s", before, after)
	}
}

// everything tells what streams and consumers a server has, and how much was ever in each.
func (v view) everything() string {
	v.t.Helper()
	var text strings.Builder
	for info := range v.js.ListStreams(v.t.Context()).Info() {
		stream, err := v.js.Stream(v.t.Context(), info.Config.Name)
		if err != nil {
			v.t.Fatal(err)
		}
		fmt.Fprintf(&text, "%s: %+v", info.Config.Name, info.State)
		for name := range stream.ConsumerNames(v.t.Context()).Name() {
			fmt.Fprintf(&text, " consumer %s", name)
		}
		text.WriteString("\n")
	}
	return text.String()
}

// Where the server refuses the credentials, waiting does not help; of a run of this machine
// its address is known, and no password.
func TestWatchWithoutThePassword(t *testing.T) {
	t.Parallel()
	server := startServer(t, "--user", "bell", "--pass", "s3cret")
	url := strings.Replace(server.url, "//", "//bell:s3cret@", 1)
	coordinator := startCount(t, "12", "--depth", "2", "--nats", url)
	run := coordinator.await(counting)
	holder, err := os.ReadFile(filepath.Join(coordinator.data(), run, "holder.json"))
	if err != nil || !strings.Contains(string(holder), server.url) || strings.Contains(string(holder), "s3cret") {
		t.Errorf("who has the ledger says %s (%v)", holder, err)
	}
	refused := startWatch(t, "--data", coordinator.data())
	refused.expectEnd(5)
	refused.await(`"exit":5,.*(if it asks for a password, give it with --nats)`)
	w := startWatch(t, "--nats", url)
	w.await(`"run":"(` + run + `)".*"watching"`)
	startWorker(t, url)
	coordinator.expectTotal(known(12))
	w.expectTotal(known(12))
	if refused.lines("s3cret")+w.lines("s3cret") != 0 {
		t.Error("the log has the password")
	}
}

// A count whose server lets nobody in can't be watched, and whoever tries is told what to
// do; one that lets others in is found by its folder.
func TestWatchARunOfThisMachine(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	closed := start(t, "coordinator", "count", "20", "--workers", "1", "--depth", "1", "--data", data)
	run := closed.await(counting)
	for _, args := range [][]string{{"--data", data}, {run, "--data", data}} {
		w := startWatch(t, args...)
		w.expectEnd(1)
		pid := closed.cmd.Process.Pid
		w.await(fmt.Sprintf(`"exit":1,.*(run %s is at work in process %d on .*--listen 127.0.0.1:4222; kill -USR1 %d )`, run, pid, pid))
	}
	closed.signal(syscall.SIGTERM)
	closed.expectEnd(128 + int(syscall.SIGTERM))

	open := start(t, "coordinator", "count", "12", "--workers", "0", "--listen", "127.0.0.1:0", "--depth", "2", "--data", data)
	url := open.await(`"server":"(nats://[^"]+)".*"counting"`)
	w := startWatch(t, "--data", data)
	w.await(`"server":"(` + url + `)".*"watching"`)
	json := startWatchJSON(t, "--data", data)
	json.awaitMore()
	startWorker(t, url)
	open.expectTotal(known(12))
	w.expectTotal(known(12))
	json.expectEnd(0)

	none := startWatch(t, "--data", data)
	none.expectEnd(1)
	none.await(`"exit":1,.*(nobody is at work on a run in ` + data + `: name the server of a run elsewhere with --nats)`)
	over := startWatch(t, run, "--data", data)
	over.expectEnd(1)
	over.await(`"exit":1,.*(run ` + run + ` is stopped, with 0 of 10 tasks done: coordinator resume ` + run + ` goes on with it)`)
	if _, err := os.Stat(filepath.Join(data, run, "ledger.db")); err != nil {
		t.Error(err)
	}
}
