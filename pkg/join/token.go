// Package join has the files by which processes reach a NATS server that asks who they are: a token file with addresses,
// user, password and pinned certificate, and the configuration of the server. Everything in it is a secret.
package join

import (
	"bytes"
	"crypto/rand"
	"crypto/tls"
	"encoding/base32"
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

// Token lets a process connect to a server.
type Token struct {
	Servers     []string // host:port of each, the likeliest first
	User        string
	Password    string
	Certificate []byte // of the server, DER; nil for a server without TLS
}

// header begins every token file.
const header = "# nqueens token: it lets its holder connect. Keep it secret.\n"

// Text returns the file of a token.
func (t *Token) Text() []byte {
	var b bytes.Buffer
	b.WriteString(header)
	fmt.Fprintf(&b, "servers %s\nuser %s\npassword %s\n", strings.Join(t.Servers, ","), t.User, t.Password)
	if t.Certificate != nil {
		_ = pem.Encode(&b, &pem.Block{Type: certificateType, Bytes: t.Certificate}) // a buffer takes all
	}
	b.WriteString("end\n")
	return b.Bytes()
}

const certificateType = "CERTIFICATE"

// maxToken bounds a token file, in bytes.
const maxToken = 64 << 10

// errTokenFile says what a token file must be.
var errTokenFile = errors.New("it is not a whole token file of nqueens: copy it again")

// Parse reads the file of a token: exactly what [Token.Text] writes, but for the line ends of Windows. The error does not quote
// it.
func Parse(text []byte) (t Token, err error) {
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	fields := make(map[string]string)
	for line := range strings.Lines(string(text[:min(len(text), maxToken)])) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		fields[name] = value
	}
	t = Token{Servers: strings.Split(fields["servers"], ","), User: fields["user"], Password: fields["password"]}
	if block, _ := pem.Decode(text); block != nil {
		t.Certificate = block.Bytes
	}
	if t.User == "" || t.Password == "" || !bytes.Equal(t.Text(), text) {
		return Token{}, errTokenFile
	}
	return t, nil
}

// Load reads a token file.
func Load(path string) (Token, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Token{}, err
	}
	t, err := Parse(text)
	if err != nil {
		return t, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

// Save writes a token file as a whole, readable by its owner only.
func (t *Token) Save(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return durable.Write(path, t.Text(), 0o600)
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
		InsecureSkipVerify: true, // the certificate itself is compared
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

// newPassword returns a new secret of 160 bits.
func newPassword() string {
	var secret [20]byte
	rand.Read(secret[:]) // never fails, see crypto/rand
	return strings.ToLower(base32.StdEncoding.EncodeToString(secret[:]))
}

// exists reports whether there is a file; an error other than its absence is returned.
func exists(path string) (bool, error) {
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Own returns where the token file of this user's own server is, below the folder of the runs, and whether there is one.
func Own(data string) (path string, there bool) {
	path = tokenPath(data)
	there, err := exists(path)
	return path, there && err == nil
}

func tokenPath(data string) string { return filepath.Join(data, "join", FileName) }
