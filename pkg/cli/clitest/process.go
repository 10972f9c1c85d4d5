//go:build unix

package clitest

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"nqueens/pkg/testkit"
)

// Process is a command that a test has started. It is killed when the test ends. Where the
// test fails, the last lines that the process wrote and its exit code are printed.
type Process struct {
	Cmd    *exec.Cmd
	Name   string // in the messages of a failed test
	t      testing.TB
	output output
	ended  chan struct{}
	quiet  bool // a failed test does not print it
}

// Start starts coordinator or worker in an empty folder that is its home. The settings are
// environment variables.
func Start(t testing.TB, settings []string, words ...string) *Process {
	t.Helper()
	cmd := exec.Command(program(t, words[0]), words[1:]...)
	cmd.Dir = t.TempDir()
	cmd.Env = Environment(cmd.Dir, settings...)
	return StartCommand(t, words[0], cmd)
}

// Result is what a command that has ended wrote, and its exit code.
type Result struct {
	Stdout, Stderr string
	Code           int
}

// Run runs coordinator or worker as Start does, to its end.
func Run(t testing.TB, settings []string, words ...string) Result {
	t.Helper()
	return Start(t, settings, words...).result()
}

// RunShell runs lines of bash as Shell does, to their end.
func RunShell(t testing.TB, folder string, settings []string, lines string) Result {
	t.Helper()
	return Shell(t, folder, settings, lines).result()
}

// result waits for the process to end. What to print of it is the caller's choice.
func (p *Process) result() Result {
	p.t.Helper()
	p.AwaitEndOr("its last line", func() bool { return false })
	p.quiet = true
	return Result{Stdout: p.Stdout(), Stderr: p.Log(), Code: p.ExitCode()}
}

// Shell starts lines of bash in that folder, which is the home, with our programs on the
// PATH. A line that fails ends it.
func Shell(t testing.TB, folder string, settings []string, lines string) *Process {
	t.Helper()
	cmd := exec.Command("bash", "-euo", "pipefail", "-c", lines)
	cmd.Dir = folder
	path := "PATH=" + Programs(t) + ":" + os.Getenv("PATH")
	cmd.Env = Environment(folder, append([]string{path}, settings...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // what it starts ends with it
	return StartCommand(t, lines, cmd)
}

// StartCommand starts a command that the test has set up. It keeps stdout and stderr
// where the test has not set them.
func StartCommand(t testing.TB, name string, cmd *exec.Cmd) *Process {
	t.Helper()
	p := &Process{t: t, Name: name, Cmd: cmd, ended: make(chan struct{})}
	if cmd.Stdout == nil {
		cmd.Stdout = &stream{of: &p.output, to: &p.output.stdout}
	}
	if cmd.Stderr == nil {
		cmd.Stderr = &stream{of: &p.output, to: &p.output.stderr}
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		_ = cmd.Wait() // the exit code is for the test to judge
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // fails if it has ended
		if cmd.SysProcAttr != nil && cmd.SysProcAttr.Setpgid {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // the same
		}
		<-p.ended
		if t.Failed() && !p.quiet {
			t.Logf("%s %q: %v\n%s%s", name, cmd.Args[1:], cmd.ProcessState, lastLines(p.Stdout()), lastLines(p.Log()))
		}
	})
	return p
}

// T returns the test that started the process.
func (p *Process) T() testing.TB { return p.t }

// Stdout returns what the process has written to stdout so far.
func (p *Process) Stdout() string { return p.output.text(&p.output.stdout) }

// Log returns what the process has written to stderr so far.
func (p *Process) Log() string { return p.output.text(&p.output.stderr) }

// Lines returns the number of lines of the log that match the pattern.
func (p *Process) Lines(pattern string) int {
	return len(regexp.MustCompile(`(?m)^.*`+pattern+`.*$`).FindAllString(p.Log(), -1))
}

// Field returns a number of the one line of the log with that message; 0 if the line does
// not have the field.
func (p *Process) Field(message, name string) int {
	p.t.Helper()
	lines := regexp.MustCompile(`(?m)^.*"`+message+`.*$`).FindAllString(p.Log(), -1)
	if len(lines) != 1 {
		p.t.Fatalf("%s logged %q %d times, want once", p.Name, message, len(lines))
	}
	match := regexp.MustCompile(`"` + name + `":(\d+)`).FindStringSubmatch(lines[0])
	if match == nil {
		return 0
	}
	n, err := strconv.Atoi(match[1])
	if err != nil {
		p.t.Fatal(err)
	}
	return n
}

// Flag returns the value of a flag that the process was started with.
func (p *Process) Flag(name string) string {
	p.t.Helper()
	at := slices.Index(p.Cmd.Args, name)
	if at < 0 {
		p.t.Fatalf("%q has no %s", p.Cmd.Args, name)
	}
	return p.Cmd.Args[at+1]
}

// Signal sends a signal to the process, which must not have ended.
func (p *Process) Signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.Cmd.Process.Signal(s); err != nil {
		p.t.Fatalf("%v to %s: %v", s, p.Name, err)
	}
}

// Kill ends the process with SIGKILL. It must not have ended by itself.
func (p *Process) Kill() {
	p.t.Helper()
	p.Signal(syscall.SIGKILL)
	p.ExpectExit(-1)
}

// Ended is closed when the process has ended and its output is complete.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// HasEnded reports whether the process has ended.
func (p *Process) HasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// ExitCode returns the exit code of a process that has ended; -1 if a signal ended it.
func (p *Process) ExitCode() int { return p.Cmd.ProcessState.ExitCode() }

// Await waits until the log, or stdout, matches the pattern, and returns the first group.
func (p *Process) Await(pattern string) string {
	p.t.Helper()
	re := regexp.MustCompile(pattern)
	var match []string
	found := func() bool {
		if match = re.FindStringSubmatch(p.Log()); match == nil {
			match = re.FindStringSubmatch(p.Stdout())
		}
		return match != nil
	}
	if !p.AwaitEndOr(pattern, found) {
		p.t.Fatalf("%s has ended without writing %s", p.Name, pattern)
	}
	return match[1]
}

// AwaitEndOr waits until the process has written what the condition wants, or has ended.
// It reports whether the condition holds.
func (p *Process) AwaitEndOr(what string, holds func() bool) bool {
	p.t.Helper()
	stall := stall{p: p, since: time.Now()}
	tick := time.NewTicker(5 * time.Second)
	defer tick.Stop()
	for {
		written := p.output.next()
		if holds() {
			return true
		}
		select {
		case <-written:
		case <-p.ended:
			return holds()
		case <-tick.C:
			if stall.check() {
				p.t.Fatalf("%s makes no progress, and has not written %s", p.Name, what)
			}
		}
	}
}

// ExpectExit waits for the process to end with that exit code, and returns its stdout.
func (p *Process) ExpectExit(code int) string {
	p.t.Helper()
	p.AwaitEndOr("its last line", func() bool { return false })
	if got := p.ExitCode(); got != code {
		p.t.Fatalf("%s: %v, want exit code %d", p.Name, p.Cmd.ProcessState, code)
	}
	return p.Stdout()
}

// ExpectTotal waits for the process to end with exit code 0 and that total on stdout.
func (p *Process) ExpectTotal(total string) {
	p.t.Helper()
	if got := p.ExpectExit(0); got != total+"\n" {
		p.t.Fatalf("%s printed %q, want %s", p.Name, got, total)
	}
}

// stall observes whether a process makes progress.
type stall struct {
	p       *Process
	since   time.Time
	written string
}

var (
	tasksDone    = regexp.MustCompile(`"done":\d+| done=\d+`)
	progressLine = regexp.MustCompile(`(?m)^(.*"message":"(progress|working|idle)".*|.* INF (progress|working|idle) .*|.*no workers connected.*|\{"run":.*)$`)
)

// check reports whether the process has made no progress for testkit.Stall, or the time
// of the test binary is nearly over. A line of progress that repeats the number of tasks
// is no progress.
func (s *stall) check() bool {
	text := s.p.Log() + s.p.Stdout()
	done := tasksDone.FindAllString(text, -1)
	written := strings.Join(done[max(0, len(done)-1):], "") + " " + strconv.Itoa(len(progressLine.ReplaceAllString(text, "")))
	if written != s.written {
		s.written, s.since = written, time.Now()
	}
	if t, ok := s.p.t.(*testing.T); ok {
		if deadline, ok := t.Deadline(); ok && time.Until(deadline) < 15*time.Second {
			return true
		}
	}
	return time.Since(s.since) > testkit.Stall
}

// lastLines returns the last 30 lines, none longer than 500 bytes, without the many in
// which nats-server introduces itself.
func lastLines(text string) string {
	lines := slices.Collect(strings.Lines(text))
	lines = slices.DeleteFunc(lines, func(line string) bool { return strings.Contains(line, " [INF] ") })
	var last strings.Builder
	if omitted := len(lines) - 30; omitted > 0 {
		last.WriteString("(" + strconv.Itoa(omitted) + " lines)\n")
		lines = lines[omitted:]
	}
	for _, line := range lines {
		if len(line) > 500 {
			line = line[:500] + "...\n"
		}
		last.WriteString(line)
	}
	return last.String()
}

// output is what a process has written. It is safe for concurrent use.
type output struct {
	mu             sync.Mutex
	stdout, stderr bytes.Buffer
	written        chan struct{} // closed at the next write; nil while nobody waits
}

// stream is one of the two files of an output.
type stream struct {
	of *output
	to *bytes.Buffer
}

func (s *stream) Write(b []byte) (int, error) {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	if s.of.written != nil {
		close(s.of.written)
		s.of.written = nil
	}
	return s.to.Write(b)
}

func (o *output) text(stream *bytes.Buffer) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return stream.String()
}

// next returns a channel that is closed when more is written.
func (o *output) next() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.written == nil {
		o.written = make(chan struct{})
	}
	return o.written
}
