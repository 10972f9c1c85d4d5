package browser_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"nqueens/pkg/dashboard"
	"nqueens/pkg/run"
)

// site is the page of a run, with its API, on a server of its own. The run is a state: see [state].
type site struct {
	url      string
	page     *dashboard.Page
	details  atomic.Pointer[run.Detail]
	listener *gate
	asked    atomic.Int64 // requests for the workers
	missing  atomic.Pointer[[]string]
	proxied  bool // requests for missing files are answered 502

	mu    sync.Mutex
	shown state // what the run is told each second
}

// newSite serves a state.
func newSite(t *testing.T, s *state, token string) *site {
	t.Helper()
	p := dashboard.New(dashboard.Config{Source: s.source, Version: "v1.2.3", Token: token})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	st := &site{url: "http://" + listener.Addr().String() + "/", page: p, listener: &gate{Listener: listener}}
	if s.detail != nil {
		p.SetDetail(func(context.Context) (*run.Detail, error) { return st.details.Load(), nil })
	}
	st.show(s)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if missing := st.missing.Load(); missing != nil && slices.Contains(*missing, request.URL.Path) {
			if st.proxied {
				http.Error(w, "bad gateway", http.StatusBadGateway)
				return
			}
			panic(http.ErrAbortHandler) // which ends the connection
		}
		part := request.URL.Path[strings.LastIndex(request.URL.Path, "/")+1:]
		if part == "workers" {
			st.asked.Add(1)
		}
		if part == "history" && s.past != nil {
			_ = json.NewEncoder(w).Encode(s.past) // fails if the browser has gone
			return
		}
		p.ServeHTTP(w, request)
	})}
	ctx, stop := context.WithCancel(context.Background())
	var ended sync.WaitGroup
	ended.Go(func() { p.Run(ctx) })
	ended.Go(func() { _ = server.Serve(st.listener) }) // returns when the server closes
	ended.Go(func() { st.measure(ctx) })
	t.Cleanup(func() {
		stop()
		_ = server.Close()
		ended.Wait()
	})
	return st
}

// without makes requests for these files, and for no others, end without an answer, or with that of a proxy.
func (st *site) without(files ...string) { st.missing.Store(&files) }

// show makes a state that of the run.
func (st *site) show(s *state) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.shown = *s
	if s.detail != nil {
		st.details.Store(new(*s.detail))
	}
	st.shown.update(st.page)
}

// measure updates the run each second, as a coordinator does.
func (st *site) measure(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			st.mu.Lock()
			if st.shown.snapshot.State == run.Running {
				st.shown.update(st.page)
			}
			st.mu.Unlock()
		}
	}
}

// gate is a listener whose server can be away: then connections end at once.
type gate struct {
	net.Listener
	mu     sync.Mutex
	closed bool
	open   []net.Conn
}

// Accept implements [net.Listener].
func (g *gate) Accept() (net.Conn, error) {
	conn, err := g.Listener.Accept()
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		_ = conn.Close()
	} else {
		g.open = append(g.open, conn)
	}
	return conn, nil
}

// setAway makes the server go away, or come back.
func (g *gate) setAway(away bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = away
	for _, conn := range g.open {
		_ = conn.Close() // it may have ended
	}
	g.open = nil
}
