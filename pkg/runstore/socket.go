package runstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
)

// listen listens at the socket of a run, whose ledger is locked: a socket that is there is one of
// a process that was killed. Only the owner of the process can connect.
func (s *Store) listen(name string) (net.Listener, error) {
	if err := os.Remove(filepath.Join(s.Folder(name), controlSocket)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	path, done, err := shortPath(s.Folder(name))
	if err != nil {
		return nil, err
	}
	defer done()
	path = filepath.Join(path, controlSocket)
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	listener.SetUnlinkOnClose(false) // by the path, which may be short-lived
	if err := os.Chmod(path, 0o600); err != nil {
		_ = os.Remove(path)
		return nil, errors.Join(err, listener.Close())
	}
	return listener, nil
}

// dial connects to the process that has the run's ledger open for writing.
func (s *Store) dial(ctx context.Context, name string) (net.Conn, error) {
	path, done, err := shortPath(s.Folder(name))
	if err != nil {
		return nil, err
	}
	defer done()
	conn, err := new(net.Dialer).DialContext(ctx, "unix", filepath.Join(path, controlSocket))
	if err != nil {
		err = fmt.Errorf("%w: %w", errNoSocket, err)
	}
	return conn, err
}

// maxSocketPath is how long the path of a socket may be on every system.
const maxSocketPath = 100

// shortPath returns a path of the folder that is short enough for a socket in it: its own, or
// that of a temporary link, which done removes.
func shortPath(folder string) (path string, done func(), err error) {
	if len(folder)+1+len(controlSocket) <= maxSocketPath {
		return folder, func() {}, nil
	}
	target, err := filepath.Abs(folder)
	if err != nil {
		return "", nil, err
	}
	temporary, err := os.MkdirTemp("", "nqueens")
	if err != nil {
		return "", nil, err
	}
	done = func() { _ = os.RemoveAll(temporary) } // the link, not what it leads to
	path = filepath.Join(temporary, "run")
	if err := os.Symlink(target, path); err != nil {
		done()
		return "", nil, err
	}
	return path, done, nil
}
