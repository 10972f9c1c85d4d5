//go:build unix

package main_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/split"
	"nqueens/pkg/symmetry"
)

// The runs that the examples name: one is counted, the other was interrupted.
const (
	countedRun     = "n14-20261120-153012-ab12"
	interruptedRun = "n15-20261120-170938-7274"
)

// What examples name as the address of a server, and of a process that answers for its
// health.
const (
	exampleServer = "127.0.0.1:4222"
	exampleHealth = "127.0.0.1:8080"
)

// lasting are the examples that go on until they are stopped: the command, and what its
// log says once it is at work. SIGTERM then ends them with exit 0.
var lasting = []struct{ command, works string }{
	{`^worker( run)?( --.*)?$`, `("server":"nats:.*"worker starts")`},
}

// Every example of every command's help does what it says: a shell runs the line, in a
// folder where the runs and files are that examples name, beside a server with a worker.
func TestExamples(t *testing.T) {
	scene := newExampleScene(t)
	for _, h := range everyCommand(t) {
		for _, line := range h.examples {
			t.Run(h.name()+": "+line, func(t *testing.T) {
				t.Parallel()
				scene.try(t, line)
			})
		}
	}
}

// exampleScene is what examples find.
type exampleScene struct {
	folder string // a copy of it is where an example is run
	server string
	health string
}

func newExampleScene(t *testing.T) *exampleScene {
	s := &exampleScene{folder: t.TempDir()}
	data := filepath.Join(s.folder, "state", "nqueens")
	createRun(t, data, countedRun, 14)
	createRun(t, data, interruptedRun, 15)
	run := func(words ...string) string {
		t.Helper()
		got := tool(t, []string{"NQUEENS_DATA=" + data}, words...)
		if got.code != 0 {
			t.Fatalf("%q: exit %d\n%s", words, got.code, got.stderr)
		}
		return got.stdout
	}
	if total := run("coordinator", "resume", countedRun); total != "365596\n" {
		t.Fatalf("the run of the examples comes to %s", total)
	}
	if err := os.WriteFile(filepath.Join(s.folder, "subtotals.jsonl"), []byte(run("coordinator", "ledger", countedRun)), 0o600); err != nil {
		t.Fatal(err)
	}
	server := startServer(t)
	worker := startWorker(t, server.url, "--http", "127.0.0.1:0", "--kernel", "auto")
	s.server, s.health = strings.TrimPrefix(server.url, "nats://"), worker.await(`"http":"([^"]+)"`)
	// The server is set up when it is used for the first time.
	run("coordinator", "count", "6", "--nats", server.url, "--data", t.TempDir())
	return s
}

// createRun makes the ledger of a run that has that name, and of which nothing is counted.
func createRun(t *testing.T, data, name string, n int) {
	t.Helper()
	classes, err := symmetry.Classes(n, queens.Full)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := split.Plan(t.Context(), n, queens.Full, classes, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(data, 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := ledger.Create(filepath.Join(data, name), ledger.Header{Run: name, Created: time.Now(), Manifest: manifest})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// try runs an example, which must succeed, or, if it lasts, work until it is stopped.
func (s *exampleScene) try(t *testing.T, line string) {
	t.Helper()
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS(s.folder)); err != nil {
		t.Fatal(err)
	}
	own, command := freeAddress(t), line
	for _, flag := range []string{"--listen ", "--http "} {
		if !strings.Contains(line, " health ") {
			command = strings.NewReplacer(flag+exampleServer, flag+own, flag+exampleHealth, flag+own).Replace(command)
		}
	}
	if strings.HasPrefix(line, "coordinator watch") {
		tryWatch(t, folder, line)
		return
	}
	command = strings.NewReplacer(exampleServer, s.server, exampleHealth, s.health).Replace(command)
	if strings.Contains(command, "--listen "+own) {
		startWorker(t, "nats://"+own, "--kernel", "auto") // it waits for the server
	}
	for _, l := range lasting {
		if !regexp.MustCompile(l.command).MatchString(line) {
			continue
		}
		p := startShell(t, folder, nil, "exec "+command)
		p.await(l.works)
		p.signal(syscall.SIGTERM)
		p.expectEnd(0)
		return
	}
	startShell(t, folder, nil, command).expectEnd(0)
}

// tryWatch runs an example that watches, beside a coordinator that waits for workers: it
// goes on until it is stopped, which is exit 143.
func tryWatch(t *testing.T, folder, line string) {
	t.Helper()
	server := startServer(t)
	startShell(t, folder, nil, "exec coordinator resume "+interruptedRun+" --nats "+server.url).await(`("counting")`)
	line = strings.ReplaceAll(line, exampleServer, strings.TrimPrefix(server.url, "nats://"))
	p := startShell(t, folder, nil, "exec "+line+" >&2")
	p.await(`("watching|{"run":)`)
	p.signal(syscall.SIGTERM)
	p.expectEnd(128 + int(syscall.SIGTERM))
}
