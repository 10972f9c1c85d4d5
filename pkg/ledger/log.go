package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"

	"nqueens/pkg/durable"
)

// File is the name of a log in the folder of its run. It has no suffix, because backups leave out
// files like *.log.
const File = "ledger"

// fileBefore is the name that a log had in the format before this one.
const fileBefore = "ledger.log"

// Errors that a coordinator tells apart. They are wrapped with the path.
var (
	// ErrFailed says that a write failed: nothing more is written.
	ErrFailed = errors.New("the ledger can't be written any more")
	// ErrGone says that the log was cut, or that it or its lock file is no longer at its path.
	ErrGone = errors.New(
		"the ledger was deleted or replaced while it was written, or its folder is hidden")
)

// Log is a log that is open for writing. Only one goroutine at a time may call Write or Close.
type Log struct {
	path string
	file file
	lock *FolderLock
	size atomic.Int64 // on disk
	err  error        // why nothing more is written

	number uint32 // of the last write, modulo 2^32
	buffer []byte // of the last write
}

// file has the methods of a file that a log needs. Tests use one that fails.
type file interface {
	io.WriterAt
	io.Closer
	Truncate(size int64) error
	Sync() error // of the data and the size
	Stat() (fs.FileInfo, error)
}

// The Sync of a diskFile leaves out the times of the file, which would take another write.
type diskFile struct{ *os.File }

func (f diskFile) Sync() error { return durable.SyncData(f.File) }

// Create creates the folder and the log of a new run, and opens the log. The folder must have the
// name of the run. At every moment there is no folder of that name, or one with a whole log. The
// error wraps [fs.ErrExist] if there is a folder already.
func Create(path string, h Header) (*Log, error) {
	frame, err := AppendFrame(nil, 1, &h)
	if err == nil {
		err = checkFolder(path, &h)
	}
	if err == nil {
		err = createFolder(filepath.Dir(path), frame)
	}
	if err != nil {
		return nil, fmt.Errorf("create the ledger %s: %w", path, err)
	}
	l, _, _, err := Open(path)
	return l, err
}

// createFolder creates a folder with a log. It makes the folder under another name, and renames it.
func createFolder(folder string, log []byte) error {
	parent := filepath.Dir(folder)
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return err
	}
	if _, err := os.Lstat(folder); err == nil {
		return &fs.PathError{Op: "create", Path: folder, Err: fs.ErrExist}
	}
	made, err := os.MkdirTemp(parent, ".new-")
	if err != nil {
		return err
	}
	err = durable.WriteNew(filepath.Join(made, File), log)
	if err == nil {
		err = os.Rename(made, folder)
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(made))
	}
	return durable.SyncFolder(parent)
}

// Open opens the log of a run for writing, and folds it. It cuts off a torn write, and returns when
// all that it has read is on disk: the process that wrote it may have been killed before its sync.
// The error wraps a [LockedError] if another process holds the lock, and [ErrDamaged] if the log is
// damaged.
func Open(path string) (l *Log, state *State, notes Notes, err error) {
	lock, err := Lock(filepath.Dir(path))
	if err != nil {
		return nil, nil, notes, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, lock.Release())
		}
	}()
	if err = ownFile(path); err == nil {
		state, notes, err = Load(path)
	}
	if err != nil {
		return nil, nil, notes, err
	}
	opened, err := durable.Open(path, os.O_RDWR)
	if err != nil {
		return nil, nil, notes, err
	}
	l = &Log{path: path, file: diskFile{opened}, lock: lock}
	if err = l.begin(&notes); err != nil {
		return nil, nil, notes, errors.Join(err, opened.Close())
	}
	return l, state, notes, nil
}

// begin makes the log end where its last whole frame ends, and returns when that is on disk.
func (l *Log) begin(n *Notes) error {
	l.number = n.Write
	l.size.Store(n.Size)
	if n.Torn > 0 {
		if err := l.file.Truncate(n.Size); err != nil {
			return err
		}
	}
	return l.file.Sync()
}

// Write adds records to the log, and returns when they are on disk. Without records it does
// nothing: what was written before is on disk. After an error, which wraps [ErrFailed], nothing
// more is written. An invalid record gives such an error too.
func (l *Log) Write(records ...Record) error {
	frames := l.buffer[:0]
	for _, r := range records {
		before := len(frames)
		var err error
		if frames, err = AppendFrame(frames, l.number+1, r); err != nil {
			return l.fail(err)
		}
		if len(frames) > maxWrite && before > 0 {
			if err := l.write(frames[:before]); err != nil {
				return err
			}
			if frames, err = AppendFrame(frames[:0], l.number+1, r); err != nil {
				return l.fail(err)
			}
		}
	}
	l.buffer = frames
	return l.write(frames)
}

// write writes the frames of a write. If that fails, it truncates the file to the part that is
// certainly on disk, and nothing more is written: after a failed sync the system may drop the data
// that it could not write, and may report that only once.
func (l *Log) write(frames []byte) error {
	if l.err != nil || len(frames) == 0 {
		return l.err
	}
	size := l.size.Load()
	_, err := l.file.WriteAt(frames, size)
	if err == nil {
		err = l.file.Sync()
	}
	if err != nil {
		return l.fail(errors.Join(err, l.file.Truncate(size)))
	}
	l.number++
	l.size.Add(int64(len(frames)))
	return nil
}

// fail makes err the reason why nothing more is written, unless there is an earlier reason.
func (l *Log) fail(err error) error {
	l.err = cmp.Or(l.err, fmt.Errorf("%w: %s: %w", ErrFailed, l.path, err))
	return l.err
}

// Publish says where the run's server is, and with which flags the run goes on, for processes that
// list runs. Only one goroutine at a time may call it.
func (l *Log) Publish(server string, flags []string) { l.lock.publish(server, flags) }

// Intact returns an error unless the log and its lock are still at their paths, and the log has all
// that was written. The error wraps [ErrGone], or says why Intact can't tell, such as a missing
// permission. Any goroutine may call it.
func (l *Log) Intact() error {
	size := l.size.Load()
	type statter interface{ Stat() (fs.FileInfo, error) }
	for path, file := range map[string]statter{l.path: l.file, l.lock.file.Name(): l.lock.file} {
		now, err := os.Stat(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("watch the ledger: %w", err)
		}
		open, failed := file.Stat()
		if err != nil || failed != nil || !os.SameFile(now, open) {
			return fmt.Errorf("%w: %s", ErrGone, path)
		}
		if path == l.path && now.Size() < size {
			return fmt.Errorf("%w: %s has %d bytes, %d were written", ErrGone, path, now.Size(), size)
		}
	}
	return nil
}

// Close closes the log and releases its lock. It returns the error that ended writing, or why the
// file could not be closed.
func (l *Log) Close() error {
	closed := l.file.Close()
	return errors.Join(cmp.Or(l.err, closed), l.lock.Release())
}
