package runstore

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"os"
	"path/filepath"
	"time"

	"nqueens/pkg/ledger"
)

// This file has the side of the coordinator of a backup; backup.go has the other one.

// copySocket is the socket in the folder of a run at which its coordinator gives copies of the
// ledger: nobody else can read the ledger meanwhile. A client gets the size of the copy in
// eight bytes, big-endian, then the copy, and then the connection ends.
const copySocket = "copy.sock"

// While a copy is written, the ledger needs more room, see [ledger.ErrSlowCopy]. So a reader may
// pause only for stallTimeout, and a copy may take only copyTimeout.
const (
	stallTimeout = 10 * time.Second
	copyTimeout  = 2 * time.Minute
	acceptPause  = time.Second // after a failure
)

// ServeCopies lets other processes back up a ledger that is open for writing in this one, see
// [Store.Backup], until stop is called. It copies for one of them at a time. Failures are
// logged, and change nothing for the ledger.
func (s *Store) ServeCopies(l *ledger.Ledger) (stop func()) {
	name := l.Header().Run
	log := s.log.With().Str("run", name).Logger()
	listener, err := s.listen(name, copySocket)
	if err != nil {
		log.Warn().Err(err).Msg("the run can't be backed up while it counts")
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			conn, err := listener.Accept()
			if err == nil {
				err = sendCopy(ctx, conn, l)
			}
			if err != nil && ctx.Err() == nil {
				log.Warn().Err(err).Msg("a backup failed")
				pause(ctx, acceptPause)
			}
		}
	}()
	return func() {
		cancel()
		_ = listener.Close()
		_ = os.Remove(filepath.Join(s.Folder(name), copySocket))
		select {
		case <-ended:
		case <-time.After(stallTimeout): // a ledger that failed may block for good
		}
	}
}

// sendCopy writes a copy of the ledger to a connection, and closes that, at once if ctx ends.
func sendCopy(ctx context.Context, conn net.Conn, l *ledger.Ledger) error {
	defer func() { _ = conn.Close() }() // everything is sent, or an error is known
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	out := &patientConn{conn, time.Now().Add(copyTimeout)}
	return l.WriteCopy(out, func(size int64) error { return binary.Write(out, binary.BigEndian, size) })
}

// pause waits for that time, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// patientConn is a connection whose reader may pause for stallTimeout, up to the end of its time.
type patientConn struct {
	net.Conn
	end time.Time
}

func (c *patientConn) Write(p []byte) (int, error) {
	deadline := time.Now().Add(stallTimeout)
	if deadline.After(c.end) {
		deadline = c.end
	}
	if err := c.SetWriteDeadline(deadline); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// listen listens at a socket of a run, whose ledger is locked: a socket that is there is one of
// a process that was killed.
func (s *Store) listen(name, socket string) (*net.UnixListener, error) {
	if err := os.Remove(filepath.Join(s.Folder(name), socket)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	path, done, err := shortPath(s.Folder(name))
	if err != nil {
		return nil, err
	}
	defer done()
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(path, socket), Net: "unix"})
	if err == nil {
		listener.SetUnlinkOnClose(false) // by the path, which may be short-lived
	}
	return listener, err
}

// dial connects to a socket of the process that has the run's ledger open for writing.
func (s *Store) dial(name, socket string) (net.Conn, error) {
	path, done, err := shortPath(s.Folder(name))
	if err != nil {
		return nil, err
	}
	defer done()
	return net.Dial("unix", filepath.Join(path, socket))
}

// maxSocketPath is how long the path of a socket may be on every system.
const maxSocketPath = 100

// shortPath returns a path of the folder that is short enough for a socket in it: its own, or
// that of a temporary link, which done removes.
func shortPath(folder string) (path string, done func(), err error) {
	if len(folder)+1+len(copySocket) <= maxSocketPath {
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
