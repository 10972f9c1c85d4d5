// Package natsserver runs a NATS server with JetStream inside this process. It is
// the only package that links the server; workers do not.
package natsserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/rs/zerolog"

	"nqueens/pkg/queens"
)

// Config says where the server keeps its files and whether others may connect.
type Config struct {
	// StoreDir is the folder of the server's streams. It must not be empty (the
	// server would take a temporary folder instead) nor shared between servers.
	StoreDir string
	// Listen is the host:port to accept connections on; with none the server
	// opens no port. Port 0 takes a free one.
	Listen string
	Log    zerolog.Logger
}

// Validate reports the first thing wrong with the configuration.
func (c *Config) Validate() error {
	if c.StoreDir == "" {
		return errors.New("the embedded server needs a folder for its store")
	}
	return CheckAddress(c.Listen)
}

// CheckAddress reports what is wrong with an address to listen on; none is right.
func CheckAddress(address string) error {
	if address == "" {
		return nil
	}
	_, _, err := splitAddress(address)
	return err
}

func splitAddress(address string) (host string, port int, err error) {
	host, digits, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, fmt.Errorf("listen address must be host:port, such as 127.0.0.1:4222: %w", err)
	}
	port, err = strconv.Atoi(digits)
	if err != nil || port < 0 || port > 65535 {
		return "", 0, fmt.Errorf("listen address %s: the port must be a number from 0 to 65535", address)
	}
	return host, port, nil
}

// Server is a running server.
type Server struct {
	nats  *server.Server
	store string
	log   *serverLog
}

// startTimeout bounds the start; the server takes some tens of milliseconds.
const startTimeout = 10 * time.Second

// Start starts a server and waits until it accepts connections.
func Start(cfg Config) (*Server, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	options := &server.Options{
		ServerName: "nqueens-embedded",
		DontListen: cfg.Listen == "",
		JetStream:  true,
		StoreDir:   cfg.StoreDir,
		NoSigs:     true, // signals belong to the command
	}
	if cfg.Listen != "" {
		host, port, err := splitAddress(cfg.Listen)
		if err != nil {
			return nil, err
		}
		options.Host, options.Port = host, port
		if port == 0 {
			options.Port = server.RANDOM_PORT
		}
	}
	nats, err := server.NewServer(options)
	if err != nil {
		return nil, fmt.Errorf("embedded server: %w", err)
	}
	log := newServerLog(cfg.Log)
	nats.SetLoggerV2(log, cfg.Log.GetLevel() <= zerolog.DebugLevel, false, false)
	nats.Start()
	if err := ready(nats, log); err != nil {
		nats.Shutdown()
		nats.WaitForShutdown()
		return nil, fmt.Errorf("embedded server with its store in %s: %w", cfg.StoreDir, err)
	}
	return &Server{nats: nats, store: cfg.StoreDir, log: log}, nil
}

// ready waits until the server accepts connections, or says why it never will.
func ready(nats *server.Server, log *serverLog) error {
	const step = 50 * time.Millisecond
	for deadline := time.Now().Add(startTimeout); ; {
		accepts := nats.ReadyForConnections(step)
		if err := log.fatal(); err != nil || accepts {
			return err
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

// ClientURL returns the address that others connect to, if the server listens.
func (s *Server) ClientURL() string {
	return s.nats.ClientURL()
}

// Failure waits until ctx ends, and then returns nil, or until the server has reported
// that it can't write its store. It does not recover from that: streams refuse all
// messages from then on, in silence. The error says why, and wraps
// [queens.ErrIncomplete].
func (s *Server) Failure(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-s.log.failed:
		return fmt.Errorf("%w: %s", queens.ErrIncomplete, explain(s.store, s.log.failure()))
	}
}

// Stop ends the server and waits for it to have written its state.
func (s *Server) Stop() {
	s.nats.Shutdown()
	s.nats.WaitForShutdown()
}
