package keyring

import (
	"os"
	"path/filepath"
	"sync"
	"time"

	"nqueens/pkg/bus"
	"nqueens/pkg/identity"
)

// Admitter says which workers are admitted: those that a folder of keys lists, and those who know its
// token. It is safe for concurrent use.
type Admitter struct {
	users  string   // file
	tokens []string // files; the first that is one counts

	mu     sync.Mutex
	read   time.Time
	listed map[string]bool
	token  string
}

// rereadAfter is how soon an Admitter sees that a worker was added or revoked.
const rereadAfter = 2 * time.Second

// NewAdmitter returns the admitter of a folder, if that is a folder of keys, or its folder "coordinator".
func NewAdmitter(dir string) (*Admitter, bool) {
	if _, err := os.Stat(filepath.Join(dir, usersFile)); err != nil {
		return nil, false
	}
	return &Admitter{
		users: filepath.Join(dir, usersFile),
		// Of all keys, or of what a coordinator needs.
		tokens: []string{filepath.Join(dir, tokenFile), filepath.Join(dir, tokenName)},
	}, true
}

// SetTokenFile makes another file's token count instead of the folder's. It must be called before
// [Admitter.Admits].
func (a *Admitter) SetTokenFile(path string) { a.tokens = []string{path} }

// Admits reports whether a worker's key is admitted, and if so, whether by token: because the proof is that
// of the token, see [identity.Admission], and the key is not listed.
func (a *Admitter) Admits(key string, proof []byte) (admitted, byToken bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if time.Since(a.read) > rereadAfter {
		a.reread()
	}
	if a.listed[key] {
		return true, false
	}
	byToken = identity.IsAdmitted([]byte(a.token), key, proof)
	return byToken, byToken
}

// reread reads the folder. It keeps what it had of a file that it can't read.
func (a *Admitter) reread() {
	a.read = time.Now()
	if users, err := readUsers(a.users); err == nil {
		a.listed = make(map[string]bool)
		for _, u := range users {
			if u.Role == bus.Worker {
				a.listed[u.Key] = true
			}
		}
	}
	for _, file := range a.tokens {
		if token, err := identity.LoadToken(file); err == nil {
			a.token = token.Secret
			break
		}
	}
}
