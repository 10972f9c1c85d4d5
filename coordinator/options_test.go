//go:build unix

package main_test

import (
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"nqueens/pkg/cli/clitest"
	"nqueens/pkg/testkit"
)

// resumeHint stops a coordinator and returns the command that it logs.
func resumeHint(t *testing.T, coordinator *clitest.Process) string {
	t.Helper()
	coordinator.Signal(syscall.SIGINT)
	coordinator.ExpectExit(130)
	text, err := strconv.Unquote(coordinator.Await(`"message":("to resume the run: [^\n]*")\}`))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(text, "to resume the run: ")
}

// The hint, typed into a shell as it is, resumes the run with the flags with which it was started,
// whatever the shell makes of the names in it. resume without these flags takes them from the run, also after
// one with a server that can't be reached.
func TestTypedHintResumesTheRun(t *testing.T) {
	long(t)
	data := filepath.Join(t.TempDir(), "it's $HOME; a folder")
	const flags = "--workers 0 --kernel generic --priority low --http 127.0.0.1:0 --listen 127.0.0.1:0"
	args := []string{"count", "12", "--depth", "2", "--spot-check", "0%", "--data", data}
	first := clitest.Start(t, nil, append(append([]string{"coordinator"}, args...), strings.Fields(flags)...)...)
	run := first.Await(counting)
	hint := resumeHint(t, first)
	if want := " resume " + run + ` --data '` + strings.ReplaceAll(data, "'", `'\''`) + "'"; !strings.HasSuffix(hint, want) {
		t.Fatalf("the hint is %s, want it to end with %s", hint, want)
	}

	part := run[:len(run)-2]
	if r := clitest.Run(t, nil, "coordinator", "resume", part, "--data", data, "--nats", "nats://"+testkit.Address(t)); r.Code != 5 {
		t.Errorf("resume without a server: exit %d, %s", r.Code, r.Stderr)
	}
	second := clitest.Shell(t, t.TempDir(), []string{"data=" + data}, `exec coordinator resume `+part+` --data "$data"`)
	second.Await(`"message":("the run was started with, and resumes with: ` + flags + `")`)
	second.Await(`"server":"(nats://[^"]+)".*"counting"`)
	hint = resumeHint(t, second)

	third := clitest.Shell(t, t.TempDir(), nil, hint)
	clitest.Start(t, nil, "worker", "--threads", "1", "--nats", third.Await(`"server":"(nats://[^"]+)".*"counting"`))
	third.ExpectTotal(known(12))
	if left, err := filepath.Glob(filepath.Join(data, run, "*")); err != nil || len(left) != 1 {
		t.Errorf("the complete run leaves %q (%v), want its ledger alone", left, err)
	}
}
