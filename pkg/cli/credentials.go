package cli

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"github.com/rs/zerolog"

	"nqueens/pkg/identity"
)

// maxCredentials bounds the size of a file of credentials in bytes.
const maxCredentials = 1 << 20

// load reads the files of the credentials. Its error names the flag and the file, and says what the flag
// needs and what the file holds instead, without quoting it.
func (c *Connection) load(log zerolog.Logger) error {
	if c.NKey != "" {
		err := loadFile(log, "nkey", c.NKey, secret, "the seed of a user, which begins with SU", func(text []byte) (err error) {
			c.Identity, err = identity.Parse(text)
			return err
		})
		if err != nil {
			return err
		}
	}
	if c.TokenFile != "" {
		err := loadFile(log, "token-file", c.TokenFile, secret, "a token, and perhaps a certificate of an authority after it", func(text []byte) (err error) {
			c.Token, err = identity.ParseToken(text)
			return err
		})
		if err != nil {
			return err
		}
	}
	if c.Creds != "" {
		return loadFile(log, "creds", c.Creds, secret, "NATS credentials, the JWT and the seed of a user", identity.CheckCreds)
	}
	return nil
}

// loadTLS reads the authority, which a token's file may also hold, and the certificate.
func (c *Connection) loadTLS(log zerolog.Logger) error {
	c.TLS = nil
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	const authority = "a certificate of an authority (PEM)"
	trust := func(text []byte) error {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return errors.New("it has no certificate that can be read")
		}
		c.TLS = config
		return nil
	}
	switch {
	case c.Authority != "":
		if err := loadFile(log, "tls-ca", c.Authority, public, authority, trust); err != nil {
			return err
		}
	case c.Token.Authority != nil:
		if err := trust(c.Token.Authority); err != nil {
			return Usagef("--token-file: %s must hold a token, and perhaps %s after it: %w", c.TokenFile, authority, err)
		}
	}
	if (c.certificate == "") != (c.key == "") {
		return Usagef("--tls-cert and --tls-key belong together: give both")
	}
	if c.certificate == "" {
		return nil
	}
	var certificate, key []byte
	err := loadFile(log, "tls-cert", c.certificate, public, "a certificate (PEM)", func(text []byte) error {
		certificate = text
		return holds(text, "a certificate")
	})
	if err != nil {
		return err
	}
	err = loadFile(log, "tls-key", c.key, secret, "the private key of a certificate (PEM)", func(text []byte) error {
		key = text
		return holds(text, "the private key of a certificate")
	})
	if err != nil {
		return err
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return Usagef("--tls-cert and --tls-key: %s and %s: %w", c.certificate, c.key, err)
	}
	config.Certificates = []tls.Certificate{pair}
	c.TLS = config
	return nil
}

// holds returns an error if a text is known to be of another kind. A PEM file may begin with a comment.
func holds(text []byte, kind string) error {
	if is := identity.KindOf(text); is != kind && (is != "" || !bytes.Contains(text, []byte("-----BEGIN "))) {
		return errors.New("it is no such PEM file")
	}
	return nil
}

// Whether a file holds a secret.
const (
	public = false
	secret = true
)

// loadFile gives the content of a flag's file to parse, and warns of a secret that everybody can read.
// What the flag needs begins with the words of [identity.KindOf].
func loadFile(log zerolog.Logger, flag, path string, isSecret bool, needs string, parse func(text []byte) error) error {
	text, mode, err := readFile(path)
	if err != nil {
		return Usagef("--%s: %w: it needs a file with %s", flag, err, needs)
	}
	if err := parse(text); err != nil {
		if kind := identity.KindOf(text); kind != "" && !strings.HasPrefix(needs, kind) {
			err = fmt.Errorf("it holds %s", kind)
		}
		return Usagef("--%s: %s must hold %s: %w", flag, path, needs, err)
	}
	// Windows has no such modes.
	if isSecret && mode.IsRegular() && mode.Perm()&0o004 != 0 && runtime.GOOS != "windows" {
		log.Warn().Str("flag", "--"+flag).Str("file", path).Msg("every user of this machine can read a secret: chmod 600 its file")
	}
	return nil
}

// readFile reads a file that is not too large.
func readFile(path string) (text []byte, mode os.FileMode, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = file.Close() }() // it was only read
	info, err := file.Stat()
	if err != nil {
		return nil, 0, err
	}
	if info.IsDir() {
		return nil, 0, fmt.Errorf("%s is a folder", path)
	}
	text, err = io.ReadAll(io.LimitReader(file, maxCredentials+1))
	if err == nil && len(text) > maxCredentials {
		err = fmt.Errorf("%s has more than %d bytes", path, maxCredentials)
	}
	return text, info.Mode(), err
}
