//go:build unix

package main

import (
	"io"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"nqueens/pkg/cli/clitest"
)

// The first line of a worker names the boards that its kernel was checked with. SIGINT ends
// a worker that has no server.
func TestFirstLogLineNamesTheKernelCheck(t *testing.T) {
	t.Parallel()
	worker := clitest.Start(t, nil, "worker", "--nats", "nats://127.0.0.1:1", "--kernel", "generic", "--log-format", "json")
	line := worker.Await(`(?m)^(.*"worker starts".*)$`)
	if !strings.Contains(line, `"kernel":"generic"`) || !strings.Contains(line, `"checked":"n=1..12"`) {
		t.Errorf("the first line is %s", line)
	}
	worker.Signal(syscall.SIGINT)
	worker.ExpectExit(0)
}

// SIGINT ends a recount that waits for input, after the report of what it has read.
func TestSignalEndsARecountThatWaitsForInput(t *testing.T) {
	t.Parallel()
	const task = `{"run":"n4-a","task":0,"hash":"d21dccc0c06e3329","weight":1,"allow":[15,15,15,15],"prefixes":[[0,0,0,0]]}`
	cmd := exec.Command("worker", "task", "--kernel", "generic", "--threads", "1")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	recount := clitest.StartCommand(t, "worker", cmd)
	if _, err := io.WriteString(stdin, task+"\n"); err != nil {
		t.Fatal(err)
	}
	recount.Await(`^(\{"task":0,"count":"2",.*\n)`)
	recount.Signal(syscall.SIGINT)
	recount.ExpectExit(128 + int(syscall.SIGINT))
	_ = stdin.Close() // Wait closes it too
}
