package session

import (
	"cmp"
	"context"
	"net"
	"net/url"
	"strings"

	"nqueens/pkg/bus"
	"nqueens/pkg/bus/natsserver"
	"nqueens/pkg/httpserver"
)

// connection is a bus, and the embedded server behind it if there is one.
type connection struct {
	bus      *bus.Bus
	address  string             // for people: the server's URL, or "embedded"
	urls     string             // of all outside servers, as in the configuration
	embedded *natsserver.Server // nil with an outside server
	guard    *guard             // of the embedded server; nil if that is open
}

// embedded stands for an embedded server that listens for nobody, in place of an address.
const embedded = "embedded"

// connect connects to the server of the configuration, or starts the embedded server of a
// run and connects to it.
func (s *Session) connect(name string) (*connection, error) {
	c := &connection{address: embedded}
	cfg := bus.Config{
		URL: s.cfg.URL, Credentials: s.cfg.Credentials, Name: "nqueens coordinator " + name, Replicas: s.cfg.Replicas, Lease: bus.DefaultLease, Log: s.log,
	}
	var err error
	if s.cfg.URL == "" {
		if err := checkPortFree(s.cfg.Listen); err != nil {
			return nil, err
		}
		server := natsserver.Config{StoreDir: s.cfg.Store.ServerFolder(name), Listen: s.cfg.Listen, Log: s.log}
		if c.guard, err = s.newGuard(name); err != nil {
			return nil, err
		}
		if g := c.guard; g != nil {
			server.Access, cfg.Credentials = g.access, bus.Credentials{Identity: g.identity}
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
		c.address = g.url(c.embedded.ClientURL())
		s.log.Info().Str("server", c.address).Str("token", g.tokenFile).Str("watcher", g.watcherFile).
			Msg("workers join with: " + g.joinLine(c.address))
	case s.cfg.Listen != "":
		c.address = c.embedded.ClientURL()
	}
	return c, nil
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
