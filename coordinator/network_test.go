//go:build unix

package main_test

import (
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"nqueens/pkg/run"
	"nqueens/pkg/testkit"
)

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

// proxy forwards connections to a server, and can cut them.
type proxy struct {
	t      *testing.T
	target string
	listen net.Listener
	all    sync.WaitGroup

	mu      sync.Mutex
	blocked bool
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
	p := &proxy{t: t, target: target, listen: listener, heard: make(chan struct{}), conns: make(map[net.Conn]struct{})}
	close(p.heard)
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

// mute holds back what clients send until heal, which lets it through.
func (p *proxy) mute() (heal func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	held := make(chan struct{})
	p.heard = held
	return func() { close(held) }
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
		p.all.Go(func() { p.forward(client, server, true) })
		p.all.Go(func() { p.forward(server, client, false) })
	}
}

// forward copies bytes from one end to the other until either end is closed. What is sent to the server waits while
// it is not heard.
func (p *proxy) forward(from, to net.Conn, toServer bool) {
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
		heard := p.heard
		p.mu.Unlock()
		if toServer {
			select {
			case <-heard:
			case <-p.t.Context().Done():
				return
			}
		}
		if err != nil {
			return
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}
