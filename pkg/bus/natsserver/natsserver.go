// Package natsserver runs a NATS server with JetStream inside this process. It is the only
// package that links the server; the worker does not import it. It knows nothing of the
// streams on the server: those are package bus's.
package natsserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"nqueens/pkg/run"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/rs/zerolog"
)

// Config says where the server keeps its files and whether others may connect.
type Config struct {
	// StoreDir is the folder of the server's streams. It must not be empty, or the server
	// would use a temporary folder, nor shared with another server.
	StoreDir string
	// Listen is the host:port to accept connections on; if it is empty, the server opens
	// no port. Port 0 means a free port.
	Listen string
	// Access is the part of a configuration file that says who may connect, such as that of
	// bus.Access; if it is empty, everybody may who reaches the server. JetStream must be enabled
	// in one account.
	Access string
	Log    zerolog.Logger
}

// Server is a running server.
type Server struct {
	cfg  Config
	nats *server.Server
	log  *serverLog
}

// startTimeout bounds the start, which normally takes some tens of milliseconds.
const startTimeout = 10 * time.Second

// Start starts a server and waits until it accepts connections.
func Start(cfg Config) (*Server, error) {
	options, err := cfg.options()
	if err != nil {
		return nil, err
	}
	nats, err := server.NewServer(options)
	if err != nil {
		return nil, fmt.Errorf("embedded server: %w", err)
	}
	log := newServerLog(cfg.Log, cfg.StoreDir)
	nats.SetLoggerV2(log, cfg.Log.GetLevel() <= zerolog.DebugLevel, false, false)
	nats.Start()
	if err := ready(nats, log); err != nil {
		nats.Shutdown()
		nats.WaitForShutdown()
		return nil, fmt.Errorf("embedded server with its store in %s: %w", cfg.StoreDir, err)
	}
	return &Server{cfg: cfg, nats: nats, log: log}, nil
}

// options checks the configuration and returns it as the server wants it.
func (c *Config) options() (*server.Options, error) {
	if c.StoreDir == "" {
		return nil, errors.New("the embedded server needs a folder for its store")
	}
	host, digits, err := net.SplitHostPort(cmp.Or(c.Listen, ":0"))
	port, notPort := strconv.ParseUint(digits, 10, 16)
	if err := cmp.Or(err, notPort); err != nil {
		return nil, fmt.Errorf("listen address must be host:port, such as 127.0.0.1:4222, with a port from 0 to 65535: %w", err)
	}
	options := &server.Options{
		ServerName: "nqueens-embedded",
		DontListen: c.Listen == "",
		Host:       host,
		Port:       cmp.Or(int(port), server.RANDOM_PORT),
		JetStream:  true,
		StoreDir:   c.StoreDir,
		NoSigs:     true, // signals belong to the command
	}
	if c.Access != "" {
		if err := options.ProcessConfigString(c.Access); err != nil {
			return nil, fmt.Errorf("embedded server: who may connect: %w", err)
		}
	}
	return options, nil
}

// SetAccess changes who may connect, see [Config.Access]: the server closes the connections of those who
// may not any more, and no other.
func (s *Server) SetAccess(access string) error {
	cfg := s.cfg
	cfg.Access = access
	options, err := cfg.options()
	if err != nil {
		return err
	}
	if err := s.nats.ReloadOptions(options); err != nil {
		return fmt.Errorf("embedded server: who may connect: %w", err)
	}
	return nil
}

// ready waits until the server accepts connections or reports a fatal error.
func ready(nats *server.Server, log *serverLog) error {
	const step = 50 * time.Millisecond
	for deadline := time.Now().Add(startTimeout); ; {
		accepts := nats.ReadyForConnections(step)
		if fatal := log.fatal.Load(); fatal != nil {
			return errors.New(*fatal)
		}
		if accepts {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("not ready after %v", startTimeout)
		}
	}
}

// InProcessConn returns a connection to the server that uses no port.
func (s *Server) InProcessConn() (net.Conn, error) {
	return s.nats.InProcessConn()
}

// ClientURL returns the address for clients of other processes, if the server listens.
func (s *Server) ClientURL() string {
	return s.nats.ClientURL()
}

// Failure waits until ctx ends, and then returns nil, or until the server has logged that
// it cannot write its store. The server does not recover from that: its streams refuse all
// messages from then on, silently. The error says why and what to do, and wraps
// [run.ErrIncomplete]. One call returns it.
func (s *Server) Failure(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case advice := <-s.log.failed:
		return fmt.Errorf("%w: %s", run.ErrIncomplete, advice)
	}
}

// AwaitUnsubscribed waits until nobody is subscribed to a subject, but not longer than that time.
func (s *Server) AwaitUnsubscribed(subject string, most time.Duration) {
	for end := time.Now().Add(most); s.interest(subject) > 0 && time.Now().Before(end); {
		time.Sleep(unsubscribedPoll)
	}
}

// interest returns how many are subscribed to a subject, also from accounts that import it.
func (s *Server) interest(subject string) int {
	n := s.nats.GlobalAccount().Interest(subject)
	if account, err := s.nats.LookupAccount(runsAccount); err == nil {
		n += account.Interest(subject)
	}
	return n
}

// runsAccount is the account of streams and coordinators in the configuration of bus.Access.
const runsAccount = "NQ"

// unsubscribedPoll is how often AwaitUnsubscribed looks.
const unsubscribedPoll = 20 * time.Millisecond

// Stop stops the server and waits until it has written its state.
func (s *Server) Stop() {
	s.nats.Shutdown()
	s.nats.WaitForShutdown()
}
