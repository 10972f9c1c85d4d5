package bus

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/spf13/pflag"

	"nqueens/pkg/join"
	"nqueens/pkg/queens"
)

// Flags are the command-line flags that name the NATS server.
type Flags struct {
	Options        // URL, User, Creds, NKey and TLSCA
	Join    string // file of a token
}

// Files are the names of the flags whose values are paths.
var Files = []string{"join", "creds", "nkey", "tls-ca"}

// Register registers the flags.
func (f *Flags) Register(flags *pflag.FlagSet) {
	flags.StringVar(&f.URL, "nats", "", "`URL` of the NATS server, or several separated by commas")
	flags.StringVar(&f.Join, "join", "",
		"token `FILE` with the address, the password and the certificate of the server")
	flags.StringVar(&f.Creds, "creds", "", "`FILE` with NATS credentials")
	flags.StringVar(&f.NKey, "nkey", "", "`FILE` with the key of a NATS user")
	flags.StringVar(&f.User, "user", "",
		"`NAME` of the NATS user, if --nats has no token (default worker)")
	flags.StringVar(&f.TLSCA, "tls-ca", "",
		"`FILE` with the certificate of the authority that signed the server's")
}

// IsSet reports whether the flags name a server.
func (f *Flags) IsSet() bool { return f.URL != "" || f.Join != "" }

// Connection returns the options for a connection with this name. With a token and URLs, the URLs
// replace the addresses of the token. The error names the flag that is wrong.
func (f *Flags) Connection(name string) (Options, error) {
	o := f.Options
	o.Name = name
	if err := f.validate(); err != nil || f.Join == "" {
		return o, err
	}
	t, err := join.Load(f.Join)
	if errors.Is(err, fs.ErrNotExist) {
		return o, fmt.Errorf(
			"--join: there is no token %s: copy join.token from below --data of the machine on which "+
				"coordinator count --listen runs, or from the folder of coordinator keys", f.Join)
	}
	if err != nil {
		return o, fmt.Errorf("--join: %w", err)
	}
	urls := o.URL
	o = WithToken(t, name)
	o.URL = cmp.Or(urls, o.URL)
	return o, nil
}

// validate returns an error unless the flags go together, and each of them is right by itself.
func (f *Flags) validate() error {
	for address := range strings.SplitSeq(f.URL, ",") {
		if scheme, _, found := strings.Cut(address, "://"); found && scheme != "nats" && scheme != "tls" {
			return fmt.Errorf("--nats %s: the URL of a server begins with nats:// or tls://", address)
		}
	}
	if f.User != "" && f.Join != "" {
		return errors.New("--user and --join exclude each other: a token has its user")
	}
	if f.User != "" {
		if err := queens.ValidateUser(f.User); err != nil {
			return fmt.Errorf("--user: %w", err)
		}
	}
	if f.Creds != "" && f.NKey != "" ||
		f.Join != "" && (f.Creds != "" || f.NKey != "" || f.TLSCA != "") {
		return errors.New("--join, --creds and --nkey exclude each other, and a token has its " +
			"certificate: give one of them")
	}
	if f.TLSCA != "" {
		if err := nats.RootCAs(f.TLSCA)(new(nats.Options)); err != nil {
			return fmt.Errorf("--tls-ca: %w", err)
		}
	}
	return nil
}

// WithToken returns the options for a connection with this name to the server of a token.
func WithToken(t join.Token, name string) Options {
	return Options{URL: t.URLs(), User: t.User, Password: t.Password, TLS: t.TLS(), Name: name}
}
