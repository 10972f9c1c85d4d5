//go:build unix

package main_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"nqueens/pkg/cli/clitest"
	"nqueens/pkg/ledger"
	"nqueens/pkg/run"
	"nqueens/pkg/testkit"
)

// TestDocumentedCommands runs the blocks of README.md and of the tutorial, and the examples of every
// command's help. Blocks of sh must succeed; those of console also print what they show. Each page has a
// folder where its blocks run one after another; each example has a folder of its own.
//
// In a block of sh, a line that ends with # in another terminal runs beside the others until
// they have ended; one with # interrupted is killed while it counts. RUN is a run that is
// complete, or, for cancel, one that is not. Boards that would take minutes are smaller here. A command that
// no other depends on, such as an estimate, runs once, however often people read it, and not if a script runs
// it too. Without NQUEENS_TEST_FULL=1, which .ci/run sets, only some examples run; with -short fewer, and no page.
func TestDocumentedCommands(t *testing.T) {
	template := newSandbox(t, t.TempDir())
	template.fill()
	once := scriptedCommands(t)
	for _, page := range []string{"../docs/tutorial.md", "../README.md"} {
		blocks := pageBlocks(t, page)
		for i := range blocks {
			if blocks[i].language == "sh" {
				blocks[i].text = withoutRepeats(blocks[i].text, once)
			}
		}
		if testing.Short() {
			continue
		}
		t.Run(filepath.Base(page), func(t *testing.T) {
			t.Parallel()
			s := template.copy(t)
			for i := range blocks {
				s.run(filepath.Base(page), &blocks[i])
			}
		})
	}
	var examples []pageBlock
	for _, h := range everyCommand(t) {
		for _, line := range h.examples {
			if text := withoutRepeats(line+"\n", once); text != "" {
				examples = append(examples, pageBlock{language: "sh", text: text})
			}
		}
	}
	sample := 8
	if testing.Short() {
		sample = 2
	}
	examples = testkit.Sample(t, sample, examples)
	for _, b := range examples {
		t.Run(strings.TrimSpace(b.text), func(t *testing.T) {
			t.Parallel()
			template.copy(t).run("--help", &b)
		})
	}
}

// The programs that go builds, as pages have it, are those that these tests run: they print
// the same help of every command, and the same total.
func TestGoBuildsTheTestedPrograms(t *testing.T) {
	if !testkit.Full() {
		t.Skip("links both programs: runs with NQUEENS_TEST_FULL=1")
	}
	t.Parallel()
	folder := t.TempDir()
	build := clitest.RunShell(t, "..", []string{"HOME=" + os.Getenv("HOME"), "folder=" + folder}, `go build -o "$folder/" ./coordinator ./worker`)
	if build.Code != 0 {
		t.Fatalf("go build: exit %d\n%s", build.Code, build.Stderr)
	}
	for _, h := range everyCommand(t) {
		built := clitest.RunShell(t, folder, nil, "./"+h.name()+" --help")
		tested := clitest.RunShell(t, folder, nil, h.name()+" --help")
		if built != tested {
			t.Errorf("%s --help: go builds one that prints\n%s%s\nthe tested one prints\n%s%s", h.name(), built.Stdout, built.Stderr, tested.Stdout, tested.Stderr)
		}
	}
	if got := clitest.RunShell(t, folder, nil, "./coordinator count 6"); got.Stdout != "4\n" || got.Code != 0 {
		t.Errorf("built by go it counts %q, exit %d\n%s", got.Stdout, got.Code, got.Stderr)
	}
}

// independent are commands that change nothing and depend on nothing.
var independent = regexp.MustCompile(`^(coordinator (estimate|solve|count \d+ --json) ?|worker (bench|kernels) ?)[^>|]*$`)

// scriptedCommands returns the commands of the scripts, see TestScripts.
func scriptedCommands(t *testing.T) map[string]bool {
	t.Helper()
	commands := make(map[string]bool)
	for _, folder := range []string{"testdata", "../worker/testdata"} {
		paths, err := filepath.Glob(folder + "/*.txt")
		if err != nil || len(paths) == 0 {
			t.Fatalf("found %d scripts in %s (%v)", len(paths), folder, err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(text)) {
				commands[strings.TrimSpace(strings.TrimPrefix(line, "exec "))] = true
			}
		}
	}
	return commands
}

// withoutRepeats removes the lines with an independent command that another text has had.
func withoutRepeats(text string, once map[string]bool) string {
	var kept strings.Builder
	for line := range strings.Lines(text) {
		command, _, _ := strings.Cut(line, "#")
		command = strings.TrimSpace(strings.NewReplacer("go run ./", "", "bin/", "").Replace(command))
		if independent.MatchString(command) && once[command] {
			continue
		}
		once[command] = true
		kept.WriteString(line)
	}
	return kept.String()
}

// The runs that the examples of help name.
const (
	completeRun    = "n14-20261120-153012-ab12"
	interruptedRun = "n15-20261120-170938-7274"
)

// The addresses that people read: of a server, of one with keys, and of a process that reports its health.
const (
	documentedServer = "127.0.0.1:4222"
	documentedKeys   = "counter.example.org:4222 --token-file join.token"
	documentedHealth = "127.0.0.1:8080"
)

// documentedKey is the key of a worker that people read.
const documentedKey = "UCBJ4RGRQ72BWE6P47ZOOGVSP6G4K5QXBGVSISA2IKMWVDEJDUEM7RZA"

// lasting are the commands that run until they are stopped: the command, what it writes once it
// works, and the exit code after SIGTERM.
var lasting = []struct {
	command, works string
	exit           int
}{
	{`^worker( run)?( --.*)?$`, `( worker \S+ starts: )`, 0},
	{`^coordinator watch`, `( watching |"done":)`, 128 + int(syscall.SIGTERM)},
}

// sandbox is where commands run that people read: a folder with runs, and addresses.
type sandbox struct {
	t              *testing.T
	folder         string
	server, health string // in the place of the documented ones
}

func newSandbox(t *testing.T, folder string) *sandbox {
	t.Helper()
	return &sandbox{t: t, folder: folder, server: testkit.Address(t), health: testkit.Address(t)}
}

// fill creates what commands need: a complete run, its export and its backup, and an interrupted
// run.
func (s *sandbox) fill() {
	s.t.Helper()
	data := filepath.Join(s.folder, "state", "nqueens")
	createRun(s.t, data, completeRun, 14)
	createRun(s.t, data, interruptedRun, 15)
	export := "coordinator resume " + completeRun + "; coordinator ledger " + completeRun + " >subtotals.jsonl" +
		"; coordinator backup " + completeRun + " n14.backup >backup.txt" +
		"; coordinator keys init; coordinator keys add worker lab-3" +
		"; coordinator keys init --keys state/nqueens/keys" // of embedded servers
	if got := clitest.RunShell(s.t, s.folder, nil, export); got.Stdout != known(14)+"\n" || got.Code != 0 {
		s.t.Fatalf("%s prints %s, exit %d\n%s", export, got.Stdout, got.Code, got.Stderr)
	}
	s.quarantine(filepath.Join(data, interruptedRun))
}

// quarantine quarantines, in the ledger of that folder, the key whose quarantine people read how to lift.
func (s *sandbox) quarantine(folder string) {
	s.t.Helper()
	l, err := ledger.Open(s.t.Context(), folder, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	err = l.Quarantine(run.QuarantinedKey{Key: documentedKey, Reason: "wrong", At: time.Now()})
	for more := true; more && err == nil; {
		_, more, err = l.Revoke()
	}
	if err := errors.Join(err, l.Close()); err != nil {
		s.t.Fatal(err)
	}
}

// copy returns a copy of the sandbox for another test.
func (s *sandbox) copy(t *testing.T) *sandbox {
	t.Helper()
	c := newSandbox(t, t.TempDir())
	if err := os.CopyFS(c.folder, os.DirFS(s.folder)); err != nil {
		t.Fatal(err)
	}
	return c
}

// largeBoard are commands that take long on some machines.
var largeBoard = regexp.MustCompile(`\b(count|bench) (1[789]|[23]\d)\b`)

// smaller replaces boards that take long.
func smaller(text string) string { return largeBoard.ReplaceAllString(text, "$1 16") }

// translate replaces what people read with what is here.
func (s *sandbox) translate(text string) string {
	text = strings.ReplaceAll(smaller(text), "cancel RUN", "cancel "+interruptedRun)
	text = regexp.MustCompile(`\bRUN\b`).ReplaceAllString(text, completeRun)
	text = regexp.MustCompile(`^worker$`).ReplaceAllString(text, "worker --nats nats://"+documentedServer) // its default
	keys := s.server + " --token-file state/nqueens/keys/worker/join.token"
	return strings.NewReplacer(documentedServer, s.server, documentedKeys, keys, documentedHealth, s.health).Replace(text)
}

// run runs the commands of a block, beside the processes that they need.
func (s *sandbox) run(page string, b *pageBlock) {
	s.t.Helper()
	started := time.Now()
	beside := s.startNeeded(b.text)
	if b.language == "console" {
		s.console(page, b)
	} else {
		s.script(page, b)
	}
	for _, p := range beside {
		p.Kill()
	}
	s.t.Logf("%s:%d took %v", page, b.line, time.Since(started).Round(time.Millisecond))
}

// startNeeded starts what the commands of a block need and do not start themselves: a
// server, a worker, and a coordinator for those who watch.
func (s *sandbox) startNeeded(text string) (beside []*clitest.Process) {
	s.t.Helper()
	add := func(p *clitest.Process) { beside = append(beside, p) }
	listens, watches := strings.Contains(text, "--listen"), strings.Contains(text, "coordinator watch")
	asksHealth := strings.Contains(text, " health --http ")
	stops, keys := strings.Contains(text, "coordinator stop"), strings.Contains(text, documentedKeys)
	if (strings.Contains(text, "--nats") && !keys || watches || asksHealth || stops || text == "worker\n") && !listens {
		add(startServerAt(s.t, s.server, s.t.TempDir()).Process)
	}
	if works := regexp.MustCompile(`(^|[/\s])worker( --nats|$)`).MatchString(strings.TrimSpace(text)); asksHealth || !works && !watches && !stops && (listens || len(beside) > 0) {
		server := "nats://" + s.server
		if listens && strings.Contains(text, "--redundancy") {
			server = "tls://" + s.server + " --token-file state/nqueens/keys/worker/join.token"
		}
		w := s.start("worker --nats " + server + " --http " + s.health)
		add(w)
		if asksHealth {
			w.Await(`( worker \S+ starts: )`)
		}
	}
	switch {
	case keys:
		c := s.start("coordinator resume " + interruptedRun + " --workers 0 --listen " + s.server)
		c.Await(`( counting n = )`)
		add(c)
	case stops, watches: // a run without workers, which does not end
		c := s.start("coordinator resume " + interruptedRun + " --nats nats://" + s.server)
		c.Await(`( counting n = )`)
		if watches {
			add(c)
		}
	case strings.Contains(text, "coordinator runs --nats"), strings.Contains(text, "coordinator cancel") && strings.Contains(text, "--nats"):
		// A server is set up by the first count.
		s.bash("", &pageBlock{}, "coordinator count 6 --data other --nats nats://"+s.server)
	}
	return beside
}

// console runs the commands of a block one by one, and compares what they print.
func (s *sandbox) console(page string, b *pageBlock) {
	s.t.Helper()
	for _, part := range strings.Split("\n"+b.text, "\n$ ")[1:] {
		command, shown, _ := strings.Cut(part, "\n")
		if shown != "" && !strings.HasSuffix(shown, "\n") {
			shown += "\n"
		}
		shown = strings.ReplaceAll(shown, "n17-", "n16-") // as smaller does
		printed := s.bash(page, b, command)
		if smaller(command) == command && !looksLike(printed, shown) {
			s.t.Errorf("%s:%d: %s printed\n%s\nthe page shows\n%s", page, b.line, command, printed, shown)
		}
	}
}

// Comments on commands of which more is to be done than run them.
var (
	besideComment      = regexp.MustCompile(`^(.*\S)\s+# in another terminal.*$`)
	interruptedComment = regexp.MustCompile(`^(.*\S)\s+# interrupted.*$`)
)

// script runs a block of sh.
func (s *sandbox) script(page string, b *pageBlock) {
	s.t.Helper()
	var beside []*clitest.Process
	var lines string
	for line := range strings.Lines(b.text) {
		if m := besideComment.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			beside = append(beside, s.start(m[1]))
			continue
		}
		if m := interruptedComment.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			s.bash(page, b, lines)
			lines = ""
			p := s.start(m[1], "NQUEENS_WORKERS=1", "NQUEENS_KERNEL=generic") // so that it is not too quick
			p.Await("( counting )")
			p.Kill()
			continue
		}
		if s.lasts(line) {
			continue
		}
		lines += line
	}
	s.bash(page, b, lines)
	for _, p := range beside {
		p.Signal(syscall.SIGTERM)
		p.ExpectExit(0)
	}
}

// lasts starts a command that runs until it is stopped, and stops it once it works. It reports
// whether the line is such a command.
func (s *sandbox) lasts(line string) bool {
	s.t.Helper()
	line = strings.TrimSpace(line)
	for _, l := range lasting {
		if !regexp.MustCompile(l.command).MatchString(line) {
			continue
		}
		p := s.start(line)
		p.Await(l.works)
		p.Signal(syscall.SIGTERM)
		p.ExpectExit(l.exit)
		return true
	}
	return false
}

// start starts one command beside others.
func (s *sandbox) start(command string, settings ...string) *clitest.Process {
	s.t.Helper()
	return clitest.Shell(s.t, s.folder, append(s.settings(), settings...), "exec "+s.translate(command))
}

// settings are those of a person: log lines are as people read them.
func (s *sandbox) settings() []string {
	bin, err := filepath.Abs("testdata/bin") // has a go that builds nothing
	if err != nil {
		s.t.Fatal(err)
	}
	path := bin + ":" + clitest.Programs(s.t) + ":" + os.Getenv("PATH")
	return []string{"PATH=" + path, "NQUEENS_LOG_FORMAT=auto", "NO_COLOR=1"}
}

// bash runs commands, which must succeed, and returns what they print to stdout and stderr.
func (s *sandbox) bash(page string, b *pageBlock, text string) string {
	s.t.Helper()
	got := clitest.RunShell(s.t, s.folder, s.settings(), "exec 2>&1\n"+s.translate(text))
	if got.Code != 0 {
		s.t.Fatalf("%s:%d: exit %d\n%s\n%s", page, b.line, got.Code, text, got.Stdout)
	}
	return got.Stdout
}
