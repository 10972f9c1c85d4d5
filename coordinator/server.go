package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"syscall"

	"github.com/rs/zerolog"
	"github.com/spf13/pflag"

	"nqueens/pkg/bus"
	"nqueens/pkg/bus/natsserver"
	"nqueens/pkg/cli"
)

// serverOptions are the flags that say which NATS server a run uses.
type serverOptions struct {
	nats   *cli.Connection
	listen string
}

func (o *serverOptions) register(flags *pflag.FlagSet) {
	o.nats = cli.ConnectionFlags(flags, "", "use")
	flags.StringVar(&o.listen, "listen", "", "`host:port` on which the embedded server lets workers in")
}

func (o *serverOptions) check() error {
	if o.nats.URL != "" && o.listen != "" {
		return cli.Usagef("--listen opens the embedded server, --nats (or NQUEENS_NATS) names another: give one of them")
	}
	if err := o.nats.Check(); err != nil {
		return err
	}
	return cli.CheckAddress("listen", o.listen, "127.0.0.1:4222")
}

// connection is a bus, and the embedded server behind it if there is one.
type connection struct {
	bus     *bus.Bus
	address string // for people
	server  *natsserver.Server
}

// open connects to the server of the options, or starts one with its store in that
// folder.
func (o *serverOptions) open(run, store string, log zerolog.Logger) (*connection, error) {
	c := &connection{address: "embedded"}
	cfg := bus.Config{Name: "nqueens coordinator " + run, Lease: bus.DefaultLease, Log: log}
	if o.nats.URL != "" {
		cfg.URL = o.nats.URL
	} else {
		if err := o.free(); err != nil {
			return nil, err
		}
		server, err := natsserver.Start(natsserver.Config{StoreDir: store, Listen: o.listen, Log: log})
		if err != nil {
			return nil, err
		}
		c.server, cfg.InProcess = server, server
	}
	var err error
	if c.bus, err = bus.Connect(cfg); err != nil {
		c.close()
		return nil, err
	}
	switch {
	case o.nats.URL != "":
		c.address = c.bus.Server()
	case o.listen != "":
		c.address = c.server.ClientURL()
		if !loopback(c.address) {
			log.Warn().Str("server", c.address).Msg("the embedded server is open to the network, and asks for no password")
		}
	}
	return c, nil
}

// free returns nil when the embedded server can listen where it is to, which it would say
// in its own words.
func (o *serverOptions) free() error {
	if o.listen == "" {
		return nil
	}
	listener, err := net.Listen("tcp", o.listen)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("--listen %s is in use by another process: stop that one, or choose another port, such as 0 for a free one", o.listen)
	}
	if err != nil {
		return fmt.Errorf("--listen %s: %w", o.listen, err)
	}
	return listener.Close()
}

// loopback reports whether an address is for this machine alone.
func loopback(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Hostname() == "localhost" || net.ParseIP(u.Hostname()).IsLoopback())
}

// failure waits until ctx ends, or the server or the connection to it is beyond help.
func (c *connection) failure(ctx context.Context) error {
	if c.server == nil {
		return c.bus.WaitClosed(ctx)
	}
	return c.server.Failure(ctx)
}

// close ends the connection, and the embedded server.
func (c *connection) close() {
	if c.bus != nil {
		c.bus.Close()
	}
	if c.server != nil {
		c.server.Stop()
	}
}

// owner names this coordinator for those who look from elsewhere.
func owner() string {
	host, err := os.Hostname()
	if err != nil {
		host = "an unnamed host"
	}
	return fmt.Sprintf("%s, process %d", host, os.Getpid())
}

// publicURL returns the URL at which others reach the server, without a password; it is
// empty where the server accepts no connections.
func (c *connection) publicURL() string {
	u, err := url.Parse(c.address)
	if err != nil || u.Host == "" {
		return ""
	}
	u.User = nil
	return u.String()
}
