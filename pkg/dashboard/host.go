package dashboard

import (
	"cmp"
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
	// URL is where people open the page, for the log; empty for the address, and none for nowhere.
	URL     string
	Folder  string // of the runs of this machine
	Checks  httpserver.Checks
	Metrics http.Handler // nil for a process that has none
	Page    Config       // without the token
}

// Host serves a page beside the health and the metrics of this process.
type Host struct {
	*Page
	server    *httpserver.Server
	tokenFile string             // empty for no token
	url       string             // where people open the page, if that is not at the address
	stop      context.CancelFunc // from Start on
	ended     chan error         // how serving has ended
}

// Listen opens the address. Requests wait for [Host.Start].
func Listen(cfg HostConfig) (*Host, error) {
	h := &Host{tokenFile: cfg.TokenFile, url: cfg.URL, ended: make(chan error, 1)}
	load := identity.LoadToken
	if host, _, err := net.SplitHostPort(cfg.Address); h.tokenFile == "" && (err != nil || !httpserver.IsLoopback(host)) {
		h.tokenFile, load = filepath.Join(cfg.Folder, tokenFile), identity.LoadOrCreateToken
	}
	if h.tokenFile != "" {
		token, err := load(h.tokenFile)
		if err != nil {
			return nil, fmt.Errorf("the page: %w", err)
		}
		cfg.Page.Token = token.Secret
	}
	var err error
	h.Page = New(cfg.Page)
	if cfg.Metrics == nil {
		cfg.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { // perhaps a Prometheus that is for another process
			http.Error(w, "this process has no metrics: ask the coordinator that counts the run, or its workers; docs/metrics.md says how", http.StatusNotFound)
		})
	}
	if h.server, err = httpserver.Listen(cfg.Address, cfg.Checks, cfg.Metrics, h.Page); err != nil {
		return nil, err
	}
	return h, nil
}

// Start says in the log where the page is, and which file has its token, and answers requests until [Host.Stop].
func (h *Host) Start(log zerolog.Logger) {
	log.Info().Str("http", h.server.Address()).Msg("answering " + httpserver.LivePath + " and " + httpserver.ReadyPath)
	if h.url != "none" {
		event := log.Info().Str("page", h.pageURL())
		if h.tokenFile != "" {
			event.Str("token", h.tokenFile)
		}
		event.Msg("serving the page")
	}
	var ctx context.Context
	ctx, h.stop = context.WithCancel(context.Background())
	go func() { h.ended <- h.serve(ctx) }() // Stop waits for it
}

// pageURL returns where people open the page.
func (h *Host) pageURL() string {
	address := h.server.Address()
	if host, port, err := net.SplitHostPort(address); err == nil && net.ParseIP(host).IsUnspecified() {
		address = net.JoinHostPort("localhost", port) // as through a tunnel or a forwarded port
	}
	return cmp.Or(h.url, "http://"+address+"/")
}

// serve answers requests until ctx ends, and for up to a second more while browsers read the last
// state. It returns an error if it can't answer any more.
func (h *Host) serve(ctx context.Context) error {
	serving, end := context.WithCancel(context.Background())
	defer end()
	var page sync.WaitGroup
	page.Go(func() {
		defer end()
		h.Run(ctx)
	})
	err := h.server.Serve(serving)
	h.stop()
	page.Wait()
	return err
}

// Failure waits until ctx ends, and then returns nil, or until nobody can be answered any more.
func (h *Host) Failure(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-h.ended:
		h.ended <- err
		return err
	}
}

// Stop stops serving a page that was started: within a second, while browsers read the last state. It returns the
// error of [Host.Failure], if there is one.
func (h *Host) Stop() error {
	h.stop()
	return <-h.ended
}

// Close closes the address, whether or not it is served.
func (h *Host) Close() { h.server.Close() }
