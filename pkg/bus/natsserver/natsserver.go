// Package natsserver runs a NATS server inside this process. It stores nothing. It is the only
// package that links the server; the worker does not import it.
package natsserver

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/rs/zerolog"

	"nqueens/pkg/humanize"
	"nqueens/pkg/join"
	"nqueens/pkg/queens"
)

// MaxPayload is the size of the largest message that the server takes, in bytes.
const MaxPayload = 8 << 20

// Config says where the server listens, and who may connect.
type Config struct {
	// Listen is the host:port to accept connections on; if it is empty, the server opens no port. Port
	// 0 means any free port.
	Listen string
	// Authorization is the part of a configuration file that says who may connect, such as
	// "authorization { … }"; if it is empty, anyone who reaches the server may.
	Authorization string
	TLS           *tls.Config // nil for none
	Log           zerolog.Logger
}

// Server is a running server.
type Server struct {
	nats   *server.Server
	config Config
	host   string
}

// loginTimeout bounds the TLS handshake of a client, and then the wait for its password. The
// defaults, 2 s, are little for many workers at once.
const loginTimeout = 30 * time.Second

// startTimeout bounds the start, which normally takes some milliseconds.
const startTimeout = 10 * time.Second

// Start starts a server and waits until it accepts connections.
func Start(cfg Config) (*Server, error) {
	options, err := cfg.options()
	if err == nil {
		err = cfg.checkFree()
	}
	if err != nil {
		return nil, err
	}
	nats, err := server.NewServer(options)
	if err != nil {
		return nil, fmt.Errorf("embedded server: %w", err)
	}
	debug := cfg.Log.GetLevel() <= zerolog.DebugLevel
	nats.SetLoggerV2(newServerLog(cfg.Log), debug, false, false)
	nats.Start()
	s := &Server{nats, cfg, options.Host}
	if !nats.ReadyForConnections(startTimeout) {
		s.Stop()
		return nil, fmt.Errorf("embedded server: not ready after %v", startTimeout)
	}
	return s, nil
}

// options validates the configuration and returns it as options of the NATS server.
func (c *Config) options() (*server.Options, error) {
	host, digits, err := net.SplitHostPort(cmp.Or(c.Listen, ":0"))
	port, notPort := strconv.ParseUint(digits, 10, 16)
	if err := cmp.Or(err, notPort); err != nil {
		return nil, fmt.Errorf(
			"listen address must be host:port, such as 127.0.0.1:4222, with a port from 0 to 65535: %w", err)
	}
	options := &server.Options{
		ServerName:    "nqueens-embedded",
		DontListen:    c.Listen == "",
		Host:          host,
		Port:          cmp.Or(int(port), server.RANDOM_PORT),
		MaxPayload:    MaxPayload,
		WriteDeadline: 10 * time.Second,
		NoSigs:        true, // signals belong to the command
		TLS:           c.TLS != nil,
		TLSConfig:     c.TLS,
		TLSTimeout:    loginTimeout.Seconds(),
	}
	if c.Authorization != "" {
		if err := options.ProcessConfigString(c.Authorization); err != nil {
			return nil, fmt.Errorf("embedded server: who may connect: %w", err)
		}
	}
	options.AuthTimeout = loginTimeout.Seconds()
	return options, nil
}

// checkFree returns an error if the address is in use.
func (c *Config) checkFree() error {
	if c.Listen == "" {
		return nil
	}
	free, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("embedded server: %w: choose another address, or port 0 for a free one", err)
	}
	return free.Close() // the server listens itself
}

// Authorize replaces the part of the configuration that says who may connect. It ends the
// connections of users that may no longer connect; all others stay.
func (s *Server) Authorize(authorization string) error {
	s.config.Authorization = authorization
	options, err := s.config.options()
	if err == nil {
		err = s.nats.ReloadOptions(options)
	}
	if err != nil {
		return fmt.Errorf("embedded server: who may connect: %w", err)
	}
	return nil
}

// InProcessConn returns a connection to the server that uses no port.
func (s *Server) InProcessConn() (net.Conn, error) { return s.nats.InProcessConn() }

// URL returns the address for clients in other processes, if the server listens.
func (s *Server) URL() string { return s.nats.ClientURL() }

// Address returns the host:port at which the server listens: the host of Config.Listen, and the
// actual port.
func (s *Server) Address() string {
	_, port, _ := net.SplitHostPort(s.nats.Addr().String()) // a server that listens has one
	return net.JoinHostPort(s.host, port)
}

// Addresses returns the host:port pairs at which clients reach the server. If advertise is not
// empty, it is the only one: a host with or without a port. If the server listens on all addresses
// of this machine, Addresses returns them all, loopback last and without link-local ones.
func (s *Server) Addresses(advertise string) (pairs []string) {
	host, port, _ := net.SplitHostPort(s.Address())
	if advertise != "" {
		return []string{join.HostPort(advertise, port)}
	}
	if host != "" && !net.ParseIP(host).IsUnspecified() {
		return []string{net.JoinHostPort(host, port)}
	}
	all, _ := net.InterfaceAddrs()
	for _, a := range all {
		if network, ok := a.(*net.IPNet); ok && !network.IP.IsLoopback() &&
			!network.IP.IsLinkLocalUnicast() {
			pairs = append(pairs, net.JoinHostPort(network.IP.String(), port))
		}
	}
	return append(pairs, net.JoinHostPort("127.0.0.1", port))
}

// Stop stops the server and waits until it has ended.
func (s *Server) Stop() {
	s.nats.Shutdown()
	s.nats.WaitForShutdown()
}

// serverLog passes on the log of the server. Its errors are warnings: a client that is refused, or
// a connection that can't be accepted. Anybody may connect, so only a few of them are logged in a
// minute; at debug, all are.
type serverLog struct{ log, warn zerolog.Logger }

// warnings bounds the warnings of the server in a minute.
const warnings = 10

func newServerLog(log zerolog.Logger) serverLog {
	log = log.With().Str("from", "nats-server").Logger()
	return serverLog{log, log.Sample(&zerolog.BurstSampler{
		Burst: warnings, Period: time.Minute,
	})}
}

// Fatalf logs an error that stops the server.
func (l serverLog) Fatalf(format string, v ...any) { l.log.Error().Msgf(format, v...) }

// Errorf warns that the server refuses or loses a client.
func (l serverLog) Errorf(format string, v ...any) { l.problem(format, v...) }

// Warnf logs what the server itself calls a warning.
func (l serverLog) Warnf(format string, v ...any) { l.problem(format, v...) }

func (l serverLog) problem(format string, v ...any) {
	text := queens.Sanitize(fmt.Sprintf(format, v...)) // a stranger may have chosen a part of it
	l.warn.Warn().Str(humanize.LogField, "the server of this process: "+text).Msg(text)
	l.log.Debug().Msg(text)
}

// Noticef logs a notice.
func (l serverLog) Noticef(format string, v ...any) { l.log.Debug().Msgf(format, v...) }

// Debugf logs the server's debug output.
func (l serverLog) Debugf(format string, v ...any) { l.log.Debug().Msgf(format, v...) }

// Tracef drops the trace of the protocol.
func (l serverLog) Tracef(string, ...any) {}
