package keyring

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"golang.org/x/crypto/bcrypt"

	"nqueens/pkg/bus"
)

// access returns the part of the server's configuration that says who may do what. The server sees its
// folder at serverDir.
func access(serverDir string, users []bus.User, tokenHash string) string {
	access := bus.Access{
		Users: users, TokenHash: tokenHash,
		Certificate: filepath.Join(serverDir, certFile), CertificateKey: filepath.Join(serverDir, certKey),
	}
	return access.ServerConfig()
}

// Access returns the part of the configuration that says who may do what, for a server in this process.
// It names the files where they are now: the folder may have been moved. The hash is that of the token,
// see [HashToken]. The coordinator of this process stays a user even if its key was revoked; Access
// reports that.
func (r *Ring) Access(tokenHash, coordinator string) (config string, revoked bool, err error) {
	users, err := r.Users()
	if err != nil {
		return "", false, err
	}
	if revoked = find(users, coordinator) < 0; revoked {
		users = append(users, bus.User{Role: bus.Coordinator, Name: "revoked, but in use", Key: coordinator})
	}
	return access(r.path(serverDir), users, tokenHash), revoked, nil
}

var hashInConfig = regexp.MustCompile(`password: "([^"]+)"`)

// tokenHash returns the hash of the token that the configuration has already, so that the server does
// not disconnect the users of the token when it reads a new one, or else another.
func (r *Ring) tokenHash(token string) (string, error) {
	old, err := os.ReadFile(r.ServerConfig())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("keys: %w", err)
	}
	found := hashInConfig.FindSubmatch(old)
	if len(found) > 1 && bcrypt.CompareHashAndPassword(found[1], []byte(token)) == nil {
		return string(found[1]), nil
	}
	return HashToken(token)
}

// HashToken returns the form of a token that the server keeps. The token has 32 random bytes, so the
// least cost of the hash is enough.
func HashToken(token string) (string, error) {
	hash, err := bcrypt.GenerateFromPassword([]byte(token), bcrypt.MinCost)
	return string(hash), err
}
