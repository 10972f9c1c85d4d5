package session

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"nqueens/pkg/bus"
	"nqueens/pkg/identity"
	"nqueens/pkg/keyring"
	"nqueens/pkg/runstore"
)

// guard lets only those in who have a key or the token of an embedded server.
type guard struct {
	access      string // of the server's configuration
	identity    *identity.Identity
	admits      func(key string, admission []byte) bool
	tokenFile   string
	watcherFile string
	authority   string // file that workers need beside the token; empty if that has it
	host        string // at which others reach the server
}

// keysFolder is, in the folder of all runs, that of the keys of embedded servers.
const keysFolder = "keys"

// newGuard returns the guard of the embedded server, or nil for a server that only this machine
// reaches and that needs no token. The keys and the certificate are kept for all runs of the store.
func (s *Session) newGuard() (*guard, error) {
	host, _, err := net.SplitHostPort(s.cfg.Listen)
	if s.cfg.Listen == "" || err != nil || isLoopback(host) && s.cfg.TokenFile == "" {
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
	g := &guard{tokenFile: ring.TokenFile(), watcherFile: ring.KeyFile(bus.Watcher), host: hosts[0]}
	var token identity.Token
	if s.cfg.TokenFile != "" {
		g.tokenFile = s.cfg.TokenFile
		if token, err = identity.LoadToken(g.tokenFile); err != nil {
			return nil, err
		}
		if token.Authority == nil {
			g.authority = ring.AuthorityFile()
		}
	}
	if g.access, err = ring.Access(token.Secret); err != nil {
		return nil, err
	}
	if g.identity, err = identity.Load(ring.KeyFile(bus.Coordinator)); err != nil {
		return nil, err
	}
	admitter, _ := keyring.NewAdmitter(ring.Dir())
	g.admits = func(key string, admission []byte) bool {
		return admitter.Admits(key, admission) || identity.IsAdmitted([]byte(token.Secret), key, admission)
	}
	return g, nil
}

// isLoopback reports whether only this machine reaches a host.
func isLoopback(host string) bool { return host == "localhost" || net.ParseIP(host).IsLoopback() }

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
	line := fmt.Sprintf("worker --nats %s --token-file %s", server, g.tokenFile)
	if g.authority != "" {
		line += " --tls-ca " + g.authority
	}
	return line
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
