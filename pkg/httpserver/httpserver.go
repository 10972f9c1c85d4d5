// Package httpserver tells Docker, Kubernetes or a person with curl whether this process
// works: /healthz that it need not be killed, /readyz that it does what it is there for. On the
// same address it serves the numbers of the process to Prometheus, and a page to browsers, both made
// elsewhere. It also asks another process for its health. It knows nothing of counting.
package httpserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// Checks are the functions behind the two paths. They return nil, or an error that says
// what is wrong.
type Checks struct {
	// Live fails where the process makes no progress for so long that it must be restarted.
	Live func() error
	// Ready fails where the process can't reach what it needs. It must be waited for.
	Ready func() error
}

// Paths that a [Server] answers. For the first two it is 200 and "ok", or 503 and the error of the
// check.
const (
	LivePath    = "/healthz"
	ReadyPath   = "/readyz"
	MetricsPath = "/metrics"
)

// ErrNoAnswer says that no process answers at an address.
var ErrNoAnswer = errors.New("no process answers for its health")

// Server answers on its address until it is closed.
type Server struct {
	listener net.Listener
	http     *http.Server
}

// timeout bounds the resources that a slow or silent peer can hold.
const timeout = 5 * time.Second

// Listen opens a host:port; port 0 selects a free one. Requests wait for [Server.Serve]. One handler
// answers those for the metrics, the other those for all other paths; both may be nil. They may extend
// the deadlines of their answers. On an address that only this machine reaches, the metrics are for requests
// whose Host is this machine; health tells nothing of a run, and is for all.
func Listen(address string, checks Checks, metrics, page http.Handler) (*Server, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("serve the health and metrics of this process: %w", ListenError(address, err))
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+LivePath, handler(checks.Live))
	mux.HandleFunc("GET "+ReadyPath, handler(checks.Ready))
	if metrics != nil {
		if host, _, err := net.SplitHostPort(address); err == nil && IsLoopback(host) {
			metrics = forThisMachine(metrics)
		}
		mux.Handle("GET "+MetricsPath, metrics)
	}
	if page != nil {
		mux.Handle("/", page)
	}
	return &Server{
		listener: listener,
		http:     &http.Server{Handler: mux, ReadTimeout: timeout, WriteTimeout: timeout, IdleTimeout: timeout, MaxHeaderBytes: 1 << 14},
	}, nil
}

func handler(check func() error) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		if err := check(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, "ok\n") // fails if the client has gone
	}
}

// Address returns the host:port of the listener.
func (s *Server) Address() string { return s.listener.Addr().String() }

// Close closes the listener, whether or not it is served.
func (s *Server) Close() {
	_ = s.http.Close()
	_ = s.listener.Close() // fails if s.http has closed it
}

// Serve answers requests until ctx ends, and then returns nil.
func (s *Server) Serve(ctx context.Context) error {
	defer context.AfterFunc(ctx, s.Close)()
	if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the health and metrics of this process: %w", err)
	}
	return nil
}

// Probe asks the process at an address whether it is live and ready. The error says what
// the process answers, or wraps [ErrNoAnswer].
func Probe(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for _, path := range []string{LivePath, ReadyPath} {
		if err := get(ctx, address, path); err != nil {
			return err
		}
	}
	return nil
}

func get(ctx context.Context, address, path string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		return fmt.Errorf("%s is not host:port: %w", address, err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoAnswer, err)
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	const maxText = 1 << 10
	text, err := io.ReadAll(io.LimitReader(response.Body, maxText))
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s%s: %s", address, path, strings.TrimSpace(string(text)))
	}
	return nil
}
