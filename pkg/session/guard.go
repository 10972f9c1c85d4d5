package session

import (
	"errors"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/bus"
	"nqueens/pkg/bus/natsserver"
	"nqueens/pkg/httpserver"
	"nqueens/pkg/humanize"
	"nqueens/pkg/identity"
	"nqueens/pkg/keyring"
	"nqueens/pkg/runstore"
)

// guard lets only those in who have a key or the token of an embedded server.
type guard struct {
	ring        *keyring.Ring
	identity    *identity.Identity
	tokenFile   string
	watcherFile string
	authority   string // file that workers need beside the token; empty if that has it
	host        string // at which others reach the server

	access      string // what the server has of its configuration
	token, hash string // of the token that the file had last
	failed      string // the last error of refresh, which is told once
}

// keysFolder is, in the folder of all runs, that of the keys of embedded servers.
const keysFolder = "keys"

// newGuard returns the guard of the embedded server of a run, or nil for a server that needs none: that
// only this machine reaches, without a token, for a run in which no keys must agree. It makes the guard's
// keys say who is admitted. The keys and the certificate are kept for all runs of the store.
func (s *Session) newGuard(name string) (*guard, error) {
	host, _, err := net.SplitHostPort(s.cfg.Listen)
	if s.cfg.Listen == "" || err != nil {
		return nil, nil
	}
	if httpserver.IsLoopback(host) && s.cfg.TokenFile == "" && s.redundancy() < 2 && !s.wasGuarded(name) {
		return nil, nil
	}
	ring, err := keyring.OpenOrInit(filepath.Join(s.cfg.Store.Path(), keysFolder))
	if err != nil {
		return nil, err
	}
	hosts := reachableHosts(host)
	if _, err := ring.AddHosts(hosts); err != nil {
		return nil, err
	}
	g := &guard{ring: ring, tokenFile: ring.TokenFile(), watcherFile: ring.KeyFile(bus.Watcher), host: hosts[0]}
	sources := s.cfg.Admission
	sources.Folder, sources.TokenFile = ring.Dir(), s.cfg.TokenFile
	if s.cfg.TokenFile != "" {
		g.tokenFile = s.cfg.TokenFile
		token, err := identity.LoadToken(g.tokenFile)
		if err != nil {
			return nil, err
		}
		if token.Authority == nil {
			g.authority = ring.AuthorityFile()
		}
	}
	if g.identity, err = identity.Load(ring.KeyFile(bus.Coordinator)); err != nil {
		return nil, err
	}
	if g.access, _, err = g.readAccess(); err != nil {
		return nil, err
	}
	return g, s.setAdmission(sources)
}

// wasGuarded reports whether the ledger of a run is lost whose embedded server had a guard: then the server
// keeps the run's record in an account that it has only with the guard.
func (s *Session) wasGuarded(name string) bool {
	if s.ledger != nil {
		return false
	}
	_, err := os.Stat(filepath.Join(s.cfg.Store.ServerFolder(name), "jetstream", "NQ")) // see [bus.Access]
	return err == nil
}

// readAccess returns the part of the server's configuration that says who may connect, with the users and
// the token of now, and whether the coordinator's own key was revoked. The hash of a token stays the same,
// or the server would disconnect its users.
func (g *guard) readAccess() (access string, revoked bool, err error) {
	token, err := identity.LoadToken(g.tokenFile)
	if err != nil {
		return "", false, err
	}
	if err := checkTokenAuthority(token, g.ring, g.tokenFile); err != nil {
		return "", false, err
	}
	if token.Secret != g.token {
		hash, err := keyring.HashToken(token.Secret)
		if err != nil {
			return "", false, err
		}
		g.token, g.hash = token.Secret, hash
	}
	return g.ring.Access(g.hash, g.identity.Key())
}

// refreshInterval is how soon the embedded server learns that a key was added or revoked, or that the
// token was replaced.
const refreshInterval = 2 * time.Second

// errOwnKey says that a coordinator continues with a key that was revoked.
var errOwnKey = errors.New("the coordinator's own key was revoked, and works until it ends: stop it, make another key with " +
	"coordinator keys add coordinator coordinator, and resume the run")

// refresh gives the server the users and the token of now. It says once what it can't change; then the
// server keeps those from before.
func (g *guard) refresh(server *natsserver.Server, log zerolog.Logger) {
	access, revoked, err := g.readAccess()
	if err == nil && access != g.access {
		if err = server.SetAccess(access); err == nil {
			g.access = access
			log.Info().Str("folder", g.ring.Dir()).Msg("keys have changed: the embedded server admits the users of now, and disconnects the others")
		}
	}
	if err == nil && revoked {
		err = errOwnKey
	}
	failed := ""
	if err != nil {
		failed = err.Error()
	}
	if failed != "" && failed != g.failed {
		log.Warn().Err(err).Str("folder", g.ring.Dir()).Msg("not every change of the keys takes effect")
	}
	g.failed = failed
}

// reachableHosts returns the names and addresses at which others reach a server that listens on a host,
// the best first. There is at least one.
func reachableHosts(host string) []string {
	if ip := net.ParseIP(host); host != "" && (ip == nil || !ip.IsUnspecified()) {
		return []string{host}
	}
	var hosts []string
	addresses, _ := net.InterfaceAddrs() // without them, the name of the machine must do
	for _, a := range addresses {
		if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() {
			hosts = append(hosts, n.IP.String())
		}
	}
	// Addresses of version 4 first: people type them.
	slices.SortStableFunc(hosts, func(a, b string) int { return strings.Count(a, ":") - strings.Count(b, ":") })
	if name, err := os.Hostname(); err == nil && name != "" {
		hosts = append(hosts, name)
	}
	return append(hosts, "localhost")
}

// url returns the address for others of a server that listens at that of the server.
func (g *guard) url(server string) string {
	u, err := url.Parse(server)
	if err != nil {
		return server
	}
	return "tls://" + net.JoinHostPort(g.host, u.Port())
}

// joinLine returns the command with which a worker joins. It names the files that the worker needs,
// and no secret.
func (g *guard) joinLine(server string) string {
	words := []string{"worker", "--nats", server, "--token-file", g.tokenFile}
	if g.authority != "" {
		words = append(words, "--tls-ca", g.authority)
	}
	return humanize.ShellWords(words...)
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
