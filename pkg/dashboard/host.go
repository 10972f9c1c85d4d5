package dashboard

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"sync"

	"github.com/rs/zerolog"

	"nqueens/pkg/httpserver"
	"nqueens/pkg/identity"
)

// tokenFile has the token of the page, in the folder of all runs, if no other file is given.
const tokenFile = "page.token"

// HostConfig says where a page is served, and with what.
type HostConfig struct {
	Address string // host:port; port 0 selects a free one
	// TokenFile has the token of the page; empty for one in the folder, which is made where others than
	// this machine reach the address.
	TokenFile string
	Folder    string // of the runs of this machine
	Checks    httpserver.Checks
	Metrics   http.Handler // nil for a process that has none
	Page      Config       // without the token
}

// Host serves a page beside the health and the metrics of this process.
type Host struct {
	*Page
	server    *httpserver.Server
	tokenFile string // empty for no token
}

// Listen opens the address. Requests wait for [Host.Serve].
func Listen(cfg HostConfig) (*Host, error) {
	h := &Host{tokenFile: cfg.TokenFile}
	host, _, err := net.SplitHostPort(cfg.Address)
	if h.tokenFile == "" && (err != nil || !httpserver.IsLoopback(host)) {
		h.tokenFile = filepath.Join(cfg.Folder, tokenFile)
		if _, err := identity.LoadOrCreateToken(h.tokenFile); err != nil {
			return nil, fmt.Errorf("the page: %w", err)
		}
	}
	if h.tokenFile != "" {
		token, err := identity.LoadToken(h.tokenFile)
		if err != nil {
			return nil, fmt.Errorf("the page: %w", err)
		}
		cfg.Page.Token = token.Secret
	}
	if h.Page, err = New(cfg.Page); err != nil {
		return nil, err
	}
	if cfg.Metrics == nil {
		cfg.Metrics = http.HandlerFunc(noMetrics)
	}
	if h.server, err = httpserver.Listen(cfg.Address, cfg.Checks, cfg.Metrics, h.Page); err != nil {
		return nil, err
	}
	return h, nil
}

// noMetrics says who has metrics, for example to a Prometheus that is configured for another process.
func noMetrics(w http.ResponseWriter, _ *http.Request) {
	http.Error(w, "this process has no metrics: ask the coordinator that counts the run, or its workers; docs/metrics.md says how", http.StatusNotFound)
}

// Log says where the page is, and which file has its token.
func (h *Host) Log(log zerolog.Logger) {
	address := h.server.Address()
	open := address
	if host, port, err := net.SplitHostPort(address); err == nil && net.ParseIP(host).IsUnspecified() {
		open = net.JoinHostPort("localhost", port) // as through a tunnel or a forwarded port
	}
	log.Info().Str("http", address).Msg("answering " + httpserver.LivePath + " and " + httpserver.ReadyPath)
	event := log.Info().Str("page", "http://"+open+"/")
	if h.tokenFile != "" {
		event.Str("token", h.tokenFile)
	}
	event.Msg("serving the live page")
}

// Serve answers requests until ctx ends, and for up to a second more while browsers read the last
// state. It returns an error if it can't answer any more.
func (h *Host) Serve(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	serving, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	var page sync.WaitGroup
	page.Go(func() {
		defer end()
		h.Run(ctx)
	})
	err := h.server.Serve(serving)
	stop()
	page.Wait()
	return err
}

// Close closes the address, whether or not it is served.
func (h *Host) Close() { h.server.Close() }
