// Package durable writes files that are there as a whole or not at all, whenever the process or the
// machine dies, and locks files. A file is written under another name in the same folder, synced to disk,
// and only then gets its name; the folder is synced last. A process that is killed leaves at most a file
// whose name ends in .new, which nobody reads.
package durable

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// ErrLocked says that others hold the lock of a file.
var ErrLocked = errors.New("it is locked")

// File is a new file that does not have its name yet. Its errors name the path that it is to have.
type File struct {
	*os.File
	path, temporary string // temporary is empty once nothing is to be removed
}

// Create creates a file in the folder of path for reading and writing, without that name. The umask applies to
// mode. The caller gives the file its name by [File.Replace] or [File.Link], calls [File.Discard] in any case,
// and closes it.
func Create(path string, mode fs.FileMode) (*File, error) {
	path = filepath.Clean(path)
	for {
		temporary := fmt.Sprintf("%s.%08x.new", path, rand.Uint32())
		file, err := createExclusive(temporary, path, mode)
		switch {
		case err == nil:
			return &File{file, path, temporary}, nil
		case !errors.Is(err, fs.ErrExist):
			return nil, err
		}
	}
}

// Replace gives the file its name, in place of a file that has it. The contents and the name are on disk when it
// returns nil.
func (f *File) Replace() error {
	err := f.Sync()
	if err == nil {
		err = os.Rename(f.temporary, f.path)
	}
	if err != nil {
		return err
	}
	f.temporary = ""
	return SyncFolder(filepath.Dir(f.path))
}

// Link does what [File.Replace] does, but the error wraps [fs.ErrExist] if a file has the name: that stays as it is.
func (f *File) Link() error {
	if err := f.Sync(); err != nil {
		return err
	}
	err := os.Link(f.temporary, f.path)
	switch {
	case err == nil:
		f.Discard()
		return SyncFolder(filepath.Dir(f.path))
	case errors.Is(err, fs.ErrExist):
		return &fs.PathError{Op: "create", Path: f.path, Err: fs.ErrExist}
	}
	// A file system without links: an empty file takes the name, and is replaced.
	claim, err := os.OpenFile(f.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		err = cmp.Or(claim.Close(), f.Replace())
		if f.temporary != "" {
			_ = os.Remove(f.path) // the empty file
		}
	}
	return err
}

// Discard removes the file unless it has its name. It does not close it.
func (f *File) Discard() {
	if f.temporary != "" {
		_ = os.Remove(f.temporary) // nobody reads it
		f.temporary = ""
	}
}

// Write writes a file, in place of one that has the name. The umask applies to mode.
func Write(path string, data []byte, mode fs.FileMode) error {
	return write(path, data, mode, (*File).Replace)
}

// WriteNew writes a file. The error wraps [fs.ErrExist] if a file has the name: that stays as it is.
func WriteNew(path string, data []byte, mode fs.FileMode) error {
	return write(path, data, mode, (*File).Link)
}

func write(path string, data []byte, mode fs.FileMode, name func(*File) error) error {
	f, err := Create(path, mode)
	if err != nil {
		return err
	}
	defer f.Discard()
	_, err = f.Write(data)
	if err == nil {
		err = name(f)
	}
	return errors.Join(err, f.Close())
}

// StateFolder returns the folder in which programs keep what should persist but is not worth a backup, such as runs, by
// default: $XDG_STATE_HOME/nqueens, as the XDG Base Directory Specification says.
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
