// Package join reads and writes the files with which processes authenticate to a NATS server. A
// token file has the addresses of the server, a user, a password and a pinned certificate. The
// package also writes the configuration of the server. All these files are secrets.
package join

import (
	"bytes"
	"crypto/rand"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"nqueens/pkg/durable"
	"nqueens/pkg/queens"
)

// FileName is the name of the token file of the user [queens.WorkerUser]. Beside it are those of
// the users that were invited.
const FileName = "join.token"

// Token lets a process connect to a server.
type Token struct {
	Servers     []string // host:port of each
	User        string
	Password    string
	Certificate []byte // of the server, DER; nil for a server without TLS
}

// form is the first part of a token file. The certificate follows, if there is one, and then a last
// line.
const form = "# nqueens token: it lets its holder connect. Keep it secret.\nservers %s\nuser " +
	"%s\npassword %s\n"

// Text returns the content of a token file.
func (t *Token) Text() []byte {
	text := fmt.Appendf(nil, form, strings.Join(t.Servers, ","), t.User, t.Password)
	if t.Certificate != nil {
		text = append(text, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: t.Certificate})...)
	}
	return append(text, "end\n"...)
}

// Parse parses the content of a token file. It accepts exactly what [Token.Text] returns, and the
// same with the line ends of Windows. The error does not quote the content.
func Parse(text []byte) (t Token, err error) {
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	var servers string
	_, err = fmt.Sscanf(string(text), form, &servers, &t.User, &t.Password)
	t.Servers = strings.Split(servers, ",")
	if block, _ := pem.Decode(text); block != nil {
		t.Certificate = block.Bytes
	}
	if err != nil || queens.ValidateUser(t.User) != nil || !bytes.Equal(t.Text(), text) {
		return Token{}, errors.New("it is not a whole token file of nqueens: copy it again")
	}
	return t, nil
}

// Load reads a token file.
func Load(path string) (t Token, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return t, err
	}
	if t, err = Parse(text); err != nil {
		return t, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

// loadOrMake reads a token file. If there is none, or if renew is set, it returns a token with a
// new password.
func loadOrMake(path, user string, renew bool) (Token, error) {
	t, err := Load(path)
	if renew || errors.Is(err, fs.ErrNotExist) {
		return Token{User: user, Password: rand.Text()}, nil
	}
	return t, err
}

// Save writes a token file, as a whole or not at all. Only its owner can read it.
func (t *Token) Save(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return durable.Write(path, t.Text())
}

// Own returns the path of the token file of the embedded server, in the folder of the runs, and
// whether the file exists.
func Own(data string) (path string, there bool) {
	path = filepath.Join(data, "join", FileName)
	_, err := os.Stat(path)
	return path, err == nil
}

// URLs returns the URLs of the servers, separated by commas, as NATS clients expect them.
func (t *Token) URLs() string {
	scheme := "nats://"
	if t.Certificate != nil {
		scheme = "tls://"
	}
	return scheme + strings.Join(t.Servers, ","+scheme)
}

// TLS returns the configuration of a client that accepts only the pinned certificate, whatever
// names are in it. For a token without a certificate, TLS returns nil.
func (t *Token) TLS() *tls.Config {
	if t.Certificate == nil {
		return nil
	}
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		InsecureSkipVerify: true, //nolint:gosec // the certificate itself is compared
		VerifyConnection: func(state tls.ConnectionState) error {
			if len(state.PeerCertificates) == 0 ||
				!bytes.Equal(state.PeerCertificates[0].Raw, t.Certificate) {
				return &tls.CertificateVerificationError{
					UnverifiedCertificates: state.PeerCertificates,
					Err: errors.New(
						"the token has another certificate: copy the server's token file again"),
				}
			}
			return nil
		},
	}
}
