package join

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"nqueens/pkg/durable"
	"nqueens/pkg/queens"
)

// Endings of the files of a user: its token, and the file that says that the user was removed.
const (
	tokenEnding   = ".token"
	removedEnding = ".removed"
)

// Invitation is a user that was invited.
type Invitation struct {
	User    string
	Path    string // of the token file; empty if the user was removed
	Removed bool   // nobody gets this name again
}

// ErrNotInvited says that no user of the name is invited.
var ErrNotInvited = errors.New("no such user is invited")

// ValidateInvited returns an error unless a user of this name can be invited.
func ValidateInvited(user string) error {
	taken := []string{queens.CoordinatorUser, queens.WorkerUser, queens.WatcherUser,
		strings.TrimSuffix(FileName, tokenEnding)}
	if slices.Contains(taken, user) {
		return fmt.Errorf("the name %s has a meaning of its own: choose another", user)
	}
	return queens.ValidateUser(user)
}

// Invite makes the token of a new user in a folder that has the token of the user
// [queens.WorkerUser], and returns the path of the new token. The token has the same server as the
// other one. A name that was removed is an error, and so is one that is invited already.
func Invite(dir, user string) (path string, err error) {
	if err := ValidateInvited(user); err != nil {
		return "", err
	}
	t, err := Load(fileOf(dir, queens.WorkerUser))
	if err != nil {
		return "", err
	}
	if wasRemoved(dir, user) {
		return "", fmt.Errorf("the user %s was removed, and nobody gets this name again: choose another",
			user)
	}
	path = fileOf(dir, user)
	t.User, t.Password = user, rand.Text()
	if err := durable.WriteNew(path, t.Text()); errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("the user %s is invited already: %s is the token", user, path)
	} else if err != nil {
		return "", err
	}
	return path, nil
}

// Remove closes the invitation of a user for ever. The token works until the server reads the users
// again: an embedded server within two seconds, another one after [WriteUsers], when it is reloaded
// or started. The error wraps [ErrNotInvited] if there is none.
func Remove(dir, user string) error {
	if err := ValidateInvited(user); err != nil {
		return err
	}
	path := fileOf(dir, user)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %s", ErrNotInvited, user)
	}
	// first: whatever dies now, the name stays removed
	err := durable.Write(filepath.Join(dir, user+removedEnding), nil)
	if err == nil {
		err = os.Remove(path)
	}
	if err == nil {
		err = durable.SyncFolder(dir)
	}
	return err
}

// Invitations returns the users of a folder that were invited, in order, those included that were
// removed.
func Invitations(dir string) (list []Invitation, err error) {
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, file := range files {
		user, isToken := strings.CutSuffix(file.Name(), tokenEnding)
		user, isRemoved := strings.CutSuffix(user, removedEnding)
		switch {
		case ValidateInvited(user) != nil:
		case isRemoved:
			list = append(list, Invitation{User: user, Removed: true})
		case isToken && !wasRemoved(dir, user):
			list = append(list, Invitation{User: user, Path: fileOf(dir, user)})
		}
	}
	slices.SortFunc(list, func(a, b Invitation) int { return cmp.Compare(a.User, b.User) })
	return list, err
}

// ReadPasswords returns the passwords of the users that have a token in a folder, except of users
// that were removed. A token that is damaged, or of another user than its name says, is left out;
// the error names it, and the other passwords are valid.
func ReadPasswords(dir string) (Passwords, error) {
	files, err := filesIn(dir, tokenEnding)
	passwords := make(Passwords, len(files))
	for _, path := range files {
		t, failed := Load(path)
		switch {
		case failed != nil:
			err = errors.Join(err, failed)
		case fileOf(dir, t.User) != path:
			err = errors.Join(err,
				fmt.Errorf("%s is a token of the user %s: give each token file its name", path, t.User))
		case !wasRemoved(dir, t.User):
			passwords[t.User] = t.Password
		}
	}
	return passwords, err
}

// filesIn returns the paths of the files of a folder whose names have an ending. A folder that does
// not exist has none.
func filesIn(dir, ending string) (paths []string, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ending) {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths, err
}

// wasRemoved reports whether a user was removed.
func wasRemoved(dir, user string) bool {
	_, err := os.Lstat(filepath.Join(dir, user+removedEnding))
	return !errors.Is(err, fs.ErrNotExist)
}

// fileOf returns the path of the token file of a user.
func fileOf(dir, user string) string {
	if user == queens.WorkerUser {
		return filepath.Join(dir, FileName)
	}
	return filepath.Join(dir, user+tokenEnding)
}
