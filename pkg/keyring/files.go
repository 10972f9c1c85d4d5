package keyring

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/crypto/bcrypt"

	"nqueens/pkg/bus"
	"nqueens/pkg/durable"
	"nqueens/pkg/identity"
)

// readUsers returns the users in a list.
func readUsers(path string) ([]bus.User, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("the list of users: %w", err)
	}
	var users []bus.User
	taken := make(map[string]bool) // names and keys: no name is the name or the key of a user before
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		u := bus.User{}
		if len(fields) == 3 {
			u = bus.User{Role: bus.Role(fields[0]), Name: fields[1], Key: fields[2]}
		}
		if validate(u) != nil || taken[u.Name] || len(users) >= maxUsers {
			return nil, fmt.Errorf("the list of users: %s: the line %.120q is not a role, a new name and a public key", path, strings.TrimSpace(line))
		}
		users = append(users, u)
		taken[u.Name], taken[u.Key] = true, true
	}
	return users, nil
}

// write writes the list of users, the server's configuration, and the copies in the folders. Each file
// is replaced at once, the list last.
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
	ca, err := os.ReadFile(r.path(caFile))
	if err != nil {
		return fmt.Errorf("keys: %w", err)
	}
	if err := r.copyCoordinatorKey(users); err != nil {
		return err
	}
	for _, file := range []struct {
		name string
		data []byte
		mode os.FileMode
	}{
		{serverDir + "/" + authFile, []byte(conf.String()), 0o644},
		{serverDir + "/" + caFile, ca, 0o644},
		{coordinatorDir + "/" + caFile, ca, 0o644},
		{coordinatorDir + "/" + tokenName, token.Text(), 0o600},
		{coordinatorDir + "/" + usersFile, list.Bytes(), 0o644},
		{usersFile, list.Bytes(), 0o644},
	} {
		if err := r.put(file.name, file.data, file.mode); err != nil {
			return err
		}
	}
	return nil
}

// copyCoordinatorKey makes the copy of the key of the user named coordinator, or removes it if there is
// no such user.
func (r *Ring) copyCoordinatorKey(users []bus.User) error {
	const name = string(bus.Coordinator) + keySuffix
	if i := find(users, string(bus.Coordinator)); i < 0 || users[i].Role != bus.Coordinator {
		if err := os.Remove(r.path(coordinatorDir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("keys: %w", err)
		}
		return nil
	}
	data, err := os.ReadFile(r.path(name))
	switch {
	case errors.Is(err, fs.ErrNotExist): // it was moved away, or never here
		return nil
	case err != nil:
		return fmt.Errorf("keys: %w", err)
	}
	return r.put(coordinatorDir+"/"+name, data, 0o600)
}

// put writes a file of the ring unless it has that content, and notes that it was written.
func (r *Ring) put(name string, data []byte, mode os.FileMode) error {
	if old, err := os.ReadFile(r.path(name)); err == nil && bytes.Equal(old, data) {
		return nil
	}
	err := writeFile(r.path(name), data, mode)
	if err == nil {
		r.made = append(r.made, name)
	}
	return err
}

// writeFile replaces a file at once. The umask does not apply: the NATS server may run as another user.
func writeFile(path string, data []byte, mode os.FileMode) error {
	file, err := durable.Create(path, mode)
	if err != nil {
		return fmt.Errorf("keys: %w", err)
	}
	defer file.Discard()
	_, err = file.Write(data)
	if err == nil {
		err = file.Chmod(mode)
	}
	if err == nil {
		err = file.Replace()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("keys: %w", err)
	}
	return nil
}

// access returns the part of the server's configuration that says who may do what. The server sees its
// folder at serverDir.
func access(serverDir string, users []bus.User, tokenHash string) string {
	access := bus.Access{
		Users: users, TokenHash: tokenHash,
		Certificate: filepath.Join(serverDir, certFile), CertificateKey: filepath.Join(serverDir, certKey),
	}
	return access.ServerConfig()
}

// Access returns the part of the configuration that says who may do what, for a server in this process.
// It names the files where they are now: the folder may have been moved. The hash is that of the token. The coordinator of this process stays a user even if its key was revoked; Access
// reports that.
func (r *Ring) Access(tokenHash, coordinator string) (config string, revoked bool, err error) {
	users, err := r.Users()
	if err != nil {
		return "", false, err
	}
	if revoked = find(users, coordinator) < 0; revoked {
		users = append(users, bus.User{Role: bus.Coordinator, Name: "revoked, but in use", Key: coordinator})
	}
	return access(r.path(serverDir), users, tokenHash), revoked, nil
}

var hashInConfig = regexp.MustCompile(`password: "([^"]+)"`)

// tokenHash returns the hash of the token that the configuration has already, so that the server does
// not disconnect the users of the token when it reads a new one, or else another.
func (r *Ring) tokenHash(token string) (string, error) {
	old, err := os.ReadFile(r.ServerConfig())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("keys: %w", err)
	}
	hash := ""
	if found := hashInConfig.FindSubmatch(old); found != nil {
		hash = string(found[1])
	}
	return hashToken(token, hash)
}

// hashToken returns the form of a token that the server keeps: the one before if that is of this token. The token has
// 32 random bytes, so the least cost of the hash is enough.
func hashToken(token, before string) (string, error) {
	if bcrypt.CompareHashAndPassword([]byte(before), []byte(token)) == nil {
		return before, nil
	}
	hash, err := bcrypt.GenerateFromPassword([]byte(token), bcrypt.MinCost)
	return string(hash), err
}
