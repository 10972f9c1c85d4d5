// Package durable writes and locks files. Whenever the process or the machine dies, a path has the
// whole new file or what it had before. The file is written under another name in the same folder
// and synced to disk. Only then does it get its own name. The folder is synced last. A process that
// is killed leaves at most a file whose name ends in .new, which nobody reads. For one exception
// see [WriteNew].
package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrLocked says that somebody else holds the lock of a file.
var ErrLocked = errors.New("it is locked")

// ErrNotFile says that there is something else than a regular file at a path, such as a pipe.
var ErrNotFile = errors.New("it is not a regular file")

// Open opens an existing regular file. It never waits: opening a pipe, or reading from one, might
// take for ever. The error wraps [ErrNotFile] or comes from the file system.
func Open(path string, flags int) (*os.File, error) {
	file, err := os.OpenFile(path, flags|openAtOnce, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: ErrNotFile}
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// Write writes a file that only its owner may read. It replaces an existing file of that name. When
// it returns nil, the contents and the name are on disk.
func Write(path string, data []byte) error { return write(path, data, os.Rename) }

// WriteNew does what [Write] does, unless a file of that name exists. Then this file stays as it
// is, and the error wraps [fs.ErrExist]. On a file system without hard links, a process that is
// killed may leave an empty file of that name.
func WriteNew(path string, data []byte) error { return write(path, data, link) }

func write(path string, data []byte, name func(temporary, path string) error) error {
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.new")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(file.Name()) }() // it may have been renamed
	_, err = file.Write(data)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	if err := name(file.Name(), path); err != nil {
		return err
	}
	return SyncFolder(filepath.Dir(path))
}

// link gives the temporary file its own name, unless a file of that name exists.
func link(temporary, path string) error {
	err := os.Link(temporary, path)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	// The file system may have no hard links. Then an empty file takes the name, and the temporary
	// file replaces it.
	claim, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err = errors.Join(claim.Close(), os.Rename(temporary, path)); err != nil {
		_ = os.Remove(path)
	}
	return err
}

// StateFolder returns the default folder for data that lasts, such as runs. It is
// $XDG_STATE_HOME/nqueens, or ~/.local/state/nqueens if this variable is empty: see the XDG Base
// Directory Specification.
func StateFolder() (string, error) {
	state := os.Getenv("XDG_STATE_HOME")
	if state == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		state = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(state, "nqueens"), nil
}
