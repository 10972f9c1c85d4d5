package bus

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"nqueens/pkg/join"
	"nqueens/pkg/queens"
)

// Flags are how a person says which NATS server to use.
type Flags struct {
	NATS  string // one URL or several, separated by commas
	Join  string // file of a token
	Creds string // file of NATS credentials
	NKey  string // file of the key of a NATS user
	TLSCA string // file of the authority of the server's certificate
}

// Register registers the flags.
func (f *Flags) Register(flags *pflag.FlagSet) {
	flags.StringVar(&f.NATS, "nats", "", "`URL` of the NATS server, or several separated by commas")
	flags.StringVar(&f.Join, "join", "", "token `FILE` with the address, the password and the certificate of the server")
	flags.StringVar(&f.Creds, "creds", "", "`FILE` with NATS credentials")
	flags.StringVar(&f.NKey, "nkey", "", "`FILE` with the key of a NATS user")
	flags.StringVar(&f.TLSCA, "tls-ca", "", "`FILE` with the certificate of the authority that signed the server's")
}

// IsSet reports whether a server is named.
func (f *Flags) IsSet() bool { return f.NATS != "" || f.Join != "" }

// Options returns the options of a connection. With a token and URLs, the URLs replace the addresses of the token. The error
// is about a flag.
func (f *Flags) Options(name string) (Options, error) {
	o := Options{URL: f.NATS, Creds: f.Creds, NKey: f.NKey, Name: name}
	for address := range strings.SplitSeq(f.NATS, ",") {
		if scheme, _, found := strings.Cut(address, "://"); found && scheme != "nats" && scheme != "tls" {
			return o, fmt.Errorf("--nats %s: the URL of a server begins with nats:// or tls://", address)
		}
	}
	if f.Creds != "" && f.NKey != "" || f.Join != "" && (f.Creds != "" || f.NKey != "" || f.TLSCA != "") {
		return o, errors.New("--join, --creds and --nkey exclude each other, and a token has its certificate: give one of them")
	}
	if f.TLSCA != "" {
		authority, err := os.ReadFile(f.TLSCA)
		if err != nil {
			return o, fmt.Errorf("--tls-ca: %w", err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(authority) {
			return o, fmt.Errorf("--tls-ca: %s has no certificate of an authority (PEM)", f.TLSCA)
		}
		o.TLS = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool}
	}
	if f.Join == "" {
		return o, nil
	}
	t, err := join.Load(f.Join)
	if err != nil {
		return o, fmt.Errorf("%w: --join: %w", queens.ErrNoConnection, err)
	}
	if o.URL == "" {
		o.URL = t.URLs()
	}
	o.User, o.Password, o.TLS = t.User, t.Password, t.TLS()
	return o, nil
}
