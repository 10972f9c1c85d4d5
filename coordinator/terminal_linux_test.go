package main_test

import (
	"errors"
	"fmt"
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
	"nqueens/pkg/testkit"
)

// escapes are the control sequences of a terminal; those that end in m set colors.
var escapes = regexp.MustCompile(`\x1b\[[0-9;?]*([A-Za-z])`)

// On a terminal a count shows a live display, and a table when it is complete; stdout has the
// total alone. NO_COLOR removes the colors. Without progress, and on a terminal that can't
// move its cursor, there is the log instead.
func TestCountOnATerminalHasADisplayAndATable(t *testing.T) {
	sample := 2
	if testing.Short() {
		sample = 1
	}
	for _, c := range testkit.Sample(t, sample, []struct {
		name        string
		environment []string
		args        []string
		displays    bool
		colors      bool
	}{
		{name: "default", displays: true, colors: true},
		{name: "no color", environment: []string{"NO_COLOR=1"}, displays: true},
		{name: "no progress", args: []string{"--no-progress"}, colors: true},
		{name: "dumb", environment: []string{"TERM=dumb"}},
		{name: "dumb, colors forced", environment: []string{"TERM=dumb", "CLICOLOR_FORCE=1"}, colors: true},
		{name: "colors never", args: []string{"--color", "never"}, displays: true},
		{name: "no color, but always", environment: []string{"NO_COLOR=1"}, args: []string{"--color", "always"}, displays: true, colors: true},
		{name: "json", args: []string{"--log-format", "json"}},
	}) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			n := 8
			if c.displays {
				n = 15 // it takes long enough to see the worker
			}
			shown, stdout := onTerminal(t, c.environment, append([]string{fmt.Sprint(n), "--depth", "1"}, c.args...)...)
			if stdout != known(n)+"\n" {
				t.Errorf("stdout is %q", stdout)
			}
			sequences := escapes.FindAllStringSubmatch(shown, -1)
			moves := slices.ContainsFunc(sequences, func(s []string) bool { return s[1] != "m" })
			colors := slices.ContainsFunc(sequences, func(s []string) bool { return s[1] == "m" })
			text := escapes.ReplaceAllString(shown, "")
			if bar := strings.Contains(text, " elapsed "); moves != c.displays || colors != c.colors || bar != c.displays {
				t.Errorf("moves the cursor: %v, want %v; has colors: %v, want %v; a bar: %v", moves, c.displays, colors, c.colors, bar)
			}
			if strings.Contains(strings.ReplaceAll(text, "no workers yet", ""), "no workers") || strings.Contains(text, "1 worker ·") != c.displays {
				t.Errorf("the worker is not shown: %q", text)
			}
			if table := strings.Contains(text, "checks it again"); table != c.displays || strings.Contains(text, fmt.Sprintf("solutions for n = %d", n)) == c.displays {
				t.Errorf("a table is there: %v, want %v; shown is %q", table, c.displays, text)
			}
		})
	}
}

// onTerminal counts with stderr on a terminal, and returns what the terminal was sent, and
// stdout.
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

// countOn returns the command of a slow count with stderr on a terminal.
func countOn(t *testing.T, terminal *os.File, data string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(clitest.Programs(t), "coordinator"),
		append([]string{"count", "--data", data, "--workers", "1", "--kernel", "generic", "--symmetry", "none"}, args...)...)
	cmd.Env = clitest.Environment(data, "TERM=xterm-256color", "LC_ALL=C.UTF-8", "NQUEENS_LOG_FORMAT=auto")
	cmd.Stderr = terminal
	return cmd
}

// A terminal that is stopped with Ctrl-S does not hold up the count: the total is on stdout,
// and the run is complete.
func TestCountOnAStoppedTerminalEnds(t *testing.T) {
	long(t)
	emulator, terminal := clitest.Terminal(t, 80, 24)
	address, data := testkit.Address(t), t.TempDir()
	// It can't end before the terminal is stopped: it has no workers.
	count := clitest.StartCommand(t, "coordinator", countOn(t, terminal, data, "12", "--workers", "0", "--listen", address))
	buffer := make([]byte, 1<<12)
	for shown := ""; !strings.Contains(shown, "elapsed"); { // the display is drawn; before it come lines of the log
		n, err := readSome(t, emulator, buffer)
		if err != nil {
			t.Fatal(err)
		}
		shown += string(buffer[:n])
	}
	if err := unix.IoctlSetInt(int(terminal.Fd()), unix.TCXONC, unix.TCOOFF); err != nil {
		t.Fatal(err)
	}
	startWorker(t, "nats://"+address, "--kernel", "auto")
	count.ExpectTotal(known(12))
	if listed := coordinator(t, "runs", "--data", data); !strings.Contains(listed, " complete ") {
		t.Errorf("the run is not complete:\n%s", listed)
	}
}

// readSome reads what a terminal is sent, and returns the length and the error. A terminal
// that is sent nothing fails the test.
func readSome(t *testing.T, emulator *os.File, buffer []byte) (int, error) {
	t.Helper()
	if err := emulator.SetReadDeadline(time.Now().Add(testkit.Stall)); err != nil {
		t.Fatal(err)
	}
	n, err := emulator.Read(buffer)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("the terminal was sent nothing for %v", testkit.Stall)
	}
	return n, err
}

// A coordinator that is killed leaves the cursor visible and below the display.
func TestKilledCountLeavesTheCursorVisible(t *testing.T) {
	long(t)
	emulator, terminal := clitest.Terminal(t, 80, 24)
	cmd := countOn(t, terminal, t.TempDir(), "19")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = terminal.Close() // the process has its own
	var all strings.Builder
	buffer := make([]byte, 1<<12)
	for killed := false; ; {
		n, err := readSome(t, emulator, buffer)
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

// The table of a count lists the placed queens: its total is not that of the whole board.
func TestTableListsPlacedQueens(t *testing.T) {
	t.Parallel()
	shown, stdout := onTerminal(t, nil, "8", "--place", "0,3", "--place", "h5")
	row := regexp.MustCompile(`(?m)^placed +2 +beforehand, on 0,3 3,7\r?$`)
	if text := escapes.ReplaceAllString(shown, ""); stdout != "5\n" || !row.MatchString(text) {
		t.Errorf("stdout is %q, and shown is %q", stdout, text)
	}
}
