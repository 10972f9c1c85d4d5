package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"

	"nqueens/pkg/queens"
)

const (
	// File is the name of the ledger in the folder of its run.
	File = "ledger.db"
	// maxTasks bounds a run's tasks: a bit of memory each, 512 MiB.
	maxTasks = 1 << 32
	// allocate is how much the file grows at a time, in bytes.
	allocate = 1 << 20
)

var (
	errLocked = errors.New("it is locked")
	errClosed = errors.New("the ledger is closed")
)

// Create makes a ledger in a folder, and the folder where it is lacking, readable by
// its owner alone. Both are on disk when it returns. An error wraps [fs.ErrExist] where
// the folder has a ledger already.
func Create(folder string, h Header) (*Ledger, error) {
	path := filepath.Join(folder, File)
	if err := check(&h); err != nil {
		return nil, fmt.Errorf("the ledger %s can't be made: %w", path, err)
	}
	if err := makeFolder(folder); err != nil {
		return nil, fmt.Errorf("the folder of the ledger %s can't be made: %w", path, err)
	}
	if err := build(path, h); err != nil {
		if errors.Is(err, errLocked) {
			return nil, &LockedError{Folder: folder}
		}
		return nil, fmt.Errorf("the ledger %s can't be made: %w", path, err)
	}
	return Open(folder)
}

func check(h *Header) error {
	if err := queens.CheckRun(h.Run); err != nil {
		return err
	}
	if h.Manifest.Tasks > maxTasks {
		return fmt.Errorf("%d tasks are more than %d", h.Manifest.Tasks, uint64(maxTasks))
	}
	return h.Manifest.Validate()
}

// makeFolder makes a folder and those above it. They are on disk when it returns.
func makeFolder(folder string) error {
	if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent := filepath.Dir(folder)
	if err := makeFolder(parent); err != nil {
		return err
	}
	if err := os.Mkdir(folder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncFolder(parent)
}

// build makes the file under another name and renames it when it is whole, so that a
// ledger is never there in part.
func build(path string, h Header) error {
	unfinished := path + ".new"
	file, err := os.OpenFile(unfinished, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // write has closed it, unless it failed
	if err := lock(file, true); err != nil {
		return err
	}
	if err := write(file, path, h); err != nil {
		_ = os.Remove(unfinished)
		return err
	}
	if err := os.Rename(unfinished, path); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(path))
}

// write fills the file of a new ledger, and closes it.
func write(file *os.File, path string, h Header) error {
	switch _, err := os.Lstat(path); {
	case err == nil:
		return fs.ErrExist
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := file.Truncate(0); err != nil {
		return err
	}
	db, err := bbolt.Open(file.Name(), 0o600, options(file, false))
	if err != nil {
		return err
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		for _, name := range [][]byte{headerBucket, progressBucket, namesBucket, resultsBucket, votesBucket, evidenceBucket} {
			if _, err := tx.CreateBucket(name); err != nil {
				return err
			}
		}
		header, progress := tx.Bucket(headerBucket), tx.Bucket(progressBucket)
		h.Created = plain(h.Created)
		return cmp.Or(
			putJSON(header, headerBucket, formatKey, Version),
			putJSON(header, headerBucket, headerKey, keptHeader(h)),
			putJSON(progress, progressBucket, positionKey, keptPosition{}),
			putJSON(progress, progressBucket, refusedKey, 0),
			putJSON(progress, progressBucket, stateKey, queens.Running),
		)
	})
	return cmp.Or(err, db.Close())
}

// Open opens the ledger in a folder for writing, once in the world, and checks all of
// it: structure, checksums, and that its parts agree. Records of results that are
// damaged are taken out, see [Ledger.Damaged]; any other damage is a [DamagedError].
// Where it is open already the error is a [LockedError]; where there is none, it wraps
// [fs.ErrNotExist].
func Open(folder string) (*Ledger, error) {
	l, err := open(folder, false)
	if err != nil {
		return nil, err
	}
	l.takeHold()
	return l, nil
}

// View opens the ledger in a folder for reading, together with other readers, and
// checks it as [Open] does; a damaged record is an error too. It writes nothing.
func View(folder string) (*Ledger, error) {
	return open(folder, true)
}

func open(folder string, readOnly bool) (*Ledger, error) {
	path := filepath.Join(folder, File)
	mode := os.O_RDWR
	if readOnly {
		mode = os.O_RDONLY
	}
	file, err := os.OpenFile(path, mode, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no ledger: %w", err)
	}
	if err != nil {
		return nil, diagnose(path, err)
	}
	l := &Ledger{path: path, file: file, readOnly: readOnly}
	if err := l.start(); err != nil {
		_ = l.release()
		if errors.Is(err, errLocked) {
			return nil, &LockedError{Folder: folder, Holder: readHolder(folder)}
		}
		return nil, err
	}
	return l, nil
}

// start locks the file, checks it, and reads what is held in memory.
func (l *Ledger) start() error {
	if err := lock(l.file, !l.readOnly); err != nil {
		return diagnose(l.path, err)
	}
	info, err := l.file.Stat()
	if err != nil {
		return diagnose(l.path, err)
	}
	if err := checkStructure(l.file, info.Size()); err != nil {
		return l.damage(err)
	}
	err = l.guard(func() (err error) {
		l.db, err = bbolt.Open(l.path, 0, options(l.file, l.readOnly))
		return err
	})
	if err != nil {
		return diagnose(l.path, err)
	}
	l.db.AllocSize = allocate
	return l.load()
}

// options let bbolt use the file that is open and locked already.
func options(file *os.File, readOnly bool) *bbolt.Options {
	return &bbolt.Options{
		Timeout:      time.Millisecond,
		PageSize:     pageSize,
		ReadOnly:     readOnly,
		FreelistType: bbolt.FreelistArrayType,
		NoStatistics: true,
		OpenFile:     func(string, int, os.FileMode) (*os.File, error) { return file, nil },
	}
}

// Close ends the use of the ledger, and its lock. What was accepted is on disk before.
// It must not be called within an iteration of [Ledger.All].
func (l *Ledger) Close() error {
	if errors.Is(l.failed, errClosed) {
		return nil
	}
	if l.reading > 0 {
		return l.errReading()
	}
	if !l.readOnly {
		l.letGo()
	}
	err := l.release()
	l.failed = fmt.Errorf("%w: %s", errClosed, l.path)
	return err
}

// release closes the file. Where bbolt has panicked its locks may be held, and closing
// it might wait for ever; then what it mapped stays until the process ends.
func (l *Ledger) release() error {
	switch {
	case l.db == nil:
		return l.file.Close()
	case l.broken:
		return cmp.Or(unlock(l.file), l.file.Close())
	}
	return l.db.Close()
}
