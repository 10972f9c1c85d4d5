// Package page serves a run to browsers, programs and Prometheus on one address: its page, its
// snapshot as JSON, metrics, and the health of the process. The server draws the page. A browser
// with scripts fetches a part of it each second, and one without scripts loads the page again. The
// package shows snapshots, and computes nothing about a run.
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

// Server answers requests at one address. [Listen] and [ListenWorker] start it, and [Server.Close]
// ends it.
type Server struct {
	listener net.Listener
	http     *http.Server
	ended    chan error // gets the error with which serving ended

	browsers browsers
	linger   time.Duration
}

// requestTimeout limits the time of a request, so that a slow client holds no connection for
// longer.
const requestTimeout = 5 * time.Second

// listen opens a host:port, and answers requests. If only this machine can reach the address,
// listen answers only requests whose Host is this machine. Without this rule, a page of another
// site could read this one, if the name of that site resolves to this address (DNS rebinding).
func (s *Server) listen(address string, routes http.Handler) error {
	listener, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("another process uses address %s: choose another port, such as 0 for a free "+
			"one: %w", address, err)
	} else if err != nil {
		return fmt.Errorf("serve the page: %w", err)
	}
	host, _, _ := net.SplitHostPort(address)
	local := isLoopback(host)
	s.listener, s.ended = listener, make(chan error, 1)
	s.http = &http.Server{
		ReadTimeout: requestTimeout, WriteTimeout: requestTimeout, IdleTimeout: time.Minute,
		MaxHeaderBytes: 1 << 14,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
			if local && !isLoopback((&url.URL{Host: request.Host}).Hostname()) {
				const hint = "only this machine may read this: use the name localhost, or an SSH tunnel from " +
					"another machine"
				http.Error(w, hint, http.StatusForbidden)
				return
			}
			h := w.Header()
			h.Set("Content-Security-Policy",
				"default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "+
					"img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
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

// URL returns the URL of the page for a browser on this machine.
func (s *Server) URL() string {
	address := s.listener.Addr().String()
	if host, port, err := net.SplitHostPort(address); err == nil && net.ParseIP(host).IsUnspecified() {
		address = net.JoinHostPort("localhost", port)
	}
	return "http://" + address + "/"
}

// lastSnapshot limits how long a closing page waits for browsers that have asked lately, so that
// they show the end.
const lastSnapshot = 3 * time.Second

// Close stops answering requests. If browsers have asked lately, it first waits until all of them
// have the last snapshot, for at most 3 s. It also waits until the time to linger is over, or ctx
// ends. It returns an error if serving had failed before.
func (s *Server) Close(ctx context.Context) error {
	begun := time.Now()
	lingers := func() bool { return time.Since(begun) < s.linger && ctx.Err() == nil }
	waits := func() bool { return time.Since(begun) < lastSnapshot && s.browsers.waiting(time.Now()) }
	for lingers() || waits() {
		time.Sleep(20 * time.Millisecond)
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = s.http.Shutdown(closing) // requests that take longer than a second are cut off
	_ = s.http.Close()
	if err := <-s.ended; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the page: %w", err)
	}
	return nil
}

// text answers a request with a text.
func text(w http.ResponseWriter, kind, body string) {
	w.Header().Set("Content-Type", kind+"; charset=utf-8")
	_, _ = io.WriteString(w, body) // fails if the client has gone
}

// Probe asks the process at an address whether it is healthy. If it is not, the error contains its
// answer. The address may be one to listen at: without a host, or with an unspecified one, the
// process is on this machine. Probe uses no proxy, because the process is a neighbor.
func Probe(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	address = reachable(address)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/healthz", nil)
	if err != nil {
		return fmt.Errorf("%s is not host:port: %w", address, err)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	reply, err := client.Do(request)
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

// reachable returns the address at which this machine reaches a server that listens at an address.
func reachable(address string) string {
	host, port, err := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	switch {
	case err == nil && (host == "" || ip.Equal(net.IPv4zero)):
		return net.JoinHostPort("127.0.0.1", port)
	case err == nil && ip.IsUnspecified():
		return net.JoinHostPort("::1", port)
	}
	return address
}
