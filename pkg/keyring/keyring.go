// Package keyring keeps the keys of a cluster in a folder: the keys of its users, a token with which
// workers join, an authority for certificates, and the part of the NATS server's configuration that
// says who may do what. A coordinator learns from the folder which workers are admitted.
//
//	DIR/ca.crt            the authority that clients trust
//	DIR/ca.key            its key, which nothing needs once the cluster runs
//	DIR/users             a line a user: role, name, public key
//	DIR/NAME.nkey         the key of a user
//	DIR/worker/           what workers need: join.token, the token, and the authority after it
//	DIR/server/           what the NATS server needs: auth.conf, server.crt, server.key, ca.crt
//
// Each of the two folders may be a volume of its own. The server may run as another user with the
// folder's group.
package keyring

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"nqueens/pkg/bus"
	"nqueens/pkg/identity"
)

// Files of the folder.
const (
	caFile     = "ca.crt"
	caKeyFile  = "ca.key"
	usersFile  = "users"
	workerDir  = "worker"
	tokenFile  = workerDir + "/join.token"
	serverDir  = "server"
	authFile   = "auth.conf"
	certFile   = "server.crt"
	certKey    = "server.key"
	keySuffix  = ".nkey"
	maxUsers   = 10_000
	maxFileLen = 4 << 20
)

// ErrExists says that something is there already.
var ErrExists = errors.New("it exists already")

// ErrNoUser says that there is no user of that name.
var ErrNoUser = errors.New("there is no such user")

// Ring is the folder of keys.
type Ring struct {
	dir string // absolute
	// serverDir is the folder "server" as the NATS server sees it.
	serverDir string
}

// Options of a new ring.
type Options struct {
	// Hosts are the names and addresses under which clients reach the server, beside those of this
	// machine and "nats".
	Hosts []string
	// ServerDir is where the NATS server sees the folder "server", if that is not its own path, as
	// in a container.
	ServerDir string
}

// Init makes a ring with a user of each role, named as its role. The folder may exist; the error wraps
// [ErrExists] if it has a ring.
func Init(dir string, o Options) (*Ring, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(dir, usersFile)); err == nil {
		return nil, fmt.Errorf("keys in %s: %w", dir, ErrExists)
	}
	r := &Ring{dir: dir, serverDir: o.ServerDir}
	if r.serverDir == "" {
		r.serverDir = r.path(serverDir)
	}
	if hasControl(r.serverDir) {
		return nil, fmt.Errorf("keys: the folder %q has control characters in its name", r.serverDir)
	}
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.MkdirAll(r.path(serverDir), 0o750), os.MkdirAll(r.path(workerDir), 0o700)); err != nil {
		return nil, fmt.Errorf("keys: %w", err)
	}
	ca, err := newCertificates(r.path(serverDir, certFile), r.path(serverDir, certKey), r.path(caKeyFile), o.Hosts)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(writeFile(r.path(caFile), ca, 0o644), writeFile(r.path(serverDir, caFile), ca, 0o644)); err != nil {
		return nil, err
	}
	if err := identity.CreateToken(r.path(tokenFile), ca); err != nil {
		return nil, err
	}
	var users []bus.User
	for _, role := range []bus.Role{bus.Coordinator, bus.Watcher, bus.Worker} {
		id, err := r.newKey(role, string(role))
		if err != nil {
			return nil, err
		}
		users = append(users, bus.User{Role: role, Name: string(role), Key: id.Key()})
	}
	return r, r.write(users)
}

// hasControl reports whether a path would end the line of a configuration.
func hasControl(path string) bool { return strings.ContainsFunc(path, unicode.IsControl) }

// OpenOrInit opens the ring in a folder, and makes it if there is none. Several processes may call it
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
	if _, err := Init(made, Options{ServerDir: filepath.Join(dir, serverDir)}); err != nil {
		return nil, err
	}
	if err := os.Rename(made, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("keys: %w", err)
	}
	return Open(dir) // the folder of the process that was first
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
	auth, err := os.ReadFile(r.path(serverDir, authFile))
	if err != nil {
		return nil, fmt.Errorf("keys: %w", err)
	}
	found := serverDirComment.FindSubmatch(auth)
	if found == nil {
		return nil, fmt.Errorf("keys: %s was not written by keys init", r.path(serverDir, authFile))
	}
	r.serverDir = string(found[1])
	return r, nil
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

// Add adds a user with a new key. Its error wraps [ErrExists] if there is one of that name. The
// server must read its configuration again.
func (r *Ring) Add(role bus.Role, name string) (bus.User, error) {
	if err := role.Validate(); err != nil {
		return bus.User{}, err
	}
	if !userName.MatchString(name) {
		return bus.User{}, fmt.Errorf("%.80q is no name of a user: it is 1 to 64 letters, digits, - and _", name)
	}
	users, err := r.Users()
	if err != nil {
		return bus.User{}, err
	}
	if find(users, name) >= 0 {
		return bus.User{}, fmt.Errorf("user %s: %w", name, ErrExists)
	}
	if len(users) >= maxUsers {
		return bus.User{}, fmt.Errorf("there are %d users already", len(users))
	}
	id, err := r.newKey(role, name)
	if err != nil {
		return bus.User{}, err
	}
	if id.Role != string(role) || find(users, id.Key()) >= 0 {
		return bus.User{}, fmt.Errorf("%s holds the key of another user or role: remove the file, or choose another name", r.path(name+keySuffix))
	}
	u := bus.User{Role: role, Name: name, Key: id.Key()}
	return u, r.write(append(users, u))
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
	return id, id.Create(path)
}

// Revoke removes a user and its key. A server that reads its configuration again disconnects it.
func (r *Ring) Revoke(name string) (bus.User, error) {
	users, err := r.Users()
	if err != nil {
		return bus.User{}, err
	}
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

// find returns the index of the user with that name or public key, or -1.
func find(users []bus.User, name string) int {
	return slices.IndexFunc(users, func(u bus.User) bool { return u.Name == name || u.Key == name })
}

// write writes the list of users and the server's configuration. Each is replaced at once.
func (r *Ring) write(users []bus.User) error {
	token, err := identity.LoadToken(r.path(tokenFile))
	if err != nil {
		return err
	}
	hash, err := r.tokenHash(token.Secret)
	if err != nil {
		return err
	}
	var list bytes.Buffer
	list.WriteString("# Users of the NATS server: role, name, public key. coordinator keys add and revoke change them.\n")
	for _, u := range users {
		fmt.Fprintln(&list, u.Role, u.Name, u.Key)
	}
	var conf strings.Builder
	conf.WriteString("# Who may do what on the NATS server. coordinator keys add and revoke rewrite this file.\n")
	fmt.Fprintf(&conf, "# folder: %s\n%s", r.serverDir, access(r.serverDir, users, hash))
	if err := writeFile(r.path(serverDir, authFile), []byte(conf.String()), 0o644); err != nil {
		return err
	}
	return writeFile(r.path(usersFile), list.Bytes(), 0o644)
}

// TokenFile returns the path of the token.
func (r *Ring) TokenFile() string { return r.path(tokenFile) }

// KeyFile returns the path of the key of the first user of a role.
func (r *Ring) KeyFile(role bus.Role) string { return r.path(string(role) + keySuffix) }

// AuthorityFile returns the path of the certificate of the authority.
func (r *Ring) AuthorityFile() string { return r.path(caFile) }
