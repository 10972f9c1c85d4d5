// Package page serves a run to browsers, programs and Prometheus on one address: a page, its snapshot as JSON, metrics, and
// the health of the process. The page is drawn here; a browser with scripts fetches a new fragment each second, and one
// without loads the page again. The package shows snapshots, and computes nothing of a run.
package page

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// Server answers on one address from [Listen] or [ListenWorker] on until [Server.Close].
type Server struct {
	listener net.Listener
	http     *http.Server
	ended    chan error // how serving ended

	browsers browsers
	linger   time.Duration
}

// requestTimeout bounds the time of a request, and so what a slow or silent peer can hold.
const requestTimeout = 5 * time.Second

// listen opens a host:port, and answers requests. On an address that only this machine reaches, it answers only requests
// whose Host is this machine: otherwise a page elsewhere, whose name resolves to this address (DNS rebinding), could read it.
func (s *Server) listen(address string, routes http.Handler) error {
	listener, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("listen on %s: another process uses this address: choose another port, such as 0 for a free one: %w", address, err)
	} else if err != nil {
		return fmt.Errorf("serve the page: %w", err)
	}
	host, _, _ := net.SplitHostPort(address)
	local := isLoopback(host)
	s.listener, s.ended = listener, make(chan error, 1)
	s.http = &http.Server{
		ReadTimeout: requestTimeout, WriteTimeout: requestTimeout, IdleTimeout: time.Minute, MaxHeaderBytes: 1 << 14,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
			if local && !isLoopback((&url.URL{Host: request.Host}).Hostname()) {
				http.Error(w, "only this machine is answered here: use the name localhost, or an SSH tunnel from another machine", http.StatusForbidden)
				return
			}
			h := w.Header()
			h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; "+
				"base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
			h.Set("X-Content-Type-Options", "nosniff")
			h.Set("Referrer-Policy", "no-referrer")
			h.Set("Cross-Origin-Resource-Policy", "same-origin")
			h.Set("Cache-Control", "no-store")
			routes.ServeHTTP(w, request)
		}),
	}
	go func() { s.ended <- s.http.Serve(listener) }()
	return nil
}

func isLoopback(host string) bool {
	return strings.EqualFold(host, "localhost") || net.ParseIP(host).IsLoopback()
}

// URL returns where a browser on this machine finds the page.
func (s *Server) URL() string {
	address := s.listener.Addr().String()
	if host, port, err := net.SplitHostPort(address); err == nil && net.ParseIP(host).IsUnspecified() {
		address = net.JoinHostPort("localhost", port)
	}
	return "http://" + address + "/"
}

// lastSnapshot is how long a page that closes waits for browsers that asked lately, so that they show how the run ended.
const lastSnapshot = 3 * time.Second

// Close stops answering: at once if no browser asked lately; otherwise when all of them have the last snapshot, or after 3 s;
// and not before the time to linger is over, unless ctx ends. It returns an error if serving had failed before.
func (s *Server) Close(ctx context.Context) error {
	begun := time.Now()
	for passed := time.Duration(0); passed < s.linger && ctx.Err() == nil || passed < lastSnapshot && s.browsers.waiting(time.Now()); passed = time.Since(begun) {
		time.Sleep(20 * time.Millisecond)
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = s.http.Shutdown(closing) // what is not answered in a second is cut off
	_ = s.http.Close()
	if err := <-s.ended; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the page: %w", err)
	}
	return nil
}

// text answers with a text, which is bounded and made here.
func text(w http.ResponseWriter, kind, body string) {
	w.Header().Set("Content-Type", kind+"; charset=utf-8")
	_, _ = io.WriteString(w, body) // fails if the client has gone
}

// Probe asks the process at an address for its health. The error says what it answers.
func Probe(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/healthz", nil)
	if err != nil {
		return fmt.Errorf("%s is not host:port: %w", address, err)
	}
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("no process answers at %s; was it started with --http %[1]s? %w", address, err)
	}
	defer func() { _ = reply.Body.Close() }() // it is only read
	body, err := io.ReadAll(io.LimitReader(reply.Body, 1<<10))
	if err == nil && reply.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", address, strings.TrimSpace(string(body)))
	}
	return err
}
