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
	"crypto/x509"
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
	caFile     = "ca.crt"
	caKeyFile  = "ca.key"
	usersFile  = "users"
	workerDir  = "worker"
	tokenName  = "join.token"
	tokenFile  = workerDir + "/" + tokenName
	serverDir  = "server"
	authFile   = "auth.conf"
	certFile   = "server.crt"
	certKey    = "server.key"
	keySuffix  = ".nkey"
	maxUsers   = 10_000
	maxFileLen = 4 << 20
	lockName   = ".lock" // processes that change the ring lock it

	coordinatorDir = "coordinator"
)

// JoinToken is, as the name of a user, the token with which workers join.
const JoinToken = "join-token"

// ErrExists says that something is there already.
var ErrExists = errors.New("it exists already")

// ErrNoUser says that there is no user of that name.
var ErrNoUser = errors.New("there is no such user")

// Ring is the folder of keys.
type Ring struct {
	dir string // absolute
	// serverDir is the folder "server" as the NATS server sees it.
	serverDir string
	made      []string // files that were written, as paths in the folder
}

// OpenOrInit opens the ring in a folder, and makes it if there is no folder. Several processes may call it
// at once: all get the same ring.
func OpenOrInit(dir string) (*Ring, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if r, err := Open(dir); !errors.Is(err, fs.ErrNotExist) {
		return r, err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return nil, fmt.Errorf("keys: %w", err)
	}
	made, err := os.MkdirTemp(filepath.Dir(dir), ".keys-*")
	if err != nil {
		return nil, fmt.Errorf("keys: %w", err)
	}
	defer func() { _ = os.RemoveAll(made) }()
	if _, _, err := Init(made, Options{ServerDir: filepath.Join(dir, serverDir)}); err != nil {
		return nil, err
	}
	if err := os.Rename(made, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("keys: %w", err)
	}
	r, err := Open(dir) // the folder of the process that was first
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: put the file back from a copy, or move the folder away, and other keys are made", err)
	}
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

// ValidateName returns an error unless a user may have the name.
func ValidateName(name string) error {
	if !userName.MatchString(name) || name == JoinToken {
		return fmt.Errorf("%.80q is no name of a user: it is 1 to 64 letters, digits, - and _, and not %s", name, JoinToken)
	}
	return nil
}

// Add adds a user with the public key that is given, or with a new key in NAME.nkey if that is empty. Its
// error wraps [ErrExists] if there is one of that name or key. The server must read its configuration
// again.
func (r *Ring) Add(role bus.Role, name, publicKey string) (bus.User, error) {
	if err := role.Validate(); err != nil {
		return bus.User{}, err
	}
	if err := ValidateName(name); err != nil {
		return bus.User{}, err
	}
	users, unlock, err := r.lockUsers()
	if err != nil {
		return bus.User{}, err
	}
	defer unlock()
	if find(users, name) >= 0 {
		return bus.User{}, fmt.Errorf("user %s: %w", name, ErrExists)
	}
	if len(users) >= maxUsers {
		return bus.User{}, fmt.Errorf("there are %d users already", len(users))
	}
	u := bus.User{Role: role, Name: name, Key: publicKey}
	if publicKey == "" {
		id, err := r.newKey(role, name)
		if err != nil {
			return bus.User{}, err
		}
		if id.Role != string(role) || find(users, id.Key()) >= 0 {
			return bus.User{}, fmt.Errorf("%s holds the key of another user or role: remove the file, or choose another name", r.path(name+keySuffix))
		}
		u.Key = id.Key()
	} else if err := r.checkNewKey(users, u); err != nil {
		return bus.User{}, err
	}
	return u, r.write(append(users, u))
}

// checkNewKey returns nil if the public key of a new user can be that of a user, and is of no other.
func (r *Ring) checkNewKey(users []bus.User, u bus.User) error {
	if !identity.IsKey(u.Key) {
		return fmt.Errorf("%.80q is no public key of a user: it has 56 letters and digits and begins with U", u.Key)
	}
	if i := find(users, u.Key); i >= 0 {
		return fmt.Errorf("the key %s, of user %s: %w", u.Key, users[i].Name, ErrExists)
	}
	if _, err := os.Stat(r.path(u.Name + keySuffix)); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s holds another key: remove the file, or choose another name", r.path(u.Name+keySuffix))
	}
	return nil
}

// newKey makes a user's key, unless an interrupted call has.
func (r *Ring) newKey(role bus.Role, name string) (*identity.Identity, error) {
	path := r.path(name + keySuffix)
	if id, err := identity.Load(path); !errors.Is(err, fs.ErrNotExist) {
		return id, err
	}
	id, err := identity.New()
	if err != nil {
		return nil, err
	}
	id.Role = string(role)
	if err := id.Create(path); err != nil {
		return nil, err
	}
	r.made = append(r.made, name+keySuffix)
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

const (
	lockWait = 30 * time.Second // a change takes milliseconds, or a second on a busy disk
	lockPoll = 10 * time.Millisecond
)

// lock waits until no other process changes the ring, for lockWait at most. The lock ends with the process
// at the latest.
func (r *Ring) lock() (unlock func(), err error) {
	file, err := os.OpenFile(r.path(lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("keys: %w", err)
	}
	for deadline := time.Now().Add(lockWait); ; time.Sleep(lockPoll) {
		switch err := durable.Lock(file, true); {
		case err == nil:
			return func() { _ = file.Close() }, nil
		case !errors.Is(err, durable.ErrLocked):
			return nil, fmt.Errorf("keys: lock %s: %w", file.Name(), errors.Join(err, file.Close()))
		case time.Now().After(deadline):
			_ = file.Close() // nothing is written to it
			return nil, fmt.Errorf("keys: %s: another process has locked the folder for %v: try again when it has ended", file.Name(), lockWait)
		}
	}
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

// Authority returns the certificate of the authority.
func (r *Ring) Authority() (*x509.Certificate, error) { return readCertificate(r.path(caFile)) }
