// Package join has the files by which processes reach a NATS server that asks who they are: a token file with addresses,
// user, password and pinned certificate, and the configuration of the server. Everything in it is a secret.
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
)

// FileName is the name of the file that lets workers join, alone in its folder.
const FileName = "join.token"

// The users of a server, each with its least permissions; see [Permissions].
const (
	Coordinator = "coordinator"
	Worker      = "worker"
	Watcher     = "watcher"
)

var users = []string{Coordinator, Worker, Watcher}

// Token lets a process connect to a server.
type Token struct {
	Servers     []string // host:port of each
	User        string
	Password    string
	Certificate []byte // of the server, DER; nil for a server without TLS
}

// form is what a token file begins with. After it come the certificate, if there is one, and a last line.
const form = "# nqueens token: it lets its holder connect. Keep it secret.\nservers %s\nuser %s\npassword %s\n"

// Text returns the file of a token.
func (t *Token) Text() []byte {
	text := fmt.Appendf(nil, form, strings.Join(t.Servers, ","), t.User, t.Password)
	if t.Certificate != nil {
		text = append(text, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: t.Certificate})...)
	}
	return append(text, "end\n"...)
}

// Parse reads the file of a token: exactly what [Token.Text] writes, but for the line ends of Windows. The error does not quote
// it.
func Parse(text []byte) (t Token, err error) {
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	var servers string
	_, err = fmt.Sscanf(string(text), form, &servers, &t.User, &t.Password)
	t.Servers = strings.Split(servers, ",")
	if block, _ := pem.Decode(text); block != nil {
		t.Certificate = block.Bytes
	}
	if err != nil || !bytes.Equal(t.Text(), text) {
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

// loadOrMake reads a token file. If there is none, or with renew, it returns a token with a new password.
func loadOrMake(path, user string, renew bool) (Token, error) {
	t, err := Load(path)
	if renew || errors.Is(err, fs.ErrNotExist) {
		return Token{User: user, Password: rand.Text()}, nil
	}
	return t, err
}

// Save writes a token file as a whole, readable by its owner only.
func (t *Token) Save(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return durable.Write(path, t.Text())
}

// Own returns where the token file of this user's own server is, below the folder of the runs, and whether there is one.
func Own(data string) (path string, there bool) {
	path = filepath.Join(data, "join", FileName)
	_, err := os.Stat(path)
	return path, err == nil
}

// URLs returns the addresses of the servers, as NATS clients take them, separated by commas.
func (t *Token) URLs() string {
	scheme := "nats://"
	if t.Certificate != nil {
		scheme = "tls://"
	}
	return scheme + strings.Join(t.Servers, ","+scheme)
}

// TLS returns the configuration of a client that accepts the pinned certificate and no other, whatever names are in it; nil
// without a certificate.
func (t *Token) TLS() *tls.Config {
	if t.Certificate == nil {
		return nil
	}
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		InsecureSkipVerify: true, //nolint:gosec // the certificate itself is compared
		VerifyConnection: func(state tls.ConnectionState) error {
			if len(state.PeerCertificates) == 0 || !bytes.Equal(state.PeerCertificates[0].Raw, t.Certificate) {
				return &tls.CertificateVerificationError{
					UnverifiedCertificates: state.PeerCertificates,
					Err:                    errors.New("it is not the one of the token: copy the token file of the server again"),
				}
			}
			return nil
		},
	}
}
