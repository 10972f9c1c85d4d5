package keyring

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
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

// Init makes what a ring in a folder lacks, with what is there; in an empty folder it makes all, with
// a user of each role, named as its role. Keys, users and the token that exist stay, and a user that
// was revoked does not come back. It returns the files that it has written, as paths in the folder;
// the server must read its configuration again if there are any in a ring that existed.
func Init(dir string, o Options) (r *Ring, made []string, err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return nil, nil, err
	}
	r = &Ring{dir: dir}
	if r.serverDir, err = r.chooseServerDir(o.ServerDir); err != nil {
		return nil, nil, err
	}
	err = errors.Join(os.MkdirAll(dir, 0o700), os.MkdirAll(r.path(serverDir), 0o750),
		os.MkdirAll(r.path(workerDir), 0o700), os.MkdirAll(r.path(coordinatorDir), 0o700))
	if err != nil {
		return nil, nil, fmt.Errorf("keys: %w", err)
	}
	unlock, err := r.lock()
	if err != nil {
		return nil, nil, err
	}
	defer unlock()
	// Damage is found before anything is written.
	users, err := r.findUsers()
	hasList := !errors.Is(err, fs.ErrNotExist) // it is empty if all users were revoked
	if err != nil && hasList {
		return nil, nil, err
	}
	token, err := r.findToken()
	if err != nil {
		return nil, nil, err
	}
	if err := r.completeCertificates(o.Hosts); err != nil {
		return nil, nil, err
	}
	if token.Authority, err = os.ReadFile(r.path(caFile)); err != nil {
		return nil, nil, fmt.Errorf("keys: %w", err)
	}
	if err := r.put(tokenFile, token.Text(), 0o600); err != nil {
		return nil, nil, err
	}
	if hasList {
		err = r.restoreCoordinatorKey(users)
	} else {
		users, err = r.usersOfKeys()
	}
	if err == nil {
		err = r.write(users)
	}
	made, r.made = r.made, nil
	return r, made, err
}

// chooseServerDir returns where the server sees its folder: as asked, as before, or where it is.
func (r *Ring) chooseServerDir(asked string) (string, error) {
	before, err := r.readServerDir()
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return "", err
	case strings.ContainsFunc(asked+r.dir, unicode.IsControl): // it would end the line of a configuration
		return "", fmt.Errorf("keys: the folder %q has control characters in its name", asked+r.dir)
	case asked != "":
		return asked, nil
	case err == nil:
		return before, nil
	}
	return r.path(serverDir), nil
}

// firstOf returns the content of the first of some files that exists.
func (r *Ring) firstOf(names ...string) (data []byte, name string, err error) {
	for _, name = range names {
		if data, err = os.ReadFile(r.path(name)); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if err != nil {
		err = fmt.Errorf("keys: %w", err)
	}
	return data, name, err
}

// findUsers returns the list of users, or what the coordinator's copy has. The error wraps
// [fs.ErrNotExist] if there is none.
func (r *Ring) findUsers() ([]bus.User, error) {
	_, name, err := r.firstOf(usersFile, coordinatorDir+"/"+usersFile)
	if err != nil {
		return nil, err
	}
	return readUsers(r.path(name))
}

// findToken returns the token, or what the coordinator's copy has, or a new one.
func (r *Ring) findToken() (identity.Token, error) {
	_, name, err := r.firstOf(tokenFile, coordinatorDir+"/"+tokenName)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return identity.NewToken(), nil
	case err != nil:
		return identity.Token{}, err
	}
	return identity.LoadToken(r.path(name))
}

// usersOfKeys returns the users of a ring that has no list: one of each role, whose key is made if
// there is none, and those of the other keys in the folder.
func (r *Ring) usersOfKeys() ([]bus.User, error) {
	names := []string{string(bus.Coordinator), string(bus.Watcher), string(bus.Worker)}
	paths, _ := filepath.Glob(r.path("*" + keySuffix)) // the pattern is valid
	for _, path := range paths {
		if name := strings.TrimSuffix(filepath.Base(path), keySuffix); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	var users []bus.User
	for _, name := range names {
		id, err := r.newKey(bus.Role(name), name)
		if err != nil {
			return nil, err
		}
		u := bus.User{Role: bus.Role(id.Role), Name: name, Key: id.Key()}
		if err := u.Role.Validate(); err != nil {
			return nil, fmt.Errorf("keys: %s: %w: move the file away", r.path(name+keySuffix), err)
		}
		if find(users, u.Key) >= 0 {
			return nil, fmt.Errorf("keys: %s holds the key of another user: move the file away", r.path(name+keySuffix))
		}
		users = append(users, u)
	}
	return users, nil
}

// restoreCoordinatorKey makes the coordinator's key again from the copy in its folder.
func (r *Ring) restoreCoordinatorKey(users []bus.User) error {
	const name = string(bus.Coordinator) + keySuffix
	data, found, err := r.firstOf(name, coordinatorDir+"/"+name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && found == name {
		return nil // it was moved away, or is there
	}
	if err != nil {
		return err
	}
	id, err := identity.Parse(data)
	if err != nil || find(users, id.Key()) < 0 {
		return nil //nolint:nilerr // a copy of no use: write removes it
	}
	return r.put(name, data, 0o600)
}

// completeCertificates makes what is missing of the authority and the server's key and certificate, and
// a certificate for more names if hosts has some.
func (r *Ring) completeCertificates(hosts []string) error {
	ca, err := r.findAuthority()
	if err != nil {
		return err
	}
	caKey, caKeyErr := readKey(r.path(caKeyFile))
	key, keyErr := readKey(r.path(serverDir, certKey))
	cert, certErr := readCertificate(r.path(serverDir, certFile))
	for _, err := range []error{caKeyErr, keyErr, certErr} {
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if ca != nil && key != nil && cert != nil {
		_, err := r.AddHosts(hosts)
		return err
	}
	if ca != nil && caKey == nil {
		return fmt.Errorf("keys: a key or certificate of the server is missing, and the key of the authority, which makes one: "+
			"copy %s to its place, or remove %s everywhere to make another authority", r.path(caKeyFile), caFile)
	}
	if caKey == nil {
		if caKey, err = r.putNewKey(caKeyFile, 0o600); err != nil {
			return err
		}
	}
	if ca == nil {
		if ca, err = r.putNewAuthority(caKey); err != nil {
			return err
		}
	}
	if key == nil { // which the folder's group may read
		if key, err = r.putNewKey(serverDir+"/"+certKey, 0o640); err != nil {
			return err
		}
	}
	hosts = allHosts(hosts)
	if cert != nil {
		hosts = append(hosts, hostsOf(cert)...)
	}
	return r.putServerCertificate(key, ca, caKey, hosts)
}

// findAuthority returns the certificate of the authority, nil if there is none, and writes it to its place
// if only a copy is left.
func (r *Ring) findAuthority() (*x509.Certificate, error) {
	data, name, err := r.firstOf(caFile, serverDir+"/"+caFile, coordinatorDir+"/"+caFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	ca, err := readCertificate(r.path(name))
	if err != nil {
		return nil, err
	}
	return ca, r.put(caFile, data, 0o644)
}
