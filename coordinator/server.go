package main

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"

	"github.com/rs/zerolog"
	"github.com/spf13/pflag"

	"nqueens/pkg/bus"
	"nqueens/pkg/bus/embedded"
	"nqueens/pkg/cli"
)

// serverOptions are the flags that say which NATS server a run uses.
type serverOptions struct {
	url    string
	listen string
	data   string
}

func (o *serverOptions) register(flags *pflag.FlagSet) {
	flags.StringVar(&o.url, "nats", "", "use the NATS server at this URL, or these, separated by commas")
	flags.StringVar(&o.listen, "listen", "", "host:port on which the embedded server lets workers in")
	flags.StringVar(&o.data, "data", "", "folder of runs on this machine (default $XDG_STATE_HOME/nqueens)")
}

func (o *serverOptions) check() error {
	if o.url != "" && o.listen != "" {
		return cli.Usagef("--listen opens the embedded server, --nats (or NQUEENS_NATS) names another: give one of them")
	}
	if err := embedded.CheckAddress(o.listen); err != nil {
		return cli.Usagef("--listen: %v", err)
	}
	return nil
}

// connection is a bus, and the embedded server behind it if there is one.
type connection struct {
	bus     *bus.Bus
	address string // for people
	server  *embedded.Server
	folder  string // of the run, with the server's store
}

// open connects to the server of the options, or starts one for the run.
func (o *serverOptions) open(run string, log zerolog.Logger) (*connection, error) {
	c := &connection{address: "embedded"}
	cfg := bus.Config{Name: "nqueens coordinator " + run, Lease: bus.DefaultLease, Log: log}
	if o.url != "" {
		cfg.URL = o.url
	} else {
		if err := o.start(c, run, log); err != nil {
			c.close()
			return nil, err
		}
		cfg.InProcess = c.server
	}
	var err error
	if c.bus, err = bus.Connect(cfg); err != nil {
		c.close()
		return nil, err
	}
	switch {
	case o.url != "":
		c.address = c.bus.Server()
	case o.listen != "":
		c.address = c.server.ClientURL()
		if !loopback(c.address) {
			log.Warn().Str("server", c.address).Msg("the embedded server is open to the network, and asks for no password")
		}
	}
	return c, nil
}

// loopback reports whether an address is for this machine alone.
func loopback(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Hostname() == "localhost" || net.ParseIP(u.Hostname()).IsLoopback())
}

// start starts the embedded server, with its store in the run's folder.
func (o *serverOptions) start(c *connection, run string, log zerolog.Logger) error {
	data := o.data
	if data == "" {
		var err error
		if data, err = defaultData(); err != nil {
			return err
		}
	}
	folder := filepath.Join(data, run)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("make the run's folder (choose another with --data): %w", err)
	}
	c.folder = folder
	var err error
	c.server, err = embedded.Start(embedded.Config{StoreDir: filepath.Join(folder, "nats"), Listen: o.listen, Log: log})
	return err
}

// defaultData is $XDG_STATE_HOME/nqueens, where the XDG Base Directory
// Specification puts what should persist but is not worth a backup.
func defaultData() (string, error) {
	state := os.Getenv("XDG_STATE_HOME")
	if state == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("no folder for the run (choose one with --data): %w", err)
		}
		state = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(state, "nqueens"), nil
}

// close ends the connection, and the embedded server with all it stored.
func (c *connection) close() {
	if c.bus != nil {
		c.bus.Close()
	}
	if c.server != nil {
		c.server.Stop()
	}
	if c.folder != "" {
		_ = os.RemoveAll(c.folder) // nothing in it is needed; the name tells what it was
	}
}
