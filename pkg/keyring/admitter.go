package keyring

import (
	"errors"
	"fmt"
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
	from    Sources
	current atomic.Pointer[admitted]
}

// admitted are the keys that an Admitter admits. It is not changed.
type admitted struct {
	users, listed map[string]bool
	token         string // empty for none
}

// IsFolder reports whether a folder is one of keys, or has what a coordinator needs of one.
func IsFolder(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, usersFile))
	return err == nil && info.Mode().IsRegular()
}

// NewAdmitter returns the admitter of some sources. The error names a file that can't be used; it wraps
// [ErrList] if that is the list of public keys.
func NewAdmitter(from Sources) (*Admitter, error) {
	a := &Admitter{from: from}
	a.current.Store(new(admitted))
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
	before := a.current.Load()
	now := *before
	if a.from.Folder != "" {
		users, failed := readUsers(filepath.Join(a.from.Folder, usersFile))
		if err = failed; err == nil {
			now.users = make(map[string]bool)
			for _, u := range users {
				if u.Role == bus.Worker {
					now.users[u.Key] = true
				}
			}
		}
	}
	if a.from.List != "" {
		if listed, failed := readList(a.from.List); failed != nil {
			err = errors.Join(err, fmt.Errorf("%w: %w", ErrList, failed))
		} else {
			now.listed = listed
		}
	}
	if path := a.tokenFile(); path != "" {
		if token, failed := identity.LoadToken(path); failed != nil {
			err = errors.Join(err, failed)
		} else {
			now.token = token.Secret
		}
	}
	a.current.Store(&now)
	return before.token != now.token || !maps.Equal(before.users, now.users) || !maps.Equal(before.listed, now.listed), err
}

// tokenFile returns the file of the token; empty if none is named and the folder never had one.
func (a *Admitter) tokenFile() string {
	if a.from.TokenFile != "" || a.from.Folder == "" {
		return a.from.TokenFile
	}
	path := filepath.Join(a.from.Folder, tokenFile)
	if _, err := os.Stat(path); err == nil {
		return path
	}
	path = filepath.Join(a.from.Folder, tokenName) // the folder has what a coordinator needs
	if _, err := os.Stat(path); err != nil && a.current.Load().token == "" {
		return ""
	}
	return path
}

// readList returns the keys in a list of public keys. The error does not quote the line, which may be a
// secret.
func readList(path string) (map[string]bool, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	keys, number := make(map[string]bool), 0
	for line := range strings.Lines(string(data)) {
		number++
		key, _, _ := strings.Cut(line, "#")
		switch key = strings.TrimSpace(key); {
		case identity.IsKey(key):
			keys[key] = true
		case key != "":
			return nil, fmt.Errorf("%s: line %d is not the public key of a worker, U and 55 letters and digits, as worker key prints it", path, number)
		}
	}
	return keys, nil
}
