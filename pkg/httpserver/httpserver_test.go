package httpserver_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"nqueens/pkg/httpserver"
)

// Each path answers what its check returns at that moment.
func TestAnswers(t *testing.T) {
	var live, ready atomic.Pointer[error]
	state := func(p *atomic.Pointer[error]) func() error {
		return func() error {
			if err := p.Load(); err != nil {
				return *err
			}
			return nil
		}
	}
	metrics := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "up 1") }) // fails if the client has gone
	server, err := httpserver.Listen("127.0.0.1:0", httpserver.Checks{Live: state(&live), Ready: state(&ready)}, metrics, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- server.Serve(ctx) }()
	expect := func(path string, code int, text string) {
		t.Helper()
		response, err := http.Get("http://" + server.Address() + path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }() // it was only read
		body, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != code || !strings.Contains(string(body), text) {
			t.Errorf("%s: %d %q (error %v), want %d and %q", path, response.StatusCode, body, err, code, text)
		}
	}
	expect(httpserver.LivePath, 200, "ok")
	expect(httpserver.ReadyPath, 200, "ok")
	expect(httpserver.MetricsPath, 200, "up 1")
	if err := httpserver.Probe(t.Context(), server.Address()); err != nil {
		t.Errorf("ready: %v", err)
	}
	away := errors.New("the server is away")
	ready.Store(&away)
	expect(httpserver.LivePath, 200, "ok")
	expect(httpserver.ReadyPath, 503, "the server is away")
	if err := httpserver.Probe(t.Context(), server.Address()); err == nil || !strings.Contains(err.Error(), "the server is away") {
		t.Errorf("not ready: %v", err)
	}
	stuck := errors.New("a search stands still")
	live.Store(&stuck)
	ready.Store(nil)
	expect(httpserver.LivePath, 503, "a search stands still")
	expect(httpserver.ReadyPath, 200, "ok")
	expect("/", 404, "")
	if err := httpserver.Probe(t.Context(), server.Address()); err == nil || !strings.Contains(err.Error(), "a search stands still") {
		t.Errorf("not live: %v", err)
	}
	stop()
	if err := <-done; err != nil {
		t.Errorf("it ended with %v", err)
	}
	if err := httpserver.Probe(t.Context(), server.Address()); !errors.Is(err, httpserver.ErrNoAnswer) {
		t.Errorf("after its end: %v", err)
	}
}

// On an address that only this machine reaches, the metrics are refused to requests for another name, which
// a page of somebody else may have sent (DNS rebinding). Health is for everybody, and so are the metrics
// on other addresses.
func TestHostOfMetrics(t *testing.T) {
	ok := func() error { return nil }
	metrics := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "up 1") }) // fails if the client has gone
	for _, c := range []struct {
		address, host string
		want          int
	}{
		{"127.0.0.1:0", "localhost:9464", 200}, {"127.0.0.1:0", "127.0.0.1", 200}, {"localhost:0", "[::1]:9464", 200},
		{"127.0.0.1:0", "evil.example:9464", 403}, {"localhost:0", "192.0.2.1", 403}, {":0", "evil.example", 200}, {"0.0.0.0:0", "192.0.2.1", 200},
	} {
		server, err := httpserver.Listen(c.address, httpserver.Checks{Live: ok, Ready: ok}, metrics, nil)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- server.Serve(ctx) }()
		_, port, err := net.SplitHostPort(server.Address())
		if err != nil {
			t.Fatal(err)
		}
		for path, want := range map[string]int{httpserver.MetricsPath: c.want, httpserver.LivePath: 200, httpserver.ReadyPath: 200} {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1:"+port+path, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			request.Host = c.host
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(response.Body)
			_ = response.Body.Close() // it was only read
			if err != nil || response.StatusCode != want || want == 403 && !strings.Contains(string(text), "as localhost") {
				t.Errorf("%+v: %s is answered %d %q (error %v), want %d", c, path, response.StatusCode, text, err, want)
			}
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// An address that is in use or invalid is an error at once.
func TestAddress(t *testing.T) {
	ok := func() error { return nil }
	server, err := httpserver.Listen("127.0.0.1:0", httpserver.Checks{Live: ok, Ready: ok}, http.NotFoundHandler(), nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() { _ = server.Serve(ctx) }()
	for _, address := range []string{server.Address(), "nowhere", "127.0.0.1:99999"} {
		if _, err := httpserver.Listen(address, httpserver.Checks{Live: ok, Ready: ok}, http.NotFoundHandler(), nil); err == nil {
			t.Errorf("it listens on %s", address)
		}
	}
}

// A page answers all paths but those of health and metrics. Without metrics, there is no such path.
func TestPage(t *testing.T) {
	ok := func() error { return nil }
	page := http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) { _, _ = io.WriteString(w, "page "+request.URL.Path) }) // fails if the client has gone
	server, err := httpserver.Listen("127.0.0.1:0", httpserver.Checks{Live: ok, Ready: ok}, nil, page)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- server.Serve(ctx) }()
	for path, want := range map[string]string{"/": "page /", "/a/b": "page /a/b", httpserver.MetricsPath: "page /metrics", httpserver.LivePath: "ok\n", httpserver.ReadyPath: "ok\n"} {
		response, err := http.Get("http://" + server.Address() + path)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		_ = response.Body.Close() // it was only read
		if err != nil || string(text) != want {
			t.Errorf("%s: %q (error %v), want %q", path, text, err, want)
		}
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
