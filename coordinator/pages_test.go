//go:build unix

package main_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Every example of README.md and of the pages of docs does what it says. Blocks of sh must
// succeed, those of console also print what they show; each page has a folder where they
// run, one after another. Any other block holds no command, or says why nothing runs it.
//
// In a block of sh, a line that ends with # in another terminal runs beside the others, until
// they have ended; one with # interrupted is killed while it counts. RUN is a run that is
// counted, or, for cancel, one that is not. A block of awk is the file total.awk. Boards that
// would take minutes are smaller here.
func TestPages(t *testing.T) {
	pages, err := filepath.Glob("../docs/*.md")
	if err != nil || len(pages) < 5 {
		t.Fatalf("found %d pages (%v)", len(pages), err)
	}
	for _, page := range append(pages, "../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(filepath.Base(page), func(t *testing.T) {
			var scene *pageScene // made for the first that is run
			for _, b := range pageBlocks(string(text)) {
				if err := b.check(page); err != nil {
					t.Error(err)
					continue
				}
				if scene == nil && (b.isRun(page) || b.language == "awk") {
					scene = newPageScene(t)
				}
				if b.language == "awk" {
					scene.write("total.awk", b.text)
				}
				if b.isRun(page) {
					scene.run(filepath.Base(page), &b)
				}
			}
		})
	}
}

// What pages have go do with our programs makes what these tests run in its place: help of
// every command, and a total, are the same.
func TestGoMakesThePrograms(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-C", "..", "-o", folder+"/", "./coordinator", "./worker").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	for _, h := range everyCommand(t) {
		built := runHere(t, nil, filepath.Join(folder, h.words[0]), slices.Concat(h.words[1:], []string{"--help"})...)
		tested := tool(t, nil, slices.Concat(h.words, []string{"--help"})...)
		if built != tested {
			t.Errorf("%s --help: built by go it is\n%s%s\nin these tests\n%s%s", h.name(), built.stdout, built.stderr, tested.stdout, tested.stderr)
		}
	}
	if got := runHere(t, nil, filepath.Join(folder, "coordinator"), "count", "6"); got.stdout != "4\n" || got.code != 0 {
		t.Errorf("built by go it counts %q, exit %d\n%s", got.stdout, got.code, got.stderr)
	}
}

// goHere stands for go in a page's folder: the programs are built already.
const goHere = `#!/bin/sh
case "$*" in
"run ./coordinator"*) shift 2; exec coordinator "$@" ;;
"run ./worker"*) shift 2; exec worker "$@" ;;
"build -o bin/ ./coordinator ./worker") mkdir -p bin; exec cp "$(command -v coordinator)" "$(command -v worker)" bin/ ;;
esac
echo "these tests have no go that does: go $*" >&2; exit 1
`

// blockPatience bounds the time of one block.
const blockPatience = 2 * time.Minute

// pageScene is what the commands of a page find.
type pageScene struct {
	t       *testing.T
	folder  string
	path    string
	address string // where the page has 127.0.0.1:4222
	slow    bool   // this machine has the generic kernel alone
}

func newPageScene(t *testing.T) *pageScene {
	t.Helper()
	programs, err := commands()
	if err != nil {
		t.Fatal(err)
	}
	s := &pageScene{t: t, folder: t.TempDir(), address: freeAddress(t)}
	s.path = filepath.Join(s.folder, ".path") + ":" + programs + ":" + os.Getenv("PATH")
	s.slow = tool(t, nil, "worker", "kernels").stdout == "generic\n"
	data := filepath.Join(s.folder, "state", "nqueens")
	createRun(t, data, countedRun, 14)
	createRun(t, data, interruptedRun, 15)
	if got := tool(t, nil, "coordinator", "resume", countedRun, "--data", data); got.code != 0 {
		t.Fatalf("exit %d\n%s", got.code, got.stderr)
	}
	s.write(".path/go", goHere)
	return s
}

// write makes a file that can be run.
func (s *pageScene) write(name, text string) {
	s.t.Helper()
	path := filepath.Join(s.folder, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		s.t.Fatal(err)
	}
}

// Boards that would take minutes, here or on machines that are slow, and smaller ones in
// their place.
var largeBoard, slowBoard = regexp.MustCompile(`\b(count|bench) (19|[23]\d)\b`), regexp.MustCompile(`\b(count|bench) 1[78]\b`)

// stand puts what there is here in the place of what a page names.
func (s *pageScene) stand(text string) string {
	text = largeBoard.ReplaceAllString(text, "$1 18")
	if s.slow {
		text = slowBoard.ReplaceAllString(text, "$1 16")
	}
	text = strings.ReplaceAll(text, "cancel RUN", "cancel "+interruptedRun)
	text = regexp.MustCompile(`\bRUN\b`).ReplaceAllString(text, countedRun)
	return strings.ReplaceAll(text, exampleServer, s.address)
}

func (s *pageScene) run(page string, b *pageBlock) {
	s.t.Helper()
	started := time.Now()
	if strings.Contains(b.text, "--nats") && !strings.Contains(b.text, "--listen") {
		server := startServerAt(s.t, s.address, s.t.TempDir())
		defer server.kill()
	}
	if b.language == "console" {
		s.console(page, b)
	} else {
		s.script(page, b)
	}
	s.t.Logf("%s:%d took %v", page, b.line, time.Since(started).Round(time.Millisecond))
}

// console runs the commands of a block one by one, and compares what they print.
func (s *pageScene) console(page string, b *pageBlock) {
	s.t.Helper()
	for _, part := range strings.Split("\n"+b.text, "\n$ ")[1:] {
		command, shown, _ := strings.Cut(part, "\n")
		if shown != "" && !strings.HasSuffix(shown, "\n") {
			shown += "\n"
		}
		printed := s.bash(page, b, command)
		smaller := largeBoard.MatchString(command) || s.slow && slowBoard.MatchString(command)
		if !smaller && !looksLike(printed, shown) {
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
func (s *pageScene) script(page string, b *pageBlock) {
	s.t.Helper()
	var beside []*process
	var lines string
	for line := range strings.Lines(b.text) {
		if m := besideComment.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			beside = append(beside, s.start(m[1]))
			continue
		}
		if m := interruptedComment.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			s.bash(page, b, lines)
			lines = ""
			p := s.start(m[1], "NQUEENS_WORKERS=1") // so that it is not too quick
			p.await("( counting )")
			p.kill()
			continue
		}
		lines += line
	}
	s.bash(page, b, lines)
	for _, p := range beside {
		p.signal(syscall.SIGTERM)
		p.expectEnd(0)
	}
}

// start starts a command that goes on beside others.
func (s *pageScene) start(command string, more ...string) *process {
	return startShell(s.t, s.folder, append(s.settings(), more...), "exec "+s.stand(command))
}

// settings are the variables that a person has: to see the log as it is for people.
func (s *pageScene) settings() []string {
	return []string{"PATH=" + s.path, "NQUEENS_LOG_FORMAT=console", "NO_COLOR=1"}
}

// bash runs commands, which must succeed, and returns what they print.
func (s *pageScene) bash(page string, b *pageBlock, text string) string {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), blockPatience)
	defer cancel()
	cmd := s.command(ctx, s.stand(text))
	var printed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &printed, &printed
	if err := cmd.Run(); err != nil {
		s.t.Fatalf("%s:%d: %s\n%v\n%s", page, b.line, text, err, printed.String())
	}
	return printed.String()
}

func (s *pageScene) command(ctx context.Context, text string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", text)
	cmd.Dir = s.folder
	cmd.Env = append(plainEnvironment(s.folder), s.settings()...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	return cmd
}
