//go:build unix

package main_test

import (
	"context"
	"net"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"nqueens/pkg/bus"
	"nqueens/pkg/cli/clitest"
	"nqueens/pkg/run"
	"nqueens/pkg/testkit"
)

// cuts are the two ways in which a connection is cut: it is closed, or silent.
var cuts = []struct {
	name string
	cut  func(*proxy) (heal func())
}{
	{"closed", (*proxy).block},
	{"silent", (*proxy).pause},
}

// workerCuts are the two ways in which a worker can't report, and continues its search: its
// connection is closed, or nothing that it sends arrives.
var workerCuts = []struct {
	name string
	cut  func(*proxy) (heal func())
}{
	{"closed", (*proxy).block},
	{"unheard", (*proxy).mute},
}

// A worker that can't reach the server for longer than its leases last keeps its results and
// reports them late: others have counted the tasks meanwhile, and nothing changes.
func TestLateResultsOfADisconnectedWorkerAreDuplicates(t *testing.T) {
	long(t)
	for _, c := range testkit.Sample(t, 1, workerCuts) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			const tasks, braked = 7, 1
			s := startScene(t, "14", "--depth", "1")
			b := join(t, s.server.url)
			release := brake(t, b, s.run)
			var holds atomic.Bool // says the worker: what the server has sent it may be on its way
			unsubscribe, err := b.Telemetry().SubscribeHeartbeats(func(h run.Heartbeat) {
				if len(h.Held) > 0 && h.Worker != "brake" {
					holds.Store(true)
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			defer unsubscribe()
			proxy := startProxy(t, s.address)
			work := startGated(t, proxy.url(), 1)
			s.view.eventually("the worker has a task", holds.Load)
			heal := c.cut(proxy)
			work.countOne() // a search that continues when others have counted its task is dropped
			startWorker(t, s.server.url, "--kernel", "auto")
			s.view.eventually("the worker's leases have lapsed and all its tasks are done", func() bool {
				waiting, held := s.view.tasks()
				return waiting == 0 && held == braked && s.done() >= tasks-braked
			})
			before := s.done()
			heal()
			s.view.eventually("the worker reports what it held", func() bool { return s.done() > before })
			release()
			s.coordinator.ExpectTotal(known(14))
			if n := s.coordinator.Field("run ended", "duplicates"); n == 0 {
				t.Error("the worker's late results were not counted as duplicates")
			}
		})
	}
}

// A coordinator that can't reach the server for longer than a lease continues when it can.
// Meanwhile the workers leave its tasks alone.
func TestDisconnectedCoordinatorContinues(t *testing.T) {
	long(t)
	for _, c := range testkit.Sample(t, 1, cuts) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			const tasks, braked, window = 78, 1, 64
			server := startServer(t)
			proxy := startProxy(t, strings.TrimPrefix(server.url, "nats://"))
			s := &scene{t: t, server: server, view: inspect(t, server.url)}
			s.coordinator = startCount(t, "14", "--depth", "2", "--nats", proxy.url())
			s.run = s.coordinator.Await(counting)
			s.view.eventually("the window is full", func() bool { waiting, _ := s.view.tasks(); return waiting == window })
			b := join(t, server.url)
			release := brake(t, b, s.run)
			heal := c.cut(proxy)
			startWorker(t, server.url)
			s.view.eventually("the coordinator has not renewed its record for longer than a lease", func() bool {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				record, err := b.Registry().Record(ctx, s.run)
				return err == nil && time.Since(record.Updated) > bus.DefaultLease
			})
			if n := s.done(); n > 0 {
				t.Errorf("%d tasks are done while the coordinator is disconnected", n)
			}
			heal()
			s.view.eventually("all other tasks are done", func() bool { return s.done() == tasks-braked })
			release()
			s.coordinator.ExpectTotal(known(14))
		})
	}
}

// proxy forwards connections to a server, and can cut them.
type proxy struct {
	t      *testing.T
	target string
	listen net.Listener
	all    sync.WaitGroup

	mu      sync.Mutex
	blocked bool
	flowing chan struct{} // closed while bytes flow to the client
	heard   chan struct{} // closed while bytes flow to the server
	conns   map[net.Conn]struct{}
}

// startProxy starts a proxy of the server at that address. It ends with the test.
func startProxy(t *testing.T, target string) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{t: t, target: target, listen: listener, flowing: closed(), heard: closed(), conns: make(map[net.Conn]struct{})}
	p.all.Go(p.accept)
	t.Cleanup(func() {
		_ = listener.Close()
		p.block()
		p.all.Wait()
	})
	return p
}

func (p *proxy) url() string { return "nats://" + p.listen.Addr().String() }

// block closes all connections, and refuses new ones until heal.
func (p *proxy) block() (heal func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.blocked = true
	for c := range p.conns {
		_ = c.Close() // it may be closed
	}
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.blocked = false
	}
}

// pause holds back all bytes until heal, which lets them through.
func (p *proxy) pause() (heal func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	held := make(chan struct{})
	p.flowing, p.heard = held, held
	return func() { close(held) }
}

// mute holds back what clients send until heal, which lets it through.
func (p *proxy) mute() (heal func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	held := make(chan struct{})
	p.heard = held
	return func() { close(held) }
}

// closed returns a closed channel.
func closed() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

// accept serves connections until the listener is closed.
func (p *proxy) accept() {
	for {
		client, err := p.listen.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil {
			_ = client.Close()
			continue
		}
		p.all.Go(func() { p.forward(client, server, &p.heard) })
		p.all.Go(func() { p.forward(server, client, &p.flowing) })
	}
}

// forward copies bytes from one end to the other, while that channel is closed, until either end
// is closed.
func (p *proxy) forward(from, to net.Conn, gate *chan struct{}) {
	defer func() {
		_ = to.Close()
		p.mu.Lock()
		delete(p.conns, from)
		p.mu.Unlock()
	}()
	p.mu.Lock()
	p.conns[from] = struct{}{}
	if p.blocked {
		_ = from.Close()
	}
	p.mu.Unlock()
	buffer := make([]byte, 1<<16)
	for {
		n, err := from.Read(buffer)
		p.mu.Lock()
		open := *gate
		p.mu.Unlock()
		select {
		case <-open:
		case <-p.t.Context().Done():
			return
		}
		if err != nil {
			return
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// Where a coordinator and a worker fail for the same reason, they say the same, with what to do.
func TestBothProgramsGiveTheSameHints(t *testing.T) {
	long(t)
	guarded := startServer(t, "--user", "queen", "--pass", "s3cret")
	nobody := "nats://" + testkit.Address(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	taken := listener.Addr().String()
	open := startServer(t)
	for _, c := range []struct {
		name, says string
		args       []string
	}{
		{"nobody listens", `is a server running there, and is the address right\?`, []string{"--nats", nobody}},
		{"no password", `(?i:Authorization Violation): are the user and password in the address right\? the server may also need --nkey`, []string{"--nats", guarded.url}},
		{"a token without TLS", `the server has no TLS, and a token or what --tls-ca and --tls-cert name is for TLS only`, []string{"--nats", "tls://" + strings.TrimPrefix(open.url, "nats://")}},
		{"a busy port", `another process uses this address: stop that process, or choose another port`, []string{"--nats", open.url, "--http", taken}},
		{"no such key", `--nkey: the key: open .*: no such file or directory`, []string{"--nats", open.url, "--nkey", "none.nkey"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, words := range [][]string{{"coordinator", "count", "6"}, {"worker", "--idle-exit", "1s"}} {
				got := clitest.Run(t, nil, append(words, c.args...)...)
				if !regexp.MustCompile(c.says).MatchString(got.Stderr) {
					t.Errorf("%s says %q, want %s", words[0], got.Stderr, c.says)
				}
			}
		})
	}
}
