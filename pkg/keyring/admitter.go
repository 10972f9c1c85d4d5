package keyring

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"nqueens/pkg/bus"
	"nqueens/pkg/identity"
)

// Sources say where an [Admitter] learns which workers are admitted. Empty ones are left out.
type Sources struct {
	Folder    string // of keys, or its folder "coordinator": the workers that it lists, and those who know its token
	TokenFile string // those who know this token, and not that of the folder
	List      string // a file with the public keys of workers, one a line; see [ErrList]
}

// ErrList says that a list of public keys is none. Each line has the public key of a user, or nothing;
// a # begins a comment.
var ErrList = errors.New("the list of admitted keys")

// Admitter says which workers are admitted. It is safe for concurrent use, and reads no file but in
// [NewAdmitter] and [Admitter.Reread].
type Admitter struct {
	users, list *source[map[string]bool]
	tokens      []*source[string] // the first that has one counts
	current     atomic.Pointer[admitted]
}

// admitted are the keys that an Admitter admits. It is not changed.
type admitted struct {
	users, listed map[string]bool
	token         string // empty for none
}

// source is a file that is read again when its content has changed.
type source[T any] struct {
	path  string
	data  []byte // that value was read from; nil before
	value T
	parse func(path string, data []byte) (T, error)
}

// IsFolder reports whether a folder is one of keys, or has what a coordinator needs of one.
func IsFolder(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, usersFile))
	return err == nil && info.Mode().IsRegular()
}

// NewAdmitter returns the admitter of some sources. The error names a file that can't be used; it wraps
// [ErrList] if that is the list of public keys.
func NewAdmitter(from Sources) (*Admitter, error) {
	a := new(Admitter)
	if from.Folder != "" {
		a.users = &source[map[string]bool]{path: filepath.Join(from.Folder, usersFile), parse: parseWorkers}
		// Of all keys, or of what a coordinator needs.
		for _, name := range []string{tokenFile, tokenName} {
			a.tokens = append(a.tokens, &source[string]{path: filepath.Join(from.Folder, name), parse: parseSecret})
		}
	}
	if from.TokenFile != "" {
		a.tokens = []*source[string]{{path: from.TokenFile, parse: parseSecret}}
	}
	if from.List != "" {
		a.list = &source[map[string]bool]{path: from.List, parse: parseList}
	}
	_, err := a.Reread()
	return a, err
}

// Admits reports whether a worker's key is admitted, and if so, whether by token: because the proof is that
// of the token, see [identity.Admission], and the key is not listed.
func (a *Admitter) Admits(key string, proof []byte) (admitted, byToken bool) {
	now := a.current.Load()
	if now.users[key] || now.listed[key] {
		return true, false
	}
	byToken = identity.IsAdmitted([]byte(now.token), key, proof)
	return byToken, byToken
}

// Count returns how many keys are listed, or are one of those given, and whether there is a token too. A
// token admits any number of keys.
func (a *Admitter) Count(others ...string) (keys int, token bool) {
	now := a.current.Load()
	all := make(map[string]bool, len(now.users)+len(now.listed)+len(others))
	maps.Copy(all, now.users)
	maps.Copy(all, now.listed)
	for _, key := range others {
		all[key] = true
	}
	return len(all), now.token != ""
}

// Reread reads the files again, and reports whether others are admitted than before. It keeps what it had of
// a file that it can't read; the error names each such file. Calls must not overlap.
func (a *Admitter) Reread() (changed bool, err error) {
	before, now := a.current.Load(), new(admitted)
	if a.users != nil {
		err = a.users.reread()
		now.users = a.users.value
	}
	if a.list != nil {
		if failed := a.list.reread(); failed != nil {
			err = errors.Join(err, fmt.Errorf("%w: %w", ErrList, failed))
		}
		now.listed = a.list.value
	}
	token, failed := a.rereadToken()
	now.token = token
	a.current.Store(now)
	changed = before == nil || before.token != now.token || !maps.Equal(before.users, now.users) || !maps.Equal(before.listed, now.listed)
	return changed, errors.Join(err, failed)
}

// rereadToken returns the token, or the last one if its file is there no more, empty if there never was one.
func (a *Admitter) rereadToken() (string, error) {
	var missing error
	for _, s := range a.tokens {
		switch err := s.reread(); {
		case err == nil:
			return s.value, nil
		case !errors.Is(err, fs.ErrNotExist):
			return s.value, fmt.Errorf("the token: %w", err)
		default:
			missing = err
		}
	}
	for _, s := range a.tokens {
		if s.value != "" {
			return s.value, fmt.Errorf("the token: %w", missing)
		}
	}
	if len(a.tokens) == 1 { // it was named
		return "", fmt.Errorf("the token: %w", missing)
	}
	return "", nil // a folder without a token
}

// reread reads the file, and its value if the content is another than before.
func (s *source[T]) reread() error {
	data, err := readFile(s.path)
	if err != nil || s.data != nil && bytes.Equal(data, s.data) {
		return err
	}
	value, err := s.parse(s.path, data)
	if err != nil {
		return err
	}
	s.data, s.value = data, value
	return nil
}

// parseWorkers returns the keys of the workers in a list of users.
func parseWorkers(path string, data []byte) (map[string]bool, error) {
	users, err := parseUsers(path, data)
	workers := make(map[string]bool)
	for _, u := range users {
		if u.Role == bus.Worker {
			workers[u.Key] = true
		}
	}
	return workers, err
}

// parseList returns the keys in a list of public keys. The error does not quote the line, which may be a
// secret.
func parseList(path string, data []byte) (map[string]bool, error) {
	keys, number := make(map[string]bool), 0
	for line := range strings.Lines(string(data)) {
		number++
		key, _, _ := strings.Cut(line, "#")
		switch key = strings.TrimSpace(key); {
		case identity.IsKey(key):
			keys[key] = true
		case key != "":
			return nil, fmt.Errorf("%s: line %d is not the public key of a worker, U and 55 letters and digits, as worker --public-key prints it", path, number)
		}
	}
	return keys, nil
}

// parseSecret returns the secret of a token.
func parseSecret(path string, data []byte) (string, error) {
	token, err := identity.ParseToken(data)
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return token.Secret, nil
}
