package cli

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"runtime"

	"github.com/rs/zerolog"

	"nqueens/pkg/identity"
)

// load reads the files of the credentials. Its error names the flag and the file, and says what the flag
// needs, without quoting the file.
func (c *Connection) load(log zerolog.Logger) (err error) {
	if c.NKey != "" {
		if c.Identity, err = identity.Load(c.NKey); err != nil {
			return Usagef("--nkey: %w", err)
		}
	}
	if c.TokenFile != "" {
		if c.TokenFile == stdin {
			c.Token, err = pasted(os.Stdin, os.Stderr)
		} else {
			c.Token, err = identity.LoadToken(c.TokenFile)
		}
		if err != nil {
			return Usagef("--token-file: %w", err)
		}
	}
	if c.Creds != "" {
		if err := identity.CheckCreds(c.Creds); err != nil {
			return Usagef("--creds: %w", err)
		}
	}
	for _, path := range []string{c.NKey, c.TokenFile, c.Creds, c.key} {
		WarnOfReaders(log, path)
	}
	return c.loadTLS()
}

// loadTLS reads the authority, which a token's file may also hold, and the certificate.
func (c *Connection) loadTLS() error {
	c.TLS = nil
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	authority, flag, path := c.Token.Authority, "token-file", c.TokenFile
	if c.Authority != "" {
		flag, path = "tls-ca", c.Authority
		var err error
		if authority, err = os.ReadFile(path); err != nil {
			return Usagef("--tls-ca: %w", err)
		}
	}
	if c.Authority != "" || authority != nil {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(authority) {
			return Usagef("--%s: %s has no certificate of an authority (PEM) that can be read", flag, path)
		}
		c.TLS = config
	}
	if (c.certificate == "") != (c.key == "") {
		return Usagef("--tls-cert and --tls-key belong together: give both")
	}
	if c.certificate != "" {
		pair, err := tls.LoadX509KeyPair(c.certificate, c.key)
		if err != nil {
			return Usagef("--tls-cert %s and --tls-key %s must be the files of a certificate and its key (PEM): %w", c.certificate, c.key, err)
		}
		config.Certificates = []tls.Certificate{pair}
		c.TLS = config
	}
	return nil
}

// WarnOfReaders warns of the file of a secret that every user can read. Windows has no such modes.
func WarnOfReaders(log zerolog.Logger, path string) {
	info, err := os.Stat(path)
	if err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o004 != 0 && runtime.GOOS != "windows" {
		log.Warn().Str("file", path).Msg("every user of this machine can read a secret: chmod 600 its file")
	}
}
