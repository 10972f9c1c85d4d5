package main_test

import (
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
			if bar := strings.Contains(text, "elapsed") && strings.Contains(text, " left"); moves != c.displays || colors != c.colors || bar && !c.displays {
				t.Errorf("moves the cursor: %v, want %v; has colors: %v, want %v; a bar: %v", moves, c.displays, colors, c.colors, bar)
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
	folder, err := commands()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(folder, "coordinator"),
		append([]string{"count", "--data", t.TempDir(), "--workers", "1", "--kernel", "generic", "--symmetry", "none"}, args...)...)
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "NQUEENS_") || strings.HasPrefix(v, "NO_COLOR=")
	}), append([]string{"TERM=xterm-256color", "LC_ALL=C.UTF-8"}, environment...)...)
	cmd.Stderr = terminal
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

// A coordinator that is killed leaves the cursor visible, and the prompt below the display.
func TestKilledOnATerminal(t *testing.T) {
	t.Parallel()
	emulator, terminal := clitest.Terminal(t, 80, 24)
	folder, err := commands()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(folder, "coordinator"), "count", "19", "--data", t.TempDir(), "--kernel", "generic", "--workers", "1")
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "LC_ALL=C.UTF-8")
	cmd.Stderr = terminal
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
