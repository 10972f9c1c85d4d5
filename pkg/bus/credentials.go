package bus

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"nqueens/pkg/identity"
	"nqueens/pkg/run"
)

// Credentials are what a connection shows to the server, and how it knows the server. At most one of
// Identity, Token and Creds is set.
type Credentials struct {
	// Identity is the key of a user; nil for none.
	Identity *identity.Identity
	// Token is the secret with which workers join; empty for none. It is sent over TLS only.
	Token string
	// Creds is the path of a file with a JWT and a key, as NATS's own tools make it; empty for none.
	Creds string
	// TLS has the authority of the server's certificate, and this client's certificate; nil for TLS
	// as the server asks for it, with the authorities of the system.
	TLS *tls.Config
}

// options returns what the client library needs.
func (c *Config) options() (options []nats.Option) {
	if c.InProcess == nil && (c.TLS != nil || c.Token != "") { // a connection in this process has no TLS
		options = append(options, nats.Secure(c.TLS.Clone())) // which is nil if TLS is
	}
	switch {
	case c.Identity != nil:
		options = append(options, nats.Nkey(c.Identity.Key(), c.signNonce), inboxOption(c.Identity.Key()))
	case c.Token != "":
		options = append(options, nats.UserInfo(tokenUser, c.Token), inboxOption(tokenUser))
	case c.Creds != "":
		options = append(options, nats.UserCredentials(c.Creds))
	}
	return options
}

// signNonce signs what a server asks for at a login; not if it may be a result or a heartbeat, which the same key signs: a
// false server would choose what this key has counted.
func (c *Config) signNonce(nonce []byte) ([]byte, error) {
	if bytes.HasPrefix(nonce, []byte("nqueens ")) {
		return nil, errors.New("the server asks for the signature of a result or a heartbeat, not for a login")
	}
	return c.Identity.Sign(nonce)
}

func inboxOption(key string) nats.Option { return nats.CustomInboxPrefix(inboxPrefix(key)) }

// isRefusal reports whether an error of a connection says that the server, or what stands in its
// place, was reached and that waiting for it is of no use.
func isRefusal(err error) bool {
	return errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrNkeysNotSupported) ||
		errors.Is(err, nats.ErrSecureConnWanted) || errors.Is(err, nats.ErrSecureConnRequired) ||
		errors.As(err, new(*tls.CertificateVerificationError)) || errors.As(err, new(tls.AlertError)) ||
		errors.As(err, new(tls.RecordHeaderError)) || err != nil && strings.Contains(err.Error(), "remote error: tls:")
}

// isClosedAfterHandshake reports whether the server closed a connection right after the TLS handshake. With
// TLS 1.3 it does so if it does not accept the client's certificate, and on a busy machine the connection
// is gone before its reason is read.
func isClosedAfterHandshake(err error) bool {
	return err != nil && strings.Contains(err.Error(), "connection closed by remote after TLS handshake")
}

// hint returns what may help against an error of a connection, with a colon before it.
func (c *Config) hint(err error) string {
	var invalid x509.CertificateInvalidError
	switch {
	case errors.Is(err, nats.ErrAuthorization) && c.Identity != nil:
		return fmt.Sprintf(": the server does not know the key %s: was it revoked, or has the server not read its configuration again?",
			c.Identity.Key())
	case errors.Is(err, nats.ErrAuthorization) && c.Token != "":
		return ": the server does not know the token of --token-file: was it replaced, or is it that of another cluster or run?"
	case errors.Is(err, nats.ErrAuthorization) && c.Creds != "":
		return ": the server does not accept the credentials in " + c.Creds
	case errors.Is(err, nats.ErrAuthorization):
		return ": are the user and password in the address right? the server may also need --nkey, --token-file or --creds"
	case errors.Is(err, nats.ErrNkeysNotSupported):
		return ": the server asks for no key: leave --nkey out, or use another server"
	case errors.Is(err, nats.ErrSecureConnWanted):
		return ": the server has no TLS, and a token or what --tls-ca and --tls-cert name is for TLS only"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return ": the server's certificate, or its authority's, has expired or the clock of this machine is wrong"
	case errors.As(err, new(x509.HostnameError)):
		return ": coordinator keys init --host makes a certificate for that name"
	case errors.As(err, new(x509.UnknownAuthorityError)) && c.Token != "":
		return ": the token's file, or --tls-ca, must have the authority that signed the server's certificate: is the file that of another cluster or run?"
	case errors.As(err, new(x509.UnknownAuthorityError)):
		return ": --tls-ca must name the authority that signed the server's certificate"
	case errors.As(err, new(*tls.CertificateVerificationError)):
		return ": the server's certificate is not valid"
	case err != nil && strings.Contains(err.Error(), "remote error: tls:"):
		return ": the server does not accept this client's certificate: see --tls-cert and --tls-key"
	case isClosedAfterHandshake(err):
		return ": the server closed the connection: if it asks for certificates, see --tls-cert and --tls-key"
	}
	return ": is a server running there, and is the address right?"
}

// A request that the server does not permit gets no answer. The server says so in a message of its
// own, which comes within milliseconds and names the subject. What this program needs for its part it
// needs all the time, so the first such message ends all requests of the connection, with the reason,
// and [Bus.WaitClosed].

var violation = regexp.MustCompile(`(?i)permissions violation for (publish|subscription) to "([^"]*)"`)

// denied returns what an asynchronous error of the connection denies, or nil.
func (c *Config) denied(err error) error {
	if !errors.Is(err, nats.ErrPermissionViolation) {
		return nil
	}
	action, subject := "publish to", ""
	if found := violation.FindStringSubmatch(err.Error()); found != nil {
		subject = found[2]
		if strings.EqualFold(found[1], "subscription") {
			action = "receive"
		}
	}
	return c.deniedError(action, subject)
}

// deniedError returns an error that says what the server does not permit, whom, and who may do it. It wraps
// [run.ErrNoConnection]: the server refuses the credentials.
func (c *Config) deniedError(action, subject string) error {
	user, role := "this user", ""
	switch {
	case c.Identity != nil:
		user, role = "the user with the key "+c.Identity.Key(), c.Identity.Role
	case c.Token != "":
		user, role = "a user with a token", string(Worker)
	}
	if role != "" {
		role = "its role is " + role + ", and "
	}
	return fmt.Errorf("%w: %s may not %s %.200q: %sthis needs the role %s: name a key with --nkey",
		run.ErrNoConnection, user, action, subject, role, neededRole(subject))
}

// noStreams explains that the account of the user has no streams, such as that of watchers.
func (b *Bus) noStreams(err error) error {
	if hasCode(err, jetstream.JSErrCodeJetStreamNotEnabledForAccount) {
		err = b.cfg.deniedError("change", bucketSubject+">")
		b.refuse(err)
	}
	return err
}

// neededRole returns the least role that may use a subject.
func neededRole(subject string) Role {
	isOf := func(pattern string) bool { return strings.HasPrefix(subject, strings.TrimRight(pattern, "*>")) }
	switch {
	case slices.ContainsFunc(slices.Concat(workerServices, workerReceives), isOf):
		return Worker
	case slices.ContainsFunc(slices.Concat(watcherServices, watcherReceives), isOf):
		return Watcher
	}
	return Coordinator
}
