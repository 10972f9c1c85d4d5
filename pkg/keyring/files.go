package keyring

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"nqueens/pkg/bus"
	"nqueens/pkg/identity"
)

// readUsers reads a list of users.
func readUsers(path string) ([]bus.User, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("the list of users: %w", err)
	}
	if len(data) > maxFileLen {
		return nil, fmt.Errorf("the list of users: %s has %d bytes", path, len(data))
	}
	var users []bus.User
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if len(fields) != 3 || bus.Role(fields[0]).Validate() != nil || !userName.MatchString(fields[1]) ||
			!identity.IsKey(fields[2]) || find(users, fields[1]) >= 0 || len(users) >= maxUsers {
			return nil, fmt.Errorf("the list of users: %s: the line %.120q is not a role, a new name and a public key", path, strings.TrimSpace(line))
		}
		users = append(users, bus.User{Role: bus.Role(fields[0]), Name: fields[1], Key: fields[2]})
	}
	return users, nil
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

// writeFile replaces a file at once.
func writeFile(path string, data []byte, mode os.FileMode) error {
	file, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return fmt.Errorf("keys: %w", err)
	}
	defer func() { _ = os.Remove(file.Name()) }() // fails once it is renamed
	_, err = file.Write(data)
	if err == nil {
		err = file.Chmod(mode)
	}
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("keys: %w", err)
	}
	return nil
}
