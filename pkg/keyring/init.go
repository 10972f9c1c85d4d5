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
var ErrIncomplete = errors.New("the folder has some files of a folder of keys and lacks others")

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
	switch there, missing := r.inventory(); {
	case len(there) == 0:
		err = r.makeAll(o)
	case len(missing) > 0:
		err = fmt.Errorf("keys: %s: %w: it has %s, but no %s; put these back from a copy, or move the folder away and make other keys",
			dir, ErrIncomplete, strings.Join(there, ", "), strings.Join(missing, ", "))
	default:
		err = r.extend(o)
	}
	if err != nil {
		return nil, nil, err
	}
	made, r.made = r.made, nil
	return r, made, nil
}

// inventory returns the files of a ring that the folder has, and those of ringFiles that it lacks.
func (r *Ring) inventory() (there, missing []string) {
	for _, name := range ringFiles {
		if _, err := os.Lstat(r.path(name)); err == nil {
			there = append(there, name)
		} else {
			missing = append(missing, name)
		}
	}
	keys, _ := filepath.Glob(r.path("*" + keySuffix)) // the pattern is valid
	authority, _ := filepath.Glob(r.path(caKeyFile))
	for _, path := range append(authority, keys...) {
		there = append(there, filepath.Base(path))
	}
	return there, missing
}

// makeAll makes all files of a ring.
func (r *Ring) makeAll(o Options) error {
	r.serverDir = cmp.Or(o.ServerDir, r.path(serverDir))
	err := errors.Join(os.MkdirAll(r.path(serverDir), 0o750), os.MkdirAll(r.path(workerDir), 0o700),
		os.MkdirAll(r.path(coordinatorDir), 0o700))
	if err != nil {
		return fmt.Errorf("keys: %w", err)
	}
	caKey, err := r.putNewKey(caKeyFile, 0o600)
	if err != nil {
		return err
	}
	ca, err := r.putNewAuthority(caKey)
	if err != nil {
		return err
	}
	key, err := r.putNewKey(serverDir+"/"+certKey, 0o640) // which the folder's group may read
	if err != nil {
		return err
	}
	if err := r.putServerCertificate(key, ca, caKey, allHosts(o.Hosts)); err != nil {
		return err
	}
	if err := r.putNewToken(); err != nil {
		return err
	}
	var users []bus.User
	for _, role := range []bus.Role{bus.Coordinator, bus.Watcher, bus.Worker} {
		id, err := r.newKey(role, string(role))
		if err != nil {
			return err
		}
		users = append(users, bus.User{Role: role, Name: string(role), Key: id.Key()})
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
