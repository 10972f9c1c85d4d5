// Package identity holds the keys of workers, coordinators and watchers: Ed25519 keys in the
// form of NATS, NKeys of users. A worker signs its results with its key, and may log in with the
// same. The package does no networking.
package identity

import (
	"bytes"
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

// Identity is a private key.
type Identity struct {
	// Role is what the key's file says of its user, such as worker; it may be empty, and proves
	// nothing.
	Role string

	pair nkeys.KeyPair
	key  string
}

// New makes a key.
func New() (*Identity, error) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		return nil, err
	}
	return fromPair(pair)
}

// roleLine is the second line of a file with a key whose user has a role.
var roleLine = regexp.MustCompile(`^# role: ([a-z]{1,20})$`)

// Parse returns the key with a seed: SU and 56 letters and digits. The user's role may follow in a
// line of its own.
func Parse(text []byte) (*Identity, error) {
	seed, rest, _ := bytes.Cut(bytes.TrimSpace(text), []byte("\n"))
	pair, err := nkeys.FromSeed(bytes.TrimSpace(seed))
	if err != nil {
		return nil, err
	}
	id, err := fromPair(pair)
	if role := roleLine.FindSubmatch(bytes.TrimSpace(rest)); err == nil && role != nil {
		id.Role = string(role[1])
	}
	return id, err
}

func fromPair(pair nkeys.KeyPair) (*Identity, error) {
	key, err := pair.PublicKey()
	if err == nil && !nkeys.IsValidPublicUserKey(key) {
		err = errors.New("it is no key of a user")
	}
	if err != nil {
		return nil, err
	}
	return &Identity{pair: pair, key: key}, nil
}

// Load reads a key from a file that holds its seed.
func Load(path string) (*Identity, error) {
	seed, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("the key: %w", err)
	}
	id, err := Parse(seed)
	if err != nil {
		return nil, fmt.Errorf("the key in %s: %w: the file must hold the seed of a user, which begins with SU", path, err)
	}
	return id, nil
}

// LoadOrCreate reads a key from a file. It makes the key, which only its owner can read, and the
// folder if there is none. Several processes may call it at once: all get the same key.
func LoadOrCreate(path string) (*Identity, error) {
	id, err := Load(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return id, err
	}
	if id, err = New(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("a new key: %w", err)
	}
	if err := id.Create(path); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return Load(path) // the key of the process that was first
}

// StateFolder returns the folder in which programs keep their keys and runs by default,
// $XDG_STATE_HOME/nqueens. The XDG Base Directory Specification puts there what should persist but
// is not worth a backup.
func StateFolder() (string, error) {
	state := os.Getenv("XDG_STATE_HOME")
	if state == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		state = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(state, "nqueens"), nil
}

// Create writes the seed to a new file, which only its owner can read.
func (id *Identity) Create(path string) error {
	seed, err := id.pair.Seed()
	if err != nil {
		return err
	}
	text := slices.Concat(seed, []byte("\n"))
	if id.Role != "" {
		text = append(text, "# role: "+id.Role+"\n"...)
	}
	if err := durable.WriteNew(path, text, 0o600); err != nil {
		return fmt.Errorf("a new key: %w", err)
	}
	return nil
}

// Key returns the public key: U and 55 letters and digits.
func (id *Identity) Key() string { return id.key }

// Sign returns the signature of a text, 64 bytes.
func (id *Identity) Sign(text []byte) ([]byte, error) { return id.pair.Sign(text) }

// Verify returns nil if the owner of a public key has signed a text. It takes a key in one form only, that of [IsKey]:
// by its text a key is a voter, is quarantined, and is named to workers.
func Verify(key string, text, signature []byte) error {
	if !IsKey(key) {
		return fmt.Errorf("%.80q is no public key of a user", key)
	}
	pair, err := nkeys.FromPublicKey(key)
	if err == nil {
		err = pair.Verify(text, signature)
	}
	if err != nil {
		return fmt.Errorf("the signature is not that of key %s: %w", key, err)
	}
	return nil
}
