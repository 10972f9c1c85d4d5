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
	TokenFile string // file of a token, or - for standard input; empty for none
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
// with what the command uses the server for, and names the key of the role that suffices. A connection with
// a default URL is required.
func ConnectionFlags(flags *pflag.FlagSet, defaultURL, purpose, role string) *Connection {
	c := &Connection{required: defaultURL != ""}
	FlagGroup(flags, "Server", func(flags *pflag.FlagSet) {
		flags.StringVar(&c.URL, "nats", defaultURL, purpose+" the NATS server at this `URL`, or several, with commas")
		for _, f := range []struct {
			value       *string
			name, usage string
		}{
			{&c.NKey, "nkey", "`FILE` of the key, such as keys/" + role + ".nkey"},
			{&c.TokenFile, "token-file", "`FILE` of a join token instead, or - to paste it"},
			{&c.Creds, "creds", "`FILE` of NATS credentials instead"},
			{&c.Authority, "tls-ca", "`FILE` of the server's authority, such as keys/ca.crt"},
			{&c.certificate, "tls-cert", "`FILE` of this side's certificate"},
			{&c.key, "tls-key", "`FILE` of its key"},
		} {
			flags.StringVar(f.value, f.name, "", f.usage)
			_ = cobra.MarkFlagFilename(flags, f.name) // fails only for unknown flags
		}
	})
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
	return c.load(log)
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
			return Usagef("--nats must be the URL of a server, such as nats://127.0.0.1:4222, or several, separated by commas, not %q",
				address[strings.LastIndex(address, "@")+1:])
		}
	}
	return nil
}
