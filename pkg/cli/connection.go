package cli

import (
	"crypto/tls"
	"strings"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"nqueens/pkg/identity"
)

// Connection is how a command reaches its NATS server, as the person wrote it.
type Connection struct {
	URL       string // one or several, separated by commas; empty without --nats
	NKey      string // file of a user's key; empty for none
	TokenFile string // file of a token; empty for none
	Creds     string // file with a JWT and a key; empty for none
	Authority string // file of the authority that has signed the server's certificate; empty for none

	// What the files hold, after Check.

	Identity *identity.Identity // of NKey
	Token    identity.Token     // of TokenFile
	TLS      *tls.Config        // nil for the authorities of the system and no certificate of this side

	certificate, key string // files
	required         bool
}

// ConnectionFlags registers the flags of a connection to a NATS server. The usage begins
// with what the command uses the server for. A connection with a default URL is required.
func ConnectionFlags(flags *pflag.FlagSet, defaultURL, purpose string) *Connection {
	c := &Connection{required: defaultURL != ""}
	flags.StringVar(&c.URL, "nats", defaultURL, purpose+" the NATS server at this `URL`, or these, separated by commas")
	for _, f := range []struct {
		value       *string
		name, usage string
	}{
		{&c.NKey, "nkey", "`FILE` of the key with which to connect, such as keys/coordinator.nkey"},
		{&c.TokenFile, "token-file", "`FILE` of the token with which a worker connects, such as keys/worker/join.token"},
		{&c.Creds, "creds", "`FILE` of NATS credentials with which to connect: a JWT and a key"},
		{&c.Authority, "tls-ca", "`FILE` of the authority that has signed the server's certificate"},
		{&c.certificate, "tls-cert", "`FILE` of the certificate to show to the server"},
		{&c.key, "tls-key", "`FILE` of that certificate's key"},
	} {
		flags.StringVar(f.value, f.name, "", f.usage)
		_ = cobra.MarkFlagFilename(flags, f.name) // fails only for unknown flags
	}
	return c
}

// Check validates the flags, and reads the files that they name. Its error does not repeat a user,
// a password or what a file holds. It warns of secrets that every user of the machine can read.
func (c *Connection) Check(log zerolog.Logger) error {
	if err := c.checkURL(); err != nil {
		return err
	}
	ways := 0
	for _, file := range []string{c.NKey, c.TokenFile, c.Creds} {
		if file != "" {
			ways++
		}
	}
	if ways > 1 {
		return Usagef("--nkey, --token-file and --creds exclude each other: give one of them")
	}
	if err := c.load(log); err != nil {
		return err
	}
	return c.loadTLS(log)
}

func (c *Connection) checkURL() error {
	switch {
	case c.URL == "" && c.required:
		return Usagef("--nats is empty: it must name a server, such as nats://127.0.0.1:4222")
	case c.URL == "":
		return nil
	}
	for address := range strings.SplitSeq(c.URL, ",") {
		if address = strings.TrimSpace(address); !isServer(address) {
			at := strings.LastIndex(address, "@")
			hint := ""
			if at >= 0 {
				hint = "; a user or password has %2F, %3F, %23 and %40 for / ? # and @"
			}
			return Usagef("--nats must be the URL of a server, such as nats://127.0.0.1:4222, or several, separated by commas, not %q%s",
				address[at+1:], hint)
		}
	}
	return nil
}
