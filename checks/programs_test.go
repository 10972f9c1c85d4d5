// Package checks tests how the programs are deployed: the manifests of Kubernetes with Kubernetes'
// own types, the units of systemd, the script for Slurm, the files that coordinator keys writes
// with a real nats-server, and the live page in a real browser. It checks the types of the programs
// on other systems. With the build tag cluster it also tests Dockerfile and docker-compose.yml with
// Docker. The tests run the commands as a person does.
package checks

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// bin is the temporary folder into which TestMain builds the programs.
var bin string

func TestMain(m *testing.M) {
	var err error
	if bin, err = os.MkdirTemp("", "nqueens"); err == nil {
		build := exec.Command("go", "build", "-o", bin+"/", "./coordinator", "./worker",
			"github.com/nats-io/nats-server/v2")
		build.Dir, build.Env, build.Stderr = "..", append(os.Environ(), "CGO_ENABLED=0"), os.Stderr
		err = build.Run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "building the programs:", err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(bin)
	os.Exit(code)
}

// patience is how long a test waits for an event before it fails. It is long because the machine
// may be busy; a test that passes waits less.
const patience = 3 * time.Minute

// eventually polls a condition until it is true. Use it only for conditions that send no event.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// command returns a command that runs a program with the given state folder, and without the
// variables that a person may have set for the programs.
func command(t *testing.T, state, program string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(filepath.Join(bin, program), args...)
	cmd.Env = append(without(os.Environ()), "XDG_STATE_HOME="+state, "NQUEENS_KERNEL=generic")
	return cmd
}

// without returns an environment, except the variables that a person may have set for the programs
// and for Compose.
func without(environment []string) (rest []string) {
	for _, variable := range environment {
		name, _, _ := strings.Cut(variable, "=")
		ours := strings.HasPrefix(name, "NQUEENS_") || strings.HasPrefix(name, "COMPOSE_")
		if !ours && !slices.Contains([]string{"N", "WORKERS", "PAGE", "LINGER", "NATS", "UID"}, name) {
			rest = append(rest, variable)
		}
	}
	return rest
}

// output runs a command, which must succeed, and returns its stdout.
func output(t *testing.T, program string, args ...string) string {
	t.Helper()
	out, err := command(t, t.TempDir(), program, args...).Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Logf("%s", exit.Stderr)
		}
		t.Fatalf("%s %q: %v", program, args, err)
	}
	return string(out)
}

// process is a running program. The end of the test kills it.
type process struct {
	t    *testing.T
	cmd  *exec.Cmd
	done chan error // the result of cmd.Wait

	mu    sync.Mutex
	lines []string // lines of stdout and stderr
}

// start starts a command.
func start(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{t: t, cmd: cmd, done: make(chan error, 1)}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = write, write
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = write.Close()
	go func() {
		for lines := bufio.NewScanner(read); lines.Scan(); {
			p.mu.Lock()
			p.lines = append(p.lines, lines.Text())
			p.mu.Unlock()
		}
		p.done <- cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // fails if the process has ended
		if t.Failed() {
			t.Logf("%s:\n%s", strings.Join(cmd.Args, " "), p.output())
		}
	})
	return p
}

func (p *process) output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.lines, "\n")
}

// awaits waits until the process has written a text.
func (p *process) awaits(text string) {
	p.t.Helper()
	eventually(p.t, filepath.Base(p.cmd.Path)+" writes "+text, func() bool {
		return strings.Contains(p.output(), text)
	})
}

func (p *process) signal(signal syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(signal); err != nil {
		p.t.Fatal(err)
	}
}

// ends waits until the process succeeds, and returns the last line that it has written.
func (p *process) ends() string {
	p.t.Helper()
	select {
	case err := <-p.done:
		if err != nil {
			p.t.Fatalf("%s: %v", p.cmd.Path, err)
		}
	case <-time.After(patience):
		p.t.Fatalf("%s has not ended within %v", p.cmd.Path, patience)
	}
	lines := strings.Split(p.output(), "\n")
	return lines[len(lines)-1]
}
