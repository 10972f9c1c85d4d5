//go:build faults

package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"nqueens/pkg/ledger"
	"nqueens/pkg/runs"
	"nqueens/pkg/testkit"
)

// lab is a folder with processes of the real commands. Each of them can be killed and paused.
type lab struct {
	testing.TB
	dir, programs string
	data          string // the folder with the run under test
	begun         time.Time
	processes     []*process
}

// process is a process of a lab. Its output goes to files.
type process struct {
	*exec.Cmd
	lab      *lab
	out, err string
	ended    chan struct{}
}

// buildPrograms builds the commands, a worker that lies and a nats-server into a folder.
func buildPrograms(t testing.TB) (folder string) {
	folder = t.TempDir()
	build := exec.Command("go", "build", "-o", folder+"/", ".", "../worker", "../pkg/testkit/liar",
		"github.com/nats-io/nats-server/v2")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", build, err, out)
	}
	return folder
}

func newLab(t testing.TB, programs string) *lab {
	l := &lab{TB: t, begun: time.Now(), dir: t.TempDir(), programs: programs}
	l.data = filepath.Join(l.dir, "nqueens")
	t.Cleanup(func() {
		for _, p := range l.processes {
			if t.Failed() {
				l.Logf("%s %v\n%s", filepath.Base(p.Path), p.Args[1:], tail(p.err))
			}
			p.kill()
		}
	})
	return l
}

func tail(path string) []byte {
	text, _ := os.ReadFile(path)
	return text[max(0, len(text)-3000):]
}

// start starts a program with its state in the lab's folder.
func (l *lab) start(program string, args ...string) *process {
	l.Helper()
	base := filepath.Join(l.dir, fmt.Sprint(len(l.processes), program))
	p := &process{
		Cmd: exec.Command(filepath.Join(l.programs, program), args...), lab: l, out: base + ".out",
		err:   base + ".err",
		ended: make(chan struct{}),
	}
	p.Env = append(os.Environ(), "XDG_STATE_HOME="+l.dir, "NQUEENS_LOG_FORMAT=json",
		"GORACE=atexit_sleep_ms=0 halt_on_error=1")
	p.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err1 := os.Create(p.out)
	log, err2 := os.Create(p.err)
	p.Stdout, p.Stderr = out, log
	if err := cmp.Or(err1, err2, p.Start()); err != nil {
		l.Fatal(err)
	}
	l.processes = append(l.processes, p)
	go func() {
		_ = p.Wait() // ProcessState has the exit code
		_, _ = out.Close(), log.Close()
		close(p.ended)
	}()
	return p
}

// worker starts a worker with one slow thread on the named machine.
func (l *lab) worker(machine string, args ...string) *process {
	l.Helper()
	return l.start("worker",
		append(args, "--machine", machine, "--threads", "1", "--kernel", "generic")...)
}

// server starts a nats-server and waits until it is ready.
func (l *lab) server(address string, args ...string) *process {
	l.Helper()
	port := address[strings.LastIndex(address, ":")+1:]
	p := l.start("nats-server", append(args, "-a", "127.0.0.1", "-p", port)...)
	p.says("Server is ready")
	return p
}

// nats returns an address for a nats-server, and the flags to connect to this server.
func (l *lab) nats() (address string, flags []string) {
	address = testkit.Address(l)
	return address, []string{"--nats", "nats://" + address}
}

func (p *process) signal(signal syscall.Signal) {
	if err := p.Process.Signal(signal); err != nil {
		p.lab.Fatalf("signal %v to %v: %v", signal, p.Args, err)
	}
}

// kill kills the process, if it still runs.
func (p *process) kill() {
	_ = p.Process.Kill() // it may have ended
	<-p.ended
}

func (p *process) gone() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// exits waits until the process exits with this code, and returns its output.
func (p *process) exits(code int) string {
	p.lab.Helper()
	p.lab.await(fmt.Sprintf("end of %v", p.Args), p.gone)
	out, err := os.ReadFile(p.out)
	if got := p.ProcessState.ExitCode(); got != code || err != nil {
		p.lab.Fatalf("%v: exit code %d, want %d; %v\n%s", p.Args, got, code, err, tail(p.err))
	}
	return string(out)
}

// prints waits until a count succeeds, and compares its output with the total.
func (p *process) prints(total string) {
	p.lab.Helper()
	if out := p.exits(0); out != total+"\n" {
		p.lab.Errorf("%v prints %q, want %s", p.Args, out, total)
	}
}

// log returns what the process has logged.
func (p *process) log() string {
	text, err := os.ReadFile(p.err)
	if err != nil {
		p.lab.Fatal(err)
	}
	return string(text)
}

// says waits until the process has logged a text.
func (p *process) says(text string) {
	p.lab.Helper()
	p.lab.await(fmt.Sprintf("%q in the log of %v", text, p.Args), func() bool {
		return strings.Contains(p.log(), text)
	})
}

// await waits until a condition is true. It fails if no task has been done for five minutes,
// because the run seems to hang.
func (l *lab) await(what string, condition func() bool) {
	l.Helper()
	const most = 5 * time.Minute
	done, limit := uint64(0), time.Now().Add(most)
	for ; !condition(); time.Sleep(20 * time.Millisecond) {
		if !time.Now().After(limit) {
			continue
		}
		state := l.load()
		if state == nil || state.NumberDone() == done {
			l.Fatalf("no %s, and no task was done for %v", what, most)
		}
		done, limit = state.NumberDone(), time.Now().Add(most)
	}
}

// load returns the state of the run from its ledger, or nil if there is no ledger that can be read.
func (l *lab) load() *ledger.State {
	store, err := runs.NewStore(l.data)
	if err != nil {
		l.Fatal(err)
	}
	logs, _ := filepath.Glob(store.Ledger("n*")) // the pattern is right
	if len(logs) == 0 {
		return nil
	}
	state, _, err := store.Load(filepath.Base(filepath.Dir(logs[0])))
	if err != nil { // the run is just beginning
		return nil
	}
	return state
}

// run waits until there is a run, and returns its state.
func (l *lab) run() (state *ledger.State) {
	l.Helper()
	l.await("run", func() bool { state = l.load(); return state != nil })
	return state
}

// progress waits until the given number of further tasks is done. It fails if the count ends before
// that.
func (l *lab) progress(count *process, tasks uint64) {
	l.Helper()
	before := l.run().NumberDone()
	l.await("progress", func() bool { return count.gone() || l.run().NumberDone() >= before+tasks })
	if count.gone() {
		l.Fatalf("the count has ended: %v %s", count.Args, bytes.TrimSpace(tail(count.err)))
	}
}
