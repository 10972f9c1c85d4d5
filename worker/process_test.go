//go:build unix

package main

import (
	"bufio"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// A worker says in its first line which boards it has counted to check its kernel, and
// leaves when it is told to, also where there is no server.
func TestRunSaysWhatItChecked(t *testing.T) {
	worker := exec.CommandContext(t.Context(), "worker", "--nats", "nats://127.0.0.1:1", "--kernel", "generic", "--log-format", "json")
	stderr, err := worker.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := worker.Start(); err != nil {
		t.Fatal(err)
	}
	var said string
	for lines := bufio.NewScanner(stderr); said == "" && lines.Scan(); {
		if strings.Contains(lines.Text(), `"worker starts"`) {
			said = lines.Text()
		}
	}
	if !strings.Contains(said, `"kernel":"generic"`) || !strings.Contains(said, `"checked":"n=1..12"`) {
		t.Errorf("it starts with the line %s", said)
	}
	endsWith(t, worker, stderr, 0)
}

// A recount that waits for input ends with its signal.
func TestTaskEndsWithASignal(t *testing.T) {
	worker := exec.CommandContext(t.Context(), "worker", "task", "--kernel", "generic", "--threads", "1")
	stdin, err := worker.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stdin.Close() }()
	stdout, err := worker.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := worker.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(stdin, exported(t, 7, nil)); err != nil {
		t.Fatal(err)
	}
	report := bufio.NewReader(stdout)
	if line, err := report.ReadString('\n'); err != nil || !strings.HasPrefix(line, `{"task":7,"count":"2",`) {
		t.Errorf("it reports %q (error %v)", line, err)
	}
	endsWith(t, worker, report, 128+int(syscall.SIGINT))
}

// endsWith interrupts a command, reads what is left of its output, and wants that exit
// code.
func endsWith(t *testing.T, command *exec.Cmd, output io.Reader, code int) {
	t.Helper()
	if err := command.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	left, err := io.ReadAll(output)
	if err != nil {
		t.Error(err)
	}
	_ = command.Wait() // the exit code tells
	if got := command.ProcessState.ExitCode(); got != code {
		t.Errorf("it ends with exit code %d, want %d, and says\n%s", got, code, left)
	}
}
