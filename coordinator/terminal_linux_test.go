package main_test

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nqueens/pkg/cli/clitest"
)

// escapes are the control sequences of a terminal; those that end in m set colors.
var escapes = regexp.MustCompile(`\x1b\[[0-9;?]*([A-Za-z])`)

// On a terminal a count shows a display while it goes and a table when it is complete, and
// on stdout the total alone. Without colors there are none; where no progress is wanted,
// or the terminal can't move its cursor, there is the log as anywhere.
func TestCountOnATerminal(t *testing.T) {
	for name, c := range map[string]struct {
		environment []string
		args        []string
		displays    bool
		colors      bool
	}{
		"as it is":    {displays: true, colors: true},
		"no color":    {environment: []string{"NO_COLOR=1"}, displays: true},
		"no progress": {args: []string{"--no-progress"}, colors: true},
		"dumb":        {environment: []string{"TERM=dumb", "NO_COLOR=1"}},
		"json":        {args: []string{"--log-format", "json"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shown, stdout := onTerminal(t, c.environment, append([]string{"15", "--depth", "1"}, c.args...)...)
			if stdout != known(15)+"\n" {
				t.Errorf("stdout is %q", stdout)
			}
			sequences := escapes.FindAllStringSubmatch(shown, -1)
			moves := slices.ContainsFunc(sequences, func(s []string) bool { return s[1] != "m" })
			colors := slices.ContainsFunc(sequences, func(s []string) bool { return s[1] == "m" })
			text := escapes.ReplaceAllString(shown, "")
			if bar := strings.Contains(text, " elapsed "); moves != c.displays || colors != c.colors || bar != c.displays {
				t.Errorf("moves the cursor: %v, want %v; has colors: %v, want %v; a bar: %v", moves, c.displays, colors, c.colors, bar)
			}
			if strings.Contains(text, "no workers") || strings.Contains(text, "1 worker ·") != c.displays {
				t.Errorf("the worker is not shown: %q", text)
			}
			if table := strings.Contains(text, "is the published total"); table != c.displays || strings.Contains(text, "run ended") == c.displays {
				t.Errorf("a table is there: %v, want %v; shown is %q", table, c.displays, text)
			}
		})
	}
}

// onTerminal counts with stderr on a terminal, and returns what that was sent, and stdout.
func onTerminal(t *testing.T, environment []string, args ...string) (shown, stdout string) {
	t.Helper()
	emulator, terminal := clitest.Terminal(t, 80, 24)
	cmd := countOn(t, terminal, t.TempDir(), args...)
	cmd.Env = append(cmd.Env, environment...)
	var all strings.Builder
	var reader sync.WaitGroup
	reader.Go(func() { _, _ = io.Copy(&all, emulator) }) // ends with EIO when the process's end is closed
	out, err := cmd.Output()
	_ = terminal.Close() // the process has its own
	reader.Wait()
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, all.String())
	}
	return all.String(), string(out)
}

// countOn returns a slow count whose stderr is a terminal.
func countOn(t *testing.T, terminal *os.File, data string, args ...string) *exec.Cmd {
	t.Helper()
	folder, err := commands()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(folder, "coordinator"),
		append([]string{"count", "--data", data, "--workers", "1", "--kernel", "generic", "--symmetry", "none"}, args...)...)
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "NQUEENS_") || strings.HasPrefix(v, "NO_COLOR=")
	}), "TERM=xterm-256color", "LC_ALL=C.UTF-8")
	cmd.Stderr = terminal
	return cmd
}

// A person has stopped the terminal with Ctrl-S and gone: the count ends all the same, its
// total is on stdout, and the run is complete.
func TestCountOnAStoppedTerminal(t *testing.T) {
	t.Parallel()
	emulator, terminal := clitest.Terminal(t, 80, 24)
	data := t.TempDir()
	cmd := countOn(t, terminal, data, "15", "--depth", "1")
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	seen := make([]byte, 1<<12)
	if _, err := emulator.Read(seen); err != nil { // it counts
		t.Fatal(err)
	}
	if err := unix.IoctlSetInt(int(terminal.Fd()), unix.TCXONC, unix.TCOOFF); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		if err != nil || stdout.String() != known(15)+"\n" {
			t.Errorf("stdout is %q, error %v", stdout.String(), err)
		}
	case <-time.After(patience):
		_ = cmd.Process.Kill() // fails where it has ended: as well
		t.Errorf("the count waits for its terminal, until it is killed: %v", <-ended)
	}
	if listed := coordinator(t, "runs", "--data", data); !strings.Contains(listed, " complete ") {
		t.Errorf("the run is not complete:\n%s", listed)
	}
}

// A coordinator that is killed leaves the cursor visible, and the prompt below the display.
func TestKilledOnATerminal(t *testing.T) {
	t.Parallel()
	emulator, terminal := clitest.Terminal(t, 80, 24)
	cmd := countOn(t, terminal, t.TempDir(), "19")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = terminal.Close() // the process has its own
	var all strings.Builder
	buffer := make([]byte, 1<<12)
	for killed := false; ; {
		n, err := emulator.Read(buffer)
		all.Write(buffer[:n])
		if err != nil {
			break
		}
		if !killed && strings.Count(escapes.ReplaceAllString(all.String(), ""), "elapsed") >= 3 {
			killed = true
			if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
				t.Error(err)
			}
		}
	}
	_ = cmd.Wait() // it was killed
	if sent := all.String(); strings.Contains(sent, "\x1b[?25l") || !strings.HasSuffix(escapes.ReplaceAllString(sent, ""), "\n") {
		t.Errorf("the terminal was sent %q last", sent[max(0, len(sent)-200):])
	}
}
