//go:build unix

package main_test

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"nqueens/pkg/cli/clitest"
	"nqueens/pkg/testkit"
)

// A cluster logs every line of docs/logs.md but the rare ones, at its level and with exactly
// the fields of its table, and no line of level info that is not there.
func TestLogsAreAsDocumented(t *testing.T) {
	long(t)
	page := readLogPage(t)
	occurred := make(map[*logEntry]bool)
	for _, p := range eventful(t) {
		for text := range strings.Lines(p.Log()) {
			line, err := readLogLine(text)
			if err != nil {
				t.Errorf("%s logs %q: %v", p.Name, text, err)
				continue
			}
			entry := page.find(p.Name, line)
			switch {
			case entry != nil:
				occurred[entry] = true
				if err := entry.check(line); err != nil {
					t.Errorf("docs/logs.md, %s: %v: %s", entry.message, err, text)
				}
			case line["level"] == "info":
				t.Errorf("docs/logs.md has nothing of the line %s", text)
			}
		}
	}
	for _, entry := range page.lines {
		if !occurred[entry] && entry.of != rare {
			t.Errorf("no process has logged the line %q", entry.message)
		}
	}
}

// The examples of docs/logs.md are of one line, with the fields of the tables. The console form has the
// fields of the JSON form, except times in seconds.
func TestLogExamplesMatchTheTables(t *testing.T) {
	page := readLogPage(t)
	line, err := readLogLine(page.json)
	if err != nil {
		t.Fatalf("the example %s: %v", page.json, err)
	}
	entry := page.find("coordinator", line)
	if entry == nil {
		t.Fatalf("the example %s is in no table", page.json)
	}
	if err := entry.check(line); err != nil {
		t.Errorf("the example %s: %v", page.json, err)
	}
	if head := regexp.MustCompile(`^\d\d:\d\d:\d\d INF ` + entry.message + " "); !head.MatchString(page.console) {
		t.Errorf("the console example does not match %s", head)
	}
	var shown []string
	for _, match := range regexp.MustCompile(` (\w+)=`).FindAllStringSubmatch(page.console, -1) {
		shown = append(shown, match[1])
	}
	maps.DeleteFunc(line, func(name string, _ any) bool { return slices.Contains(common, name) || strings.HasSuffix(name, "_s") })
	if slices.Sort(shown); !slices.Equal(shown, slices.Sorted(maps.Keys(line))) {
		t.Errorf("the example has the fields %q in the console form, and %q in JSON", shown, slices.Sorted(maps.Keys(line)))
	}
}

// The source of the program has every rare line of docs/logs.md.
func TestRareLinesAreInTheSource(t *testing.T) {
	var source strings.Builder
	for _, folder := range []string{".", "../worker", "../pkg"} {
		err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			source.Write(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, entry := range readLogPage(t).lines {
		if entry.of == rare && !strings.Contains(source.String(), `"`+strings.TrimSuffix(entry.message, "…")) {
			t.Errorf("no line of the program begins with %q", entry.message)
		}
	}
}

// eventful runs a cluster in which workers join, leave and are killed, a coordinator is stopped
// and another resumes. It returns the processes, which have ended.
func eventful(t *testing.T) []*clitest.Process {
	t.Helper()
	inJSON := []string{"--log-format", "json", "--http", "127.0.0.1:0"}
	address, data := testkit.Address(t), t.TempDir()
	url := "nats://" + address
	count := func(n string) *clitest.Process {
		return start(t, "coordinator", append([]string{"count", n, "--depth", "2", "--data", data, "--workers", "0", "--listen", address}, inJSON...)...)
	}
	joined := func(c *clitest.Process) *clitest.Process {
		w := startWorker(t, url, inJSON...)
		c.Await(`"worker":"(` + w.Await(`"worker":"([^"]+)".*"worker starts"`) + `)".*"worker joined"`)
		return w
	}

	early := startWorker(t, url, inJSON...)
	early.Await(`(server not reachable yet)`)
	early.Await(`"(idle)"`)
	short := count("8")
	short.ExpectTotal("92")
	early.Signal(syscall.SIGTERM)
	early.ExpectExit(0)

	first := count("12")
	run := first.Await(counting)
	release := brake(t, join(t, url), run)
	first.Await(`(no workers connected)`)
	stays := joined(first)
	v := inspect(t, url)
	v.eventually("it has counted something, of which its log tells", func() bool { return v.results() > 0 })
	leaves := joined(first)
	leaves.Signal(syscall.SIGTERM)
	leaves.ExpectExit(0)
	first.Await(`"(worker left)"`)
	dies := joined(first)
	dies.Kill()
	first.Await(`(eta_least_s)`)
	first.Await(`"(worker lost)"`)
	stays.Await(`"(working)"`)
	first.Signal(syscall.SIGINT)
	first.ExpectExit(128 + int(syscall.SIGINT))
	release()
	stays.Await(`(connection lost)`)

	second := count("12")
	second.ExpectTotal("14200")
	stays.Signal(syscall.SIGTERM)
	stays.ExpectExit(0)

	guarded := start(t, "coordinator", "count", "6", "--data", data, "--workers", "1", "--listen", "0.0.0.0:0", "--log-format", "json")
	guarded.ExpectTotal("4")
	failed := start(t, "coordinator", "ledger", "n8-none", "--data", data, "--log-format", "json")
	failed.ExpectExit(1)
	return []*clitest.Process{early, short, first, stays, leaves, dies, second, guarded, failed}
}
