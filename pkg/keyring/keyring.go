// Package keyring keeps the keys of a cluster in a folder: the keys of its users, a token with which
// workers join, an authority for certificates, and the part of the NATS server's configuration that
// says who may do what. A coordinator learns from the folder which workers are admitted.
//
//	DIR/ca.crt            the authority that clients trust
//	DIR/ca.key            its key, which only makes certificates
//	DIR/users             a line a user: role, name, public key
//	DIR/NAME.nkey         the key of a user
//	DIR/worker/           what workers need: join.token, the token, and the authority after it
//	DIR/server/           what the NATS server needs: auth.conf, server.crt, server.key, ca.crt
//	DIR/coordinator/      what a coordinator needs, all of it copies: coordinator.nkey, ca.crt, users, join.token
//
// Each of the three folders may be a volume of its own. The server may run as another user with the
// folder's group.
package keyring

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"nqueens/pkg/bus"
	"nqueens/pkg/durable"
	"nqueens/pkg/identity"
)

// Files of the folder.
const (
	caFile    = "ca.crt"
	caKeyFile = "ca.key"
	usersFile = "users"
	workerDir = "worker"
	tokenName = "join.token"
	tokenFile = workerDir + "/" + tokenName
	serverDir = "server"
	authFile  = "auth.conf"
	certFile  = "server.crt"
	certKey   = "server.key"
	keySuffix = ".nkey"
	maxUsers  = 10_000
	lockName  = ".lock" // processes that change the ring lock it

	coordinatorDir = "coordinator"
)

// JoinToken is, as the name of a user, the token with which workers join.
const JoinToken = "join-token"

// ErrExists says that something is there already.
var ErrExists = errors.New("it exists already")

// ErrInvalid says that there can be no such user.
var ErrInvalid = errors.New("no valid user")

// ErrNoUser says that there is no user of that name.
var ErrNoUser = errors.New("there is no such user")

// Ring is the folder of keys.
type Ring struct {
	dir string // absolute
	// serverDir is the folder "server" as the NATS server sees it.
	serverDir string
	made      []string // files that were written, as paths in the folder
}

// OpenOrInit opens the ring in a folder, and makes it if there is none. Several processes may call it at once: all
// get the same ring, since [Init] locks the folder and writes the list of users last.
func OpenOrInit(dir string) (*Ring, error) {
	if r, err := Open(dir); !errors.Is(err, fs.ErrNotExist) {
		return r, err
	}
	r, _, err := Init(dir, Options{})
	return r, err
}

// Open opens the ring in a folder.
func Open(dir string) (*Ring, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	r := &Ring{dir: dir}
	if _, err := r.Users(); err != nil {
		return nil, err
	}
	r.serverDir, err = r.readServerDir()
	return r, err
}

// readServerDir returns where the server sees its folder, as its configuration says. The error wraps
// [fs.ErrNotExist] if there is none.
func (r *Ring) readServerDir() (string, error) {
	auth, err := os.ReadFile(r.ServerConfig())
	if err != nil {
		return "", fmt.Errorf("keys: %w", err)
	}
	found := serverDirComment.FindSubmatch(auth)
	if found == nil {
		return "", fmt.Errorf("keys: %s was not written by keys init", r.ServerConfig())
	}
	return string(found[1]), nil
}

// serverDirComment is the line of auth.conf that says where the server sees its folder.
var serverDirComment = regexp.MustCompile(`(?m)^# folder: (.+)$`)

// Dir returns the absolute path of the folder.
func (r *Ring) Dir() string { return r.dir }

// ServerConfig returns the path of the NATS server's configuration.
func (r *Ring) ServerConfig() string { return r.path(serverDir, authFile) }

func (r *Ring) path(elements ...string) string {
	return filepath.Join(append([]string{r.dir}, elements...)...)
}

// Users returns the users, in the order in which they were added.
func (r *Ring) Users() ([]bus.User, error) { return readUsers(r.path(usersFile)) }

var userName = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z_-]{0,63}$`)

// validate returns an error, which wraps [ErrInvalid], unless there can be such a user.
func validate(u bus.User) error {
	err := u.Role.Validate()
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	case !userName.MatchString(u.Name) || u.Name == JoinToken:
		return fmt.Errorf("%w: %.80q is no name of a user: it is 1 to 64 letters, digits, - and _, and not %s", ErrInvalid, u.Name, JoinToken)
	case !identity.IsKey(u.Key):
		return fmt.Errorf("%w: %.80q is not the public key of a user, U and 55 letters and digits", ErrInvalid, u.Key)
	}
	return nil
}

// Add adds a user with the public key that is given, or with a new key in NAME.nkey if that is empty. Its
// error wraps [ErrInvalid] if there can be no such user, and [ErrExists] if there is one of that name or
// key. The server must read its configuration again.
func (r *Ring) Add(role bus.Role, name, publicKey string) (bus.User, error) {
	users, unlock, err := r.lockUsers()
	if err != nil {
		return bus.User{}, err
	}
	defer unlock()
	u := bus.User{Role: role, Name: name, Key: publicKey}
	var id *identity.Identity // of which this folder keeps the private key
	if publicKey == "" {
		if id, err = newIdentity(&u); err != nil {
			return u, err
		}
	}
	if err := validate(u); err != nil {
		return u, err
	}
	_, none := os.Lstat(r.path(name + keySuffix))
	switch {
	case find(users, name) >= 0:
		return u, fmt.Errorf("user %s: %w", name, ErrExists)
	case find(users, u.Key) >= 0:
		return u, fmt.Errorf("the key %s: %w", u.Key, ErrExists)
	case none == nil:
		return u, fmt.Errorf("%s: %w: remove the file, or choose another name", r.path(name+keySuffix), ErrExists)
	case len(users) >= maxUsers:
		return u, fmt.Errorf("there are %d users already", len(users))
	}
	if id != nil {
		if err := id.Create(r.path(name + keySuffix)); err != nil {
			return u, err
		}
	}
	return u, r.write(append(users, u))
}

// newIdentity makes a key for a user, who gets the public one.
func newIdentity(u *bus.User) (*identity.Identity, error) {
	id, err := identity.New()
	if err != nil {
		return nil, err
	}
	id.Role, u.Key = string(u.Role), id.Key()
	return id, nil
}

// Revoke removes a user and its key. A server that reads its configuration again disconnects it.
func (r *Ring) Revoke(name string) (bus.User, error) {
	users, unlock, err := r.lockUsers()
	if err != nil {
		return bus.User{}, err
	}
	defer unlock()
	i := find(users, name)
	if i < 0 {
		return bus.User{}, fmt.Errorf("%w: %.80q: %s lists the users", ErrNoUser, name, r.path(usersFile))
	}
	u := users[i]
	// The key goes first: if the rest fails, a user who is added under that name gets another key.
	if err := os.Remove(r.path(u.Name + keySuffix)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return u, fmt.Errorf("keys: %w", err)
	}
	return u, r.write(slices.Delete(users, i, i+1))
}

// RenewToken replaces the token with which workers join. A server that reads its configuration again
// disconnects those that have joined with the old one.
func (r *Ring) RenewToken() error {
	users, unlock, err := r.lockUsers()
	if err != nil {
		return err
	}
	defer unlock()
	if err := r.putNewToken(); err != nil {
		return err
	}
	return r.write(users)
}

// lockUsers returns the users, which no other process changes until the caller unlocks the ring.
func (r *Ring) lockUsers() (users []bus.User, unlock func(), err error) {
	unlock, err = r.lock()
	if err != nil {
		return nil, nil, err
	}
	if users, err = r.Users(); err != nil {
		unlock()
		return nil, nil, err
	}
	return users, unlock, nil
}

// lockWait is how long a change waits for another, which takes milliseconds, or a second on a busy disk.
const lockWait = 30 * time.Second

// lock waits until no other process changes the ring, for lockWait at most.
func (r *Ring) lock() (unlock func(), err error) {
	unlock, err = durable.LockPath(r.path(lockName), lockWait)
	if errors.Is(err, durable.ErrLocked) {
		err = fmt.Errorf("another process has locked the folder for %v: try again when it has ended: %w", lockWait, err)
	}
	if err != nil {
		return nil, fmt.Errorf("keys: %w", err)
	}
	return unlock, nil
}

// find returns the index of the user with that name or public key, or -1.
func find(users []bus.User, name string) int {
	return slices.IndexFunc(users, func(u bus.User) bool { return u.Name == name || u.Key == name })
}

// TokenFile returns the path of the token.
func (r *Ring) TokenFile() string { return r.path(tokenFile) }

// KeyFile returns the path of the key of the first user of a role.
func (r *Ring) KeyFile(role bus.Role) string { return r.path(string(role) + keySuffix) }

// AuthorityFile returns the path of the certificate of the authority.
func (r *Ring) AuthorityFile() string { return r.path(caFile) }
