package keyring

import (
	"errors"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/bus"
	"nqueens/pkg/humanize"
	"nqueens/pkg/identity"
)

// Guard lets only those into an embedded server who have a key or the token.
type Guard struct {
	ring      *Ring
	identity  *identity.Identity
	tokenFile string
	authority string // file that workers need besides the token; empty if that is the folder's, which has it
	host      string // at which others reach the server

	access string // what the server has of its configuration
	hash   string // of the token that the file had last
	failed string // the last error of Refresh, which is told once
}

// NewGuard returns the guard of an embedded server that listens on a host, with the keys in a folder, which it makes
// if there is none. Workers join with the token in a file, or with that of the folder if the name is empty.
func NewGuard(folder, tokenFile, host string) (*Guard, error) {
	ring, err := OpenOrInit(folder)
	if err != nil {
		return nil, err
	}
	hosts := reachableHosts(host)
	if _, err := ring.AddHosts(hosts); err != nil {
		return nil, err
	}
	g := &Guard{ring: ring, tokenFile: ring.TokenFile(), host: hosts[0]}
	if tokenFile != "" {
		g.tokenFile, g.authority = tokenFile, ring.AuthorityFile()
	}
	if g.identity, err = identity.Load(ring.KeyFile(bus.Coordinator)); err != nil {
		return nil, err
	}
	if g.access, _, err = g.readAccess(); err != nil {
		return nil, err
	}
	return g, nil
}

// Folder returns the folder of the keys.
func (g *Guard) Folder() string { return g.ring.Dir() }

// Identity returns the key with which the coordinator of this process connects.
func (g *Guard) Identity() *identity.Identity { return g.identity }

// Access returns the part of the server's configuration that says who may connect.
func (g *Guard) Access() string { return g.access }

// TokenFile returns the path of the token with which workers join.
func (g *Guard) TokenFile() string { return g.tokenFile }

// WatcherFile returns the path of the key with which watchers connect.
func (g *Guard) WatcherFile() string { return g.ring.KeyFile(bus.Watcher) }

// readAccess returns the part of the server's configuration that says who may connect, with the users and
// the current token, and whether the coordinator's own key was revoked. The hash of a token stays the same,
// or the server would disconnect its users.
func (g *Guard) readAccess() (access string, revoked bool, err error) {
	token, err := identity.LoadToken(g.tokenFile)
	if err != nil {
		return "", false, err
	}
	if g.hash, err = hashToken(token.Secret, g.hash); err != nil {
		return "", false, err
	}
	return g.ring.Access(g.hash, g.identity.Key())
}

// RefreshInterval is how soon an embedded server learns that a key was added or revoked, or that the
// token was replaced.
const RefreshInterval = 2 * time.Second

// errOwnKey says that a coordinator continues with a key that was revoked.
var errOwnKey = errors.New("the coordinator's own key was revoked, and works until it ends: stop it, make another key with " +
	"coordinator keys add coordinator coordinator, and resume the run")

// Refresh gives the server the current users and token. It says once what it can't change; then the
// server keeps those from before.
func (g *Guard) Refresh(server interface{ SetAccess(config string) error }, log zerolog.Logger) {
	access, revoked, err := g.readAccess()
	if err == nil && access != g.access {
		if err = server.SetAccess(access); err == nil {
			g.access = access
			log.Info().Str("folder", g.ring.Dir()).Msg("keys have changed: the embedded server admits the current users and disconnects the others")
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

// URL returns the address for others of a server that listens at that of the server.
func (g *Guard) URL(server string) string {
	u, err := url.Parse(server)
	if err != nil {
		return server
	}
	return "tls://" + net.JoinHostPort(g.host, u.Port())
}

// TokenCommand returns the command that prints here what a worker needs to join: the token, and after it the
// certificate by which it knows the server.
func (g *Guard) TokenCommand() string {
	if g.authority == "" {
		return humanize.ShellWords("cat", g.tokenFile)
	}
	return humanize.ShellWords("head", "-n", "1", g.tokenFile) + " | " + humanize.ShellWords("cat", "-", g.authority)
}
