package identity

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/nats-io/nkeys"

	"nqueens/pkg/durable"
)

// Token is what a worker needs to join a cluster: it admits as worker only.
type Token struct {
	Secret string
	// Authority is the certificate of the authority that has signed that of the server, as PEM; nil
	// if the token's file has none.
	Authority []byte
}

// A token's file has the secret in its first line, and after it a certificate or none.
var (
	tokenSecret = regexp.MustCompile(`^[0-9A-Za-z_-]{20,64}$`)
	pemBegin    = []byte("-----BEGIN CERTIFICATE-----")
)

// MaxTokenFile bounds the size of a token's file in bytes.
const MaxTokenFile = 64 << 10

// LoadToken reads a token from its file.
func LoadToken(path string) (Token, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Token{}, fmt.Errorf("the token: %w", err)
	}
	t, err := ParseToken(data)
	if err != nil {
		return Token{}, fmt.Errorf("the token in %s: %w", path, err)
	}
	return t, nil
}

// LoadOrCreateToken reads a token from its file, or makes a new one, in a folder of its own if need be,
// which only the owner can read.
func LoadOrCreateToken(path string) (Token, error) {
	t, err := LoadToken(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return t, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return Token{}, fmt.Errorf("a new token: %w", err)
	}
	if err := durable.WriteNew(path, NewToken().Text(), 0o600); err != nil && !errors.Is(err, fs.ErrExist) {
		return Token{}, fmt.Errorf("a new token: %w", err)
	}
	return LoadToken(path) // that of the process that was first
}

// ParseToken returns the token in the text of a file. The error does not quote the text.
func ParseToken(data []byte) (Token, error) {
	first, rest, _ := bytes.Cut(bytes.TrimSpace(data), []byte("\n"))
	first, rest = bytes.TrimSpace(first), bytes.TrimSpace(rest)
	switch {
	case len(data) > MaxTokenFile:
		return Token{}, fmt.Errorf("it has %d bytes", len(data))
	case isSeed(first) || nkeys.IsValidPublicKey(string(first)): // which no server should see as a token
		return Token{}, errors.New("it holds a key")
	case !tokenSecret.Match(first):
		return Token{}, errors.New("its first line must be 20 to 64 letters, digits, - and _")
	case len(rest) > 0 && !bytes.HasPrefix(rest, pemBegin):
		return Token{}, errors.New("after its first line there may only be the certificate of an authority")
	case len(rest) == 0:
		return Token{Secret: string(first)}, nil
	}
	return Token{Secret: string(first), Authority: append(rest, '\n')}, nil
}

// NewToken returns a new token, without an authority.
func NewToken() Token { return Token{Secret: rand.Text() + rand.Text()} } // 260 random bits

// Text returns what the token's file holds, which only its owner should read.
func (t Token) Text() []byte { return slices.Concat([]byte(t.Secret+"\n"), t.Authority) }

// Admission returns the proof that the owner of a public key knows the join token, 32 bytes:
// HMAC-SHA256 under the token of "nqueens admit " and the key. It says nothing of the token.
func Admission(token []byte, key string) []byte {
	mac := hmac.New(sha256.New, token)
	mac.Write([]byte("nqueens admit " + key))
	return mac.Sum(nil)
}

// IsAdmitted reports whether a proof is the [Admission] of a key. An empty token admits no key. The
// time that it takes tells nothing of the right proof.
func IsAdmitted(token []byte, key string, proof []byte) bool {
	return len(token) > 0 && hmac.Equal(proof, Admission(token, key))
}

// IsKey reports whether a text is the public key of a user.
func IsKey(text string) bool {
	return len(text) == keyLen && nkeys.IsValidPublicUserKey(text) // which ignores line ends
}

// keyLen is the length of a public key in its text form.
const keyLen = 56

// isSeed reports whether a text is the seed of a key of any kind.
func isSeed(text []byte) bool {
	pair, err := nkeys.FromSeed(text)
	if err == nil {
		pair.Wipe()
	}
	return err == nil
}
