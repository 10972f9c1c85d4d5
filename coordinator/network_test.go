//go:build unix

package main_test

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"nqueens/pkg/bus"
)

// The two ways in which a connection is cut: its ends are told, or hear nothing more.
var cuts = map[string]func(*road) (heal func()){
	"closed": (*road).block,
	"silent": (*road).hush,
}

// A worker that can't reach the server for longer than its leases last holds what it has
// counted and reports it late: others have counted that meanwhile, and it changes nothing.
func TestWorkerCutOff(t *testing.T) {
	t.Parallel()
	for name, cut := range cuts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const tasks, braked = 8, 1
			s := startScene(t, "16", "--depth", "1")
			release := brake(t, join(t, s.server.url))
			way := openRoad(t, s.address)
			startWorker(t, way.url())
			s.view.eventually("the worker has two tasks", func() bool { _, held := s.view.tasks(); return held == braked+2 })
			heal := cut(way)
			if done := s.done(); done >= tasks-braked {
				t.Fatal("the run was too fast for the worker to be cut off in the middle")
			}
			startWorker(t, s.server.url, "--kernel", "auto")
			s.view.eventually("the worker's leases have lapsed and all its tasks are done", func() bool {
				waiting, held := s.view.tasks()
				return waiting == 0 && held == braked && s.done() >= tasks-braked
			})
			before := s.done()
			heal()
			s.view.eventually("the worker reports what it held", func() bool { return s.done() > before })
			release()
			s.coordinator.ExpectTotal(known(16))
			if n := s.coordinator.Field("run ended", "duplicates"); n == 0 {
				t.Error("the worker's late results were not noticed as duplicates")
			}
		})
	}
}

// A coordinator that can't reach the server for longer than a lease goes on when it can.
func TestCoordinatorCutOff(t *testing.T) {
	t.Parallel()
	for name, cut := range cuts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const tasks, braked, window = 78, 1, 64
			server := startServer(t)
			way := openRoad(t, strings.TrimPrefix(server.url, "nats://"))
			s := &scene{t: t, server: server, view: inspect(t, server.url)}
			s.coordinator = startCount(t, "14", "--depth", "2", "--nats", way.url())
			s.run = s.coordinator.Await(counting)
			s.view.eventually("the window is full", func() bool { waiting, _ := s.view.tasks(); return waiting == window })
			b := join(t, server.url)
			release := brake(t, b)
			heal := cut(way)
			startWorker(t, server.url)
			s.view.eventually("all is done that was given out", func() bool { return s.done() == window-braked })
			s.view.eventually("the coordinator was not heard of for longer than a lease", func() bool {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				record, err := b.Registry().Record(ctx, s.run)
				return err == nil && time.Since(record.Updated) > bus.DefaultLease
			})
			if n := s.done(); n != window-braked {
				t.Errorf("%d tasks are done while the coordinator is cut off, want %d", n, window-braked)
			}
			heal()
			s.view.eventually("it gives out the rest", func() bool { return s.done() == tasks-braked })
			release()
			s.coordinator.ExpectTotal(known(14))
		})
	}
}

// road is a way to a server, which can be cut.
type road struct {
	t      *testing.T
	target string
	listen net.Listener
	all    sync.WaitGroup

	mu      sync.Mutex
	blocked bool
	passing chan struct{} // closed while bytes pass
	conns   map[net.Conn]struct{}
}

// openRoad opens a way to the server at that address. It ends with the test.
func openRoad(t *testing.T, target string) *road {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &road{t: t, target: target, listen: listener, passing: make(chan struct{}), conns: make(map[net.Conn]struct{})}
	close(r.passing)
	r.all.Go(r.accept)
	t.Cleanup(func() {
		_ = listener.Close()
		r.block()
		r.all.Wait()
	})
	return r
}

func (r *road) url() string { return "nats://" + r.listen.Addr().String() }

// block ends all connections, and refuses others until it is healed.
func (r *road) block() (heal func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.blocked = true
	for c := range r.conns {
		_ = c.Close() // it may be closed
	}
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.blocked = false
	}
}

// hush lets nothing through until it is healed: then all comes that was held back.
func (r *road) hush() (heal func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	passing := make(chan struct{})
	r.passing = passing
	return func() { close(passing) }
}

// accept serves those who come, until the listener is closed.
func (r *road) accept() {
	for {
		near, err := r.listen.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", r.target)
		if err != nil {
			_ = near.Close()
			continue
		}
		r.all.Go(func() { r.carry(near, far) })
		r.all.Go(func() { r.carry(far, near) })
	}
}

// carry passes bytes on from one end to the other until either is closed.
func (r *road) carry(from, to net.Conn) {
	defer func() {
		_ = to.Close()
		r.mu.Lock()
		delete(r.conns, from)
		r.mu.Unlock()
	}()
	r.mu.Lock()
	r.conns[from] = struct{}{}
	if r.blocked {
		_ = from.Close()
	}
	r.mu.Unlock()
	buffer := make([]byte, 1<<16)
	for {
		n, err := from.Read(buffer)
		r.mu.Lock()
		passing := r.passing
		r.mu.Unlock()
		select {
		case <-passing:
		case <-r.t.Context().Done():
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
