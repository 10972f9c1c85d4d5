package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"nqueens/pkg/durable"
)

// File is the name of a log in the folder of its run.
const File = "ledger.log"

// Errors that decide what a coordinator does. They are wrapped with the path.
var (
	// ErrFailed says that a write failed: nothing more is written, and what was not confirmed may be lost.
	ErrFailed = errors.New("the ledger can't be written any more")
	// ErrGone says that the path is no longer the file that is written.
	ErrGone = errors.New("the ledger was deleted or replaced while it was written, or its folder is hidden")
)

// Log is a log that is open for writing. Its methods may be called by any goroutine.
type Log struct {
	path string
	file file
	lock *FolderLock
	size atomic.Int64 // on disk; only the writer changes it

	mu      sync.Mutex
	wake    sync.Cond // waiting or closed has changed
	waiting []entry   // to be written
	closed  bool

	failed context.Context // ends when nothing more is written; its cause says why
	cancel context.CancelCauseFunc
	done   chan struct{} // closed when the writer has ended
}

// file is what a log needs of its file. Tests put one that fails in its place.
type file interface {
	io.WriterAt
	io.Closer
	Truncate(size int64) error
	Sync() error // of the data and the size
	Stat() (fs.FileInfo, error)
}

// diskFile syncs no times, which would take another write.
type diskFile struct{ *os.File }

func (f diskFile) Sync() error { return durable.SyncData(f.File) }

// entry is a frame, or a function that is called when the frames before it are on disk.
type entry struct {
	frame  []byte
	onDisk func(error)
}

// Create creates the log of a new run, and its folder, which must have the name of the run, and opens it. The error wraps
// [fs.ErrExist] if there is a log.
func Create(path string, h Header) (*Log, error) {
	frame, err := AppendFrame(nil, &h)
	if err == nil {
		err = checkFolder(path, &h)
	}
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err == nil {
		err = durable.WriteNew(path, frame)
	}
	if err == nil {
		err = durable.SyncFolder(filepath.Dir(filepath.Dir(path)))
	}
	if err != nil {
		return nil, fmt.Errorf("create the ledger %s: %w", path, err)
	}
	l, _, _, err := Open(path)
	return l, err
}

// Open opens the log of a run for writing, and folds it. It cuts what is torn. The error is a [LockedError] if another
// process has the log open for writing, and wraps [ErrDamaged] if the log is damaged.
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
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, nil, notes, err
	}
	if notes.Torn > 0 {
		if err = cmp.Or(file.Truncate(notes.Size), file.Sync()); err != nil {
			return nil, nil, notes, errors.Join(err, file.Close())
		}
	}
	return start(path, diskFile{file}, lock, notes.Size), state, notes, nil
}

// start returns a log whose file has that size on disk.
func start(path string, f file, lock *FolderLock, size int64) *Log {
	l := &Log{path: path, file: f, lock: lock, done: make(chan struct{})}
	l.size.Store(size)
	l.wake.L = &l.mu
	l.failed, l.cancel = context.WithCancelCause(context.Background())
	go l.write()
	return l
}

// Append adds records to the log, in the order of the calls, and returns at once. The goroutine that writes calls onDisk,
// unless it is nil, when they are on disk, or with the error that wraps [ErrFailed]. An invalid record fails the log.
func (l *Log) Append(onDisk func(error), records ...Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range records {
		frame, err := AppendFrame(nil, r)
		if err != nil {
			l.fail(err)
		}
		l.waiting = append(l.waiting, entry{frame: frame})
	}
	if onDisk != nil {
		l.waiting = append(l.waiting, entry{onDisk: onDisk})
	}
	l.wake.Signal()
}

// write writes group after group, until the log is closed and nothing waits.
func (l *Log) write() {
	defer close(l.done)
	for {
		l.mu.Lock()
		for len(l.waiting) == 0 && !l.closed {
			l.wake.Wait()
		}
		entries := l.waiting
		l.waiting = nil
		l.mu.Unlock()
		if len(entries) == 0 {
			return
		}
		for len(entries) > 0 {
			entries = entries[l.writeGroup(entries):]
		}
	}
}

// writeGroup writes the first entries as one group, and returns their number. If that fails nothing more is written but a
// truncation to what is on disk for certain: after a failed sync the kernel may drop what it could not write, and say so
// once only.
func (l *Log) writeGroup(entries []entry) (n int) {
	var frames []byte
	for n < len(entries) && len(frames)+len(entries[n].frame) <= maxGroup {
		frames = append(frames, entries[n].frame...)
		n++
	}
	size := l.size.Load()
	if l.Err() == nil {
		_, err := l.file.WriteAt(frames, size)
		if err == nil {
			err = l.file.Sync()
		}
		if err == nil {
			l.size.Add(int64(len(frames)))
		} else {
			l.fail(errors.Join(err, l.file.Truncate(size)))
		}
	}
	for _, e := range entries[:n] {
		if e.onDisk != nil {
			e.onDisk(l.Err())
		}
	}
	return n
}

// fail makes err the reason why nothing more is written, unless there is one.
func (l *Log) fail(err error) { l.cancel(fmt.Errorf("%w: %s: %w", ErrFailed, l.path, err)) }

// Failed returns a channel that is closed once nothing more is written; [Log.Err] says why.
func (l *Log) Failed() <-chan struct{} { return l.failed.Done() }

// Err returns nil, or why nothing more is written. It wraps [ErrFailed].
func (l *Log) Err() error { return context.Cause(l.failed) }

// SetServer publishes the address of the run's server, for those that list runs.
func (l *Log) SetServer(address string) { l.lock.publish(address) }

// Intact returns an error unless the path is still the file that is written, and has everything that was written. The
// error wraps [ErrGone], or says why that can't be known, such as a missing permission.
func (l *Log) Intact() error {
	size := l.size.Load()
	info, err := named(l.file, l.path)
	if err == nil {
		_, err = named(l.lock.file, l.lock.file.Name())
	}
	if err == nil && info.Size() < size {
		err = fmt.Errorf("%w: %s has %d bytes, %d were written", ErrGone, l.path, info.Size(), size)
	}
	return err
}

// named returns what is known of an open file. The error wraps [ErrGone] unless path is its name.
func named(f interface{ Stat() (fs.FileInfo, error) }, path string) (fs.FileInfo, error) {
	now, err := os.Stat(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("watch the ledger: %w", err)
	}
	open, failed := f.Stat()
	if err != nil || failed != nil || !os.SameFile(now, open) {
		return nil, fmt.Errorf("%w: %s", ErrGone, path)
	}
	return now, nil
}

// Close writes what waits, closes the log and releases its lock. It returns [Log.Err], or why the file could not be
// closed. Nothing may be appended any more.
func (l *Log) Close() error {
	l.mu.Lock()
	l.closed = true
	l.wake.Signal()
	l.mu.Unlock()
	<-l.done
	closed := l.file.Close()
	return errors.Join(cmp.Or(l.Err(), closed), l.lock.Release())
}
