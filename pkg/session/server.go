package session

import (
	"cmp"
	"context"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"nqueens/pkg/bus"
	"nqueens/pkg/bus/natsserver"
	"nqueens/pkg/httpserver"
	"nqueens/pkg/humanize"
	"nqueens/pkg/keyring"
	"nqueens/pkg/runstore"
)

// connection is a bus, and the embedded server behind it if there is one.
type connection struct {
	bus      *bus.Bus
	address  string             // for people: the server's URL, or "embedded"
	urls     string             // of all outside servers, as in the configuration
	embedded *natsserver.Server // nil with an outside server
	guard    *keyring.Guard     // of the embedded server; nil if that is open
	worker   []string           // the words that start a worker
}

// embedded stands for an embedded server that listens for nobody, in place of an address.
const embedded = "embedded"

// connect connects to the server of the configuration, or starts the embedded server of a
// run and connects to it.
func (s *Session) connect(name string) (*connection, error) {
	c := &connection{address: embedded, worker: s.cfg.WorkerProgram}
	if len(c.worker) == 0 {
		c.worker = []string{"worker"}
	}
	cfg := bus.Config{
		URL: s.cfg.URL, Credentials: s.cfg.Credentials, Name: "nqueens coordinator " + name, Replicas: s.cfg.Replicas, Lease: bus.DefaultLease, Log: s.log,
	}
	var err error
	if s.cfg.URL == "" {
		if err := checkPortFree(s.cfg.Listen); err != nil {
			return nil, err
		}
		server := natsserver.Config{StoreDir: s.cfg.Store.ServerFolder(name), Listen: s.cfg.Listen, Log: s.log}
		if c.guard, err = s.newGuard(); err != nil {
			return nil, err
		}
		if g := c.guard; g != nil {
			server.Access, cfg.Credentials = g.Access(), bus.Credentials{Identity: g.Identity()}
		}
		c.embedded, err = natsserver.Start(server)
		if err != nil {
			return nil, err
		}
		cfg.InProcess = c.embedded
	}
	if c.bus, err = bus.Connect(cfg); err != nil {
		c.close()
		return nil, err
	}
	switch {
	case s.cfg.URL != "":
		c.address, c.urls = c.bus.Server(), s.cfg.URL
	case c.guard != nil:
		g := c.guard
		c.address = g.URL(c.embedded.ClientURL())
		s.log.Info().Str("server", c.address).Str("token", g.TokenFile()).Str("watcher", g.WatcherFile()).
			Msg("workers join with: " + c.joinCommand() + "; paste into it the output of: " + g.TokenCommand())
	case s.cfg.Listen != "":
		c.address = c.embedded.ClientURL()
	}
	return c, nil
}

// keysFolder is, in the folder of all runs, that of the keys of embedded servers.
const keysFolder = "keys"

// newGuard returns the guard of the embedded server of a run, or nil for a server that needs none: that
// only this machine reaches, without a token, for a run in which no keys must agree. It makes the guard's
// keys say who is admitted. The keys and the certificate are kept for all runs of the store.
func (s *Session) newGuard() (*keyring.Guard, error) {
	host, _, err := net.SplitHostPort(s.cfg.Listen)
	if s.cfg.Listen == "" || err != nil {
		return nil, nil
	}
	if httpserver.IsLoopback(host) && s.cfg.TokenFile == "" && s.redundancy() < 2 {
		return nil, nil
	}
	g, err := keyring.NewGuard(filepath.Join(s.cfg.Store.Path(), keysFolder), s.cfg.TokenFile, host)
	if err != nil {
		return nil, err
	}
	sources := s.cfg.Admission
	sources.Folder, sources.TokenFile = g.Folder(), s.cfg.TokenFile
	return g, s.setAdmission(sources)
}

// WatcherFiles returns the files with which the watchers of this machine connect to embedded servers: a
// key, and the authority of the servers' certificate. There may be none.
func WatcherFiles(store *runstore.Store) (key, authority string, found bool) {
	ring, err := keyring.Open(filepath.Join(store.Path(), keysFolder))
	if err != nil {
		return "", "", false
	}
	return ring.KeyFile(bus.Watcher), ring.AuthorityFile(), true
}

// checkPortFree returns nil if a server can listen on an address. The embedded server would
// say otherwise only in its own words.
func checkPortFree(address string) error {
	if address == "" {
		return nil
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return httpserver.ListenError(address, err)
	}
	return listener.Close()
}

// publicURL returns the URL at which other processes reach the server, or the URLs of a cluster
// separated by commas, without passwords; empty if they can't.
func (c *connection) publicURL() string {
	var public []string
	for address := range strings.SplitSeq(cmp.Or(c.urls, c.address), ",") {
		if address = strings.TrimSpace(address); !strings.Contains(address, "://") {
			address = "nats://" + address
		}
		u, err := url.Parse(address)
		if err != nil || u.Hostname() == "" || c.address == embedded {
			continue
		}
		if u.Port() == "" && u.Scheme == "nats" {
			u.Host += ":4222"
		}
		u.User = nil
		public = append(public, u.String())
	}
	return strings.Join(public, ",")
}

// joinCommand returns the command that starts a worker on the server. A worker of a guarded server reads the token
// from its standard input: the command has no secret, and needs no file.
func (c *connection) joinCommand() string {
	words := append(slices.Clone(c.worker), "--nats")
	if c.guard != nil {
		return humanize.ShellWords(append(words, c.address, "--token-file", "-")...)
	}
	return humanize.ShellWords(append(words, c.publicURL())...)
}

// waitFailure waits until ctx ends, and then returns nil, or until the server or the
// connection has failed for good.
func (c *connection) waitFailure(ctx context.Context) error {
	if c.embedded == nil {
		return c.bus.WaitClosed(ctx)
	}
	return c.embedded.Failure(ctx)
}

// close ends the connection, and the embedded server.
func (c *connection) close() {
	if c.bus != nil {
		c.bus.Close()
	}
	if c.embedded != nil {
		c.embedded.Stop()
	}
}
