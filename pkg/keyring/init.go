package keyring

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"nqueens/pkg/bus"
	"nqueens/pkg/identity"
)

// Options of [Init].
type Options struct {
	// Hosts are the names and addresses under which clients reach the server, beside those of this
	// machine and "nats".
	Hosts []string
	// ServerDir is where the NATS server sees the folder "server", if that is not its own path, as
	// in a container. If it is empty, that of a ring that exists stays.
	ServerDir string
}

// ringFiles are the files that every ring has. The others, the keys of users and of the authority, may be
// kept elsewhere.
var ringFiles = []string{
	caFile, usersFile, tokenFile,
	serverDir + "/" + authFile, serverDir + "/" + certFile, serverDir + "/" + certKey, serverDir + "/" + caFile,
	coordinatorDir + "/" + caFile, coordinatorDir + "/" + tokenName, coordinatorDir + "/" + usersFile,
}

// ErrIncomplete says that a folder has some files of a ring and lacks others.
var ErrIncomplete = errors.New("the folder has some files of a folder of keys, and lacks")

// Init makes a ring in a folder without one, with a user of each role, named as its role. A ring that is there
// stays as it is, but its certificate gets the hosts that it lacks, and its configuration another ServerDir. Init
// repairs nothing: if files of a ring are missing, the error wraps [ErrIncomplete] and names them. It returns the
// files that it has written, as paths in the folder; the server must read its configuration again if there are any
// in a ring that existed.
func Init(dir string, o Options) (r *Ring, made []string, err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return nil, nil, err
	}
	if strings.ContainsFunc(o.ServerDir+dir, unicode.IsControl) { // it would end the line of a configuration
		return nil, nil, fmt.Errorf("keys: the folder %q has control characters in its name", o.ServerDir+dir)
	}
	r = &Ring{dir: dir}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, fmt.Errorf("keys: %w", err)
	}
	unlock, err := r.lock()
	if err != nil {
		return nil, nil, err
	}
	defer unlock()
	missing, whole := r.missing()
	switch {
	case whole:
		err = r.extend(o)
	case len(missing) > 0:
		err = fmt.Errorf("keys: %s: %w: %s; put these back from a copy, or move the folder away and make other keys",
			dir, ErrIncomplete, strings.Join(missing, ", "))
	default:
		err = r.makeAll(o)
	}
	if err != nil {
		return nil, nil, err
	}
	made, r.made = r.made, nil
	return r, made, nil
}

// missing returns the files that the folder lacks of a ring, none if it has nothing of one, and whether it has a
// whole ring.
func (r *Ring) missing() (names []string, whole bool) {
	for _, name := range ringFiles {
		if _, err := os.Lstat(r.path(name)); err != nil {
			names = append(names, name)
		}
	}
	keys, _ := filepath.Glob(r.path("*" + keySuffix)) // the pattern is valid
	if _, err := os.Lstat(r.path(caKeyFile)); err != nil && len(keys) == 0 && len(names) == len(ringFiles) {
		return nil, false
	}
	return names, len(names) == 0
}

// makeAll makes all files of a ring.
func (r *Ring) makeAll(o Options) error {
	r.serverDir = cmp.Or(o.ServerDir, r.path(serverDir))
	err := errors.Join(os.MkdirAll(r.path(serverDir), 0o750), os.MkdirAll(r.path(workerDir), 0o700),
		os.MkdirAll(r.path(coordinatorDir), 0o700))
	if err != nil {
		return fmt.Errorf("keys: %w", err)
	}
	if err := r.putAuthority(); err != nil {
		return err
	}
	key, err := r.putNewKey(serverDir+"/"+certKey, 0o640) // which the folder's group may read
	if err != nil {
		return err
	}
	if err := r.putServerCertificate(key, allHosts(o.Hosts)); err != nil {
		return err
	}
	if err := r.putNewToken(); err != nil {
		return err
	}
	var users []bus.User
	for _, role := range []bus.Role{bus.Coordinator, bus.Watcher, bus.Worker} {
		u := bus.User{Role: role, Name: string(role)}
		id, err := newIdentity(&u)
		if err != nil {
			return err
		}
		if err := id.Create(r.path(u.Name + keySuffix)); err != nil {
			return err
		}
		r.made, users = append(r.made, u.Name+keySuffix), append(users, u)
	}
	return r.write(users)
}

// putNewToken makes a token, with the authority after it.
func (r *Ring) putNewToken() (err error) {
	token := identity.NewToken()
	if token.Authority, err = os.ReadFile(r.path(caFile)); err != nil {
		return fmt.Errorf("keys: %w", err)
	}
	return r.put(tokenFile, token.Text(), 0o600)
}

// extend adds what the options ask for to a ring that has all its files.
func (r *Ring) extend(o Options) error {
	users, err := r.Users()
	if err != nil {
		return err
	}
	before, err := r.readServerDir()
	if err != nil {
		return err
	}
	if _, err := r.AddHosts(o.Hosts); err != nil {
		return err
	}
	if r.serverDir = cmp.Or(o.ServerDir, before); r.serverDir != before {
		return r.write(users)
	}
	return nil
}
