package keyring

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/bus"
	"nqueens/pkg/bus/natsserver"
	"nqueens/pkg/humanize"
	"nqueens/pkg/identity"
)

// Guard lets only those into an embedded server who have a key or the token.
type Guard struct {
	ring      *Ring
	identity  *identity.Identity
	tokenFile string
	authority string // file that workers need beside the token; empty if that has it
	host      string // at which others reach the server

	access      string // what the server has of its configuration
	token, hash string // of the token that the file had last
	failed      string // the last error of Refresh, which is told once
}

// NewGuard returns the guard of an embedded server that listens on a host, with the keys in a folder, which it makes
// if there is none. Workers join with the token in a file, or with that of the folder if the name is empty. The error
// may be a [TokenAuthorityError].
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
		g.tokenFile = tokenFile
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
// the token of now, and whether the coordinator's own key was revoked. The hash of a token stays the same,
// or the server would disconnect its users.
func (g *Guard) readAccess() (access string, revoked bool, err error) {
	token, err := identity.LoadToken(g.tokenFile)
	if err != nil {
		return "", false, err
	}
	if err := checkTokenAuthority(token, g.ring, g.tokenFile); err != nil {
		return "", false, err
	}
	if token.Secret != g.token {
		hash, err := HashToken(token.Secret)
		if err != nil {
			return "", false, err
		}
		g.token, g.hash = token.Secret, hash
	}
	return g.ring.Access(g.hash, g.identity.Key())
}

// RefreshInterval is how soon an embedded server learns that a key was added or revoked, or that the
// token was replaced.
const RefreshInterval = 2 * time.Second

// errOwnKey says that a coordinator continues with a key that was revoked.
var errOwnKey = errors.New("the coordinator's own key was revoked, and works until it ends: stop it, make another key with " +
	"coordinator keys add coordinator coordinator, and resume the run")

// Refresh gives the server the users and the token of now. It says once what it can't change; then the
// server keeps those from before.
func (g *Guard) Refresh(server *natsserver.Server, log zerolog.Logger) {
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

// URL returns the address for others of a server that listens at that of the server.
func (g *Guard) URL(server string) string {
	u, err := url.Parse(server)
	if err != nil {
		return server
	}
	return "tls://" + net.JoinHostPort(g.host, u.Port())
}

// JoinLine returns the command with which a worker joins. It names the files that the worker needs,
// and no secret.
func (g *Guard) JoinLine(server string) string {
	words := []string{"worker", "--nats", server, "--token-file", g.tokenFile}
	if g.authority != "" {
		words = append(words, "--tls-ca", g.authority)
	}
	return humanize.ShellWords(words...)
}

// TokenAuthorityError says that the token with which workers are to join an embedded server names another
// authority than that of the server's certificate: no worker would trust the server.
type TokenAuthorityError struct {
	TokenFile string
	Authority string // file of the server's authority
	OwnToken  string // file of the token that names it
}

func (e *TokenAuthorityError) Error() string {
	return fmt.Sprintf("%s has the certificate of another authority than the embedded server, which has that of %s: "+
		"no worker could join with it", e.TokenFile, e.Authority)
}

// checkTokenAuthority returns an error if a token names other authorities than the one that has signed the
// certificate of the server.
func checkTokenAuthority(token identity.Token, ring *Ring, tokenFile string) error {
	if token.Authority == nil {
		return nil
	}
	authority, err := ring.Authority()
	if err != nil {
		return err
	}
	for rest := token.Authority; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return &TokenAuthorityError{tokenFile, ring.AuthorityFile(), ring.TokenFile()}
		}
		if c, err := x509.ParseCertificate(block.Bytes); err == nil && c.Equal(authority) {
			return nil
		}
	}
}
