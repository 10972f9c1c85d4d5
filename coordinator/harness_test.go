//go:build unix

package main_test

import (
	"bytes"
	"context"
	"fmt"
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

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"nqueens/pkg/bus"
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
	p := &process{t: t, name: name, ended: make(chan struct{})}
	p.cmd = exec.Command(filepath.Join(folder, name), args...)
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
			t.Logf("%s %q: %v\n%s%s", name, args, p.cmd.ProcessState, p.stdout.Bytes(), p.log.text())
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

// view is what NATS's own client sees of a server.
type view struct {
	t  *testing.T
	js jetstream.JetStream
}

func inspect(t *testing.T, url string) view {
	t.Helper()
	conn, err := nats.Connect(url, nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	return view{t: t, js: js}
}

// tasks returns the number of tasks that wait for a worker, and of those that
// workers hold; negative numbers where the server does not say.
func (v view) tasks() (waiting, held int) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	consumer, err := v.js.Consumer(ctx, "NQ_TASKS", "workers")
	if err != nil {
		return -1, -1
	}
	info := consumer.CachedInfo()
	return int(info.NumPending), info.NumAckPending
}

// messages returns the number of messages on a subject of a stream, or -1.
func (v view) messages(stream, subject string) int {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	s, err := v.js.Stream(ctx, stream)
	if err != nil {
		return -1
	}
	info, err := s.Info(ctx, jetstream.WithSubjectFilter(subject))
	if err != nil {
		return -1
	}
	sum := 0
	for _, n := range info.State.Subjects {
		sum += int(n)
	}
	return sum
}

// results returns the number of results on the server, of all runs.
func (v view) results() int { return v.messages("NQ_RESULTS", ">") }

// startFrozen starts the first worker of a run of so many tasks, and stops it with
// SIGSTOP in the middle of one. It returns the number of tasks that the worker has
// taken and not reported: when it goes on, it will report the first of them.
func (v view) startFrozen(url string, tasks int) (worker *process, unreported int) {
	v.t.Helper()
	v.eventually("all tasks are published", func() bool { waiting, _ := v.tasks(); return waiting == tasks })
	worker = startWorker(v.t, url)
	taken := func() int {
		waiting, _ := v.tasks()
		results := v.results()
		if waiting < 0 || results < 0 {
			return 0
		}
		return tasks - waiting - results
	}
	for {
		// It asks for the second when it has the first.
		v.eventually("the worker has taken two tasks", func() bool { return taken() >= 2 })
		worker.signal(syscall.SIGSTOP)
		// What it said last may still be on its way.
		const quiet = 300 * time.Millisecond
		unreported = taken()
		for since := time.Now(); time.Since(since) < quiet; time.Sleep(quiet / 20) {
			if now := taken(); now != unreported {
				unreported, since = now, time.Now()
			}
		}
		if unreported >= 2 {
			return worker, unreported
		}
		if waiting, _ := v.tasks(); waiting == 0 {
			v.t.Fatal("the worker was too fast to be stopped in the middle of a task")
		}
		worker.signal(syscall.SIGCONT)
	}
}

// eventually waits until a condition of the server holds: it tells of no changes.
func (v view) eventually(what string, condition func() bool) {
	v.t.Helper()
	for deadline := time.Now().Add(patience); !condition(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			waiting, held := v.tasks()
			v.t.Fatalf("not within %v: %s (%d tasks wait, %d are held)", patience, what, waiting, held)
		}
	}
}

// join connects this process to a cluster's server, to play a worker.
func join(t *testing.T, url string) *bus.Bus {
	t.Helper()
	b, err := bus.Connect(bus.Config{URL: url, Name: "test", Lease: bus.DefaultLease, Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// brake takes one task and holds it, so that the run can't end before release is
// called, which hands it back.
func brake(t *testing.T, b *bus.Bus) (release func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	_, lease, err := b.Queue().Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	held, stop := context.WithCancel(t.Context())
	var holding sync.WaitGroup
	holding.Go(func() {
		tick := time.NewTicker(bus.DefaultLease / 4)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				_ = lease.Extend() // fails while the server is away: the next one may do
			case <-held.Done():
				return
			}
		}
	})
	return func() {
		t.Helper()
		stop()
		holding.Wait()
		if err := lease.Return(); err != nil {
			t.Fatal(err)
		}
	}
}
