//go:build unix

package main_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience bounds each wait for what must happen. It is long, for busy machines
// and the race detector: where nothing is wrong nobody waits for its end.
const patience = time.Minute

// server is an outside nats-server.
type server struct {
	*process
	url string
}

// startServer starts a nats-server with a store of its own on a free port.
func startServer(t *testing.T, args ...string) server {
	t.Helper()
	return startServerAt(t, "127.0.0.1:-1", t.TempDir(), args...)
}

// startServerAt starts a nats-server at that address, with that store.
func startServerAt(t *testing.T, address, store string, args ...string) server {
	t.Helper()
	host, port, _ := strings.Cut(address, ":")
	p := start(t, "nats-server", append(args, "-js", "-sd", store, "-a", host, "-p", port)...)
	url := "nats://" + p.await(`Listening for client connections on (\S+)`)
	p.await(`(Server is ready)`)
	return server{process: p, url: url}
}

// freeAddress returns an address of this machine on which nobody listens. It is out of
// the range from which connections get theirs, so that nobody takes it meanwhile: a
// server that is killed can come back to it.
func freeAddress(t *testing.T) string {
	t.Helper()
	for range 100 {
		address := fmt.Sprintf("127.0.0.1:%d", 20000+rand.IntN(10000))
		listener, err := net.Listen("tcp", address)
		if err != nil {
			continue
		}
		if err := listener.Close(); err != nil {
			t.Fatal(err)
		}
		return address
	}
	t.Fatal("found no free port from 20000 to 29999")
	return ""
}

// startCluster starts a coordinator that lets workers in and has none of its own.
func startCluster(t *testing.T, args ...string) (coordinator *process, url string) {
	t.Helper()
	coordinator = startCount(t, append(args, "--workers", "0", "--listen", "127.0.0.1:0")...)
	return coordinator, coordinator.await(`"server":"(nats://[^"]+)".*"counting"`)
}

// startCount starts a coordinator that counts.
func startCount(t *testing.T, args ...string) *process {
	t.Helper()
	return start(t, "coordinator", append([]string{"count", "--data", t.TempDir()}, args...)...)
}

// startWorker starts a worker of one thread, where the arguments say no other.
func startWorker(t *testing.T, url string, args ...string) *process {
	t.Helper()
	return start(t, "worker", append([]string{"--nats", url, "--threads", "1"}, args...)...)
}

// process is a command that a test has started. It ends with the test at the latest.
type process struct {
	t      *testing.T
	name   string
	cmd    *exec.Cmd
	stdout bytes.Buffer // complete when ended is closed
	log    transcript   // stderr
	ended  chan struct{}
}

func start(t *testing.T, name string, args ...string) *process {
	t.Helper()
	folder, err := commands()
	if err != nil {
		t.Fatal(err)
	}
	return startCommand(t, name, exec.Command(filepath.Join(folder, name), args...))
}

// startCommand starts a command that is called so in what the test says.
func startCommand(t *testing.T, name string, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{t: t, name: name, cmd: cmd, ended: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.log
	p.cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "NQUEENS_") })
	// The slow road, on any machine, so that there is time to strike.
	p.cmd.Env = append(p.cmd.Env, "NQUEENS_SYMMETRY=mirror", "NQUEENS_KERNEL=generic")
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait() // the exit code is for the test to judge
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // fails where it has ended: as well
		<-p.ended
		if t.Failed() {
			t.Logf("%s %q: %v\n%s%s", name, cmd.Args[1:], p.cmd.ProcessState, p.stdout.Bytes(), p.log.text())
		}
	})
	return p
}

// commands returns the folder of the commands: that where TestMain has put this
// test binary as coordinator, and which is removed in the end. The others are built
// into it, once: worker as this test binary is, with or without the race detector.
var commands = sync.OnceValues(func() (string, error) {
	coordinator, err := exec.LookPath("coordinator")
	if err != nil {
		return "", err
	}
	// Reading the folder makes its files inputs of this test: go test runs it again
	// when they change.
	if _, err := os.ReadDir("../worker"); err != nil {
		return "", err
	}
	folder := filepath.Dir(coordinator)
	for _, build := range [][]string{
		{"build", "-race=" + fmt.Sprint(raceDetector()), "-o", folder, "nqueens/worker"},
		{"build", "-o", folder, "github.com/nats-io/nats-server/v2"},
	} {
		if out, err := exec.Command("go", build...).CombinedOutput(); err != nil {
			return "", fmt.Errorf("go %s: %w\n%s", strings.Join(build, " "), err, out)
		}
	}
	return folder, nil
})

// raceDetector reports whether this test binary was built with it.
func raceDetector() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// data returns the folder of the runs of a coordinator.
func (p *process) data() string {
	p.t.Helper()
	at := slices.Index(p.cmd.Args, "--data")
	if at < 0 {
		p.t.Fatalf("%q has no --data", p.cmd.Args)
	}
	return p.cmd.Args[at+1]
}

func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatalf("%v to %s: %v", s, p.name, err)
	}
}

// kill ends the process with SIGKILL, and checks that it had not ended by itself.
func (p *process) kill() {
	p.t.Helper()
	p.signal(syscall.SIGKILL)
	p.expectEnd(-1)
}

// await waits until the log matches the pattern and returns its first group.
func (p *process) await(pattern string) string {
	p.t.Helper()
	re, deadline := regexp.MustCompile(pattern), time.After(patience)
	for {
		grown := p.log.grown()
		if match := re.FindStringSubmatch(p.log.text()); match != nil {
			return match[1]
		}
		select {
		case <-grown:
		case <-p.ended:
			if !re.MatchString(p.log.text()) {
				p.t.Fatalf("%s has ended without logging %s", p.name, pattern)
			}
		case <-deadline:
			p.t.Fatalf("%s did not log %s within %v", p.name, pattern, patience)
		}
	}
}

// lines returns the number of lines of the log that match the pattern.
func (p *process) lines(pattern string) int {
	return len(regexp.MustCompile(`(?m)^.*`+pattern+`.*$`).FindAllString(p.log.text(), -1))
}

// expectEnd waits for the process to end, with that exit code, and returns its stdout.
func (p *process) expectEnd(code int) string {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.t.Fatalf("%s has not ended after %v", p.name, patience)
	}
	if got := p.cmd.ProcessState.ExitCode(); got != code {
		p.t.Fatalf("%s: %v, want exit code %d", p.name, p.cmd.ProcessState, code)
	}
	return p.stdout.String()
}

// expectTotal waits for a coordinator to end with that total.
func (p *process) expectTotal(total string) {
	p.t.Helper()
	if got := p.expectEnd(0); got != total+"\n" {
		p.t.Fatalf("%s printed %q, want %s", p.name, got, total)
	}
}

// transcript keeps what a process writes, for those who wait for it to grow. It is
// safe for concurrent use.
type transcript struct {
	mu      sync.Mutex
	written []byte
	next    chan struct{} // closed at the next write; nil while nobody waits
}

func (s *transcript) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.written = append(s.written, b...)
	if s.next != nil {
		close(s.next)
		s.next = nil
	}
	return len(b), nil
}

func (s *transcript) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.written)
}

// grown returns a channel that is closed when more is written.
func (s *transcript) grown() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == nil {
		s.next = make(chan struct{})
	}
	return s.next
}
