// Package httpserver tells those who watch over a process (Docker, Kubernetes, a person
// with curl) whether it works: /healthz says that it need not be killed, /readyz that
// it does what it is there for. It knows nothing of counting.
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

// Checks are what the two paths ask; nil is well, an error says what is not.
type Checks struct {
	// Live: the process gets on. Where it does not for long, a restart is the cure.
	Live func() error
	// Ready: it can be reached and reaches what it needs. Where it does not, waiting is.
	Ready func() error
}

// Paths that a [Server] answers: 200 and "ok", or 503 and what is not well.
const (
	LivePath  = "/healthz"
	ReadyPath = "/readyz"
)

// Server answers on its address until it is closed.
type Server struct {
	listener net.Listener
	http     *http.Server
}

// patience bounds what a slow or silent client can hold.
const patience = 5 * time.Second

// Listen takes a host:port; port 0 is a free one. Nothing is answered before [Server.Serve].
func Listen(address string, checks Checks) (*Server, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("answer for the health of this process: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+LivePath, answer(checks.Live))
	mux.HandleFunc("GET "+ReadyPath, answer(checks.Ready))
	return &Server{
		listener: listener,
		http:     &http.Server{Handler: mux, ReadTimeout: patience, WriteTimeout: patience, IdleTimeout: patience, MaxHeaderBytes: 1 << 14},
	}, nil
}

func answer(check func() error) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		text := "ok"
		if err := check(); err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			text = err.Error()
		}
		_, _ = io.WriteString(w, text+"\n") // whoever asked has gone: as well
	}
}

// Address returns the host:port that it listens on.
func (s *Server) Address() string { return s.listener.Addr().String() }

// Close gives the address back, whether or not it is served.
func (s *Server) Close() {
	_ = s.http.Close()
	_ = s.listener.Close() // unless serving has closed it
}

// Serve answers until ctx ends, and then returns nil.
func (s *Server) Serve(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() { _ = s.http.Close() })()
	if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("answer for the health of this process: %w", err)
	}
	return nil
}

// Probe asks the process at that address whether it gets on and is ready. The error is what
// it says.
func Probe(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := ask(ctx, address, LivePath); err != nil {
		return err
	}
	return ask(ctx, address, ReadyPath)
}

func ask(ctx context.Context, address, path string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		return fmt.Errorf("%s is not host:port: %w", address, err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("nobody answers for the health of a process (was it started with --http %s?): %w", address, err)
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	const most = 1 << 10
	text, err := io.ReadAll(io.LimitReader(response.Body, most))
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s%s: %s", address, path, strings.TrimSpace(string(text)))
	}
	return nil
}
