package ledger

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

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
	lock *lock
	size int64 // on disk; only the writer changes it

	mu     sync.Mutex
	wake   sync.Cond // groups or closed have changed
	groups []group   // that wait to be written
	spare  []byte    // the buffer of a written group
	err    error     // why nothing more is written
	closed bool

	failed chan struct{} // closed with err
	done   chan struct{} // closed when the writer has ended
}

// file is what a log needs of its file. Tests put one that fails in its place.
type file interface {
	io.WriterAt
	io.Closer
	Truncate(size int64) error
	Sync() error // of the data and the size
}

// diskFile syncs no times, which would take another write.
type diskFile struct{ *os.File }

func (f diskFile) Sync() error { return durable.SyncData(f.File) }

// group is frames that are written at once.
type group struct {
	frames []byte
	onDisk []func(error)
}

// Create creates the log of a new run, and its folder, which must have the name of the run. The error wraps
// [fs.ErrExist] if there is a log.
func Create(path string, h Header) (*Log, error) {
	if err := checkFolder(path, &h); err != nil {
		return nil, err
	}
	frame, err := AppendFrame(nil, &h)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err != nil {
		return nil, fmt.Errorf("create the ledger %s: %w", path, err)
	}
	lock, err := acquire(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	file, err := createFile(path, frame)
	if err == nil {
		err = durable.SyncFolder(filepath.Dir(filepath.Dir(path)))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("create the ledger: %w", err), lock.release())
	}
	return start(path, diskFile{file}, lock, int64(len(frame))), nil
}

// createFile creates a file that is there with its first frame or not at all.
func createFile(path string, frame []byte) (*os.File, error) {
	f, err := durable.Create(path, 0o600)
	if err != nil {
		return nil, err
	}
	defer f.Discard()
	if _, err = f.Write(frame); err == nil {
		err = f.Link()
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f.File, nil
}

// Open opens the log of a run for writing, and folds it. It cuts what is torn. The error is a [LockedError] if another
// process has the log open for writing, and a [DamagedError] if the log is damaged.
func Open(path string) (*Log, *State, Notes, error) {
	lock, err := acquire(filepath.Dir(path))
	if err != nil {
		return nil, nil, Notes{}, err
	}
	var state *State
	var notes Notes
	err = ownFile(path)
	if err == nil {
		state, notes, err = Load(path)
	}
	var file *os.File
	if err == nil {
		file, err = os.OpenFile(path, os.O_RDWR, 0)
	}
	if err == nil && notes.Torn > 0 {
		err = file.Truncate(notes.Size)
		if err == nil {
			err = file.Sync()
		}
	}
	if err != nil {
		if file != nil {
			err = errors.Join(err, file.Close())
		}
		return nil, nil, notes, errors.Join(err, lock.release())
	}
	return start(path, diskFile{file}, lock, notes.Size), state, notes, nil
}

// start returns a log whose file has that size on disk.
func start(path string, f file, lock *lock, size int64) *Log {
	l := &Log{path: path, file: f, lock: lock, size: size, failed: make(chan struct{}), done: make(chan struct{})}
	l.wake.L = &l.mu
	go l.write()
	return l
}

// Append adds records to the log, in the order of the calls, and returns at once. Records of one call are written
// together. The goroutine that writes calls onDisk, unless it is nil, when they are on disk, or with the error that
// wraps [ErrFailed]. An invalid record fails the log.
func (l *Log) Append(onDisk func(error), records ...Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.groups) == 0 {
		l.groups = append(l.groups, group{frames: l.spare[:0]})
		l.spare = nil
	}
	last := &l.groups[len(l.groups)-1]
	before := len(last.frames)
	for _, r := range records {
		var err error
		if last.frames, err = AppendFrame(last.frames, r); err != nil {
			l.fail(err)
		}
	}
	if len(last.frames) > maxGroup && before > 0 {
		next := group{frames: slices.Clone(last.frames[before:])}
		last.frames = last.frames[:before]
		l.groups = append(l.groups, next)
		last = &l.groups[len(l.groups)-1]
	}
	if len(last.frames) > maxGroup {
		l.fail(fmt.Errorf("records of %d bytes at once, more than %d", len(last.frames), maxGroup))
	}
	if onDisk != nil {
		last.onDisk = append(last.onDisk, onDisk)
	}
	l.wake.Signal()
}

// write writes group after group, until the log is closed and nothing waits.
func (l *Log) write() {
	defer close(l.done)
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		for len(l.groups) == 0 && !l.closed {
			l.wake.Wait()
		}
		if len(l.groups) == 0 {
			return
		}
		g := l.groups[0]
		l.groups = l.groups[1:]
		err := l.err
		l.mu.Unlock()
		if err == nil {
			err = l.writeGroup(g.frames)
		}
		for _, onDisk := range g.onDisk {
			onDisk(err)
		}
		l.mu.Lock()
		if cap(g.frames) <= maxGroup {
			l.spare = g.frames
		}
	}
}

// writeGroup writes frames and waits until they are on disk. If that fails nothing more is written but a truncation to
// what is on disk for certain: after a failed sync the kernel may drop what it could not write, and say so once only.
func (l *Log) writeGroup(frames []byte) error {
	_, err := l.file.WriteAt(frames, l.size)
	if err == nil {
		err = l.file.Sync()
	}
	if err == nil {
		l.mu.Lock()
		l.size += int64(len(frames))
		l.mu.Unlock()
		return nil
	}
	err = errors.Join(err, l.file.Truncate(l.size))
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fail(err)
	return l.err
}

// fail makes err the reason why nothing more is written, unless there is one. The caller holds the mutex.
func (l *Log) fail(err error) {
	if l.err == nil {
		l.err = fmt.Errorf("%w: %s: %w", ErrFailed, l.path, err)
		close(l.failed)
	}
}

// Failed returns a channel that is closed once nothing more is written; [Log.Err] says why.
func (l *Log) Failed() <-chan struct{} { return l.failed }

// Err returns nil, or why nothing more is written. It wraps [ErrFailed].
func (l *Log) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// SetServer publishes the address of the run's server, for those that list runs.
func (l *Log) SetServer(address string) { l.lock.publish(address) }

// Intact returns an error unless the path is still the file that is written, and has everything that was written. The
// error wraps [ErrGone], or says why that can't be known, such as a missing permission.
func (l *Log) Intact() error {
	l.mu.Lock()
	size := l.size
	l.mu.Unlock()
	f, ok := l.file.(diskFile)
	if !ok {
		return nil
	}
	info, err := named(f.File, l.path)
	if err == nil {
		_, err = named(l.lock.file, l.lock.file.Name())
	}
	if err == nil && info.Size() < size {
		err = fmt.Errorf("%w: %s has %d bytes, %d were written", ErrGone, l.path, info.Size(), size)
	}
	return err
}

// named returns what is known of an open file. The error wraps [ErrGone] unless path is its name.
func named(f *os.File, path string) (fs.FileInfo, error) {
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
	err := l.Err()
	if closed := l.file.Close(); err == nil {
		err = closed
	}
	return errors.Join(err, l.lock.release())
}
