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

// Open opens the ledger in a folder for writing, once in the world, and checks all of
// it: structure, checksums, and that its parts agree. Records of results that are
// damaged are taken out, see [Ledger.Damaged]; any other damage is a [DamagedError].
// Where it is open for writing already the error is a [LockedError], and where others
// still read it after 2 s; where there is none, it wraps [fs.ErrNotExist].
func Open(folder string) (*Ledger, error) { return open(folder, toWrite) }

// OpenReadOnly opens the ledger in a folder for reading, together with other readers, and
// checks it as [Open] does; a damaged record is an error too. It writes nothing. Where
// it is open for writing the error is a [LockedError].
func OpenReadOnly(folder string) (*Ledger, error) { return open(folder, toRead) }

// OpenTolerant is a View that passes over damaged records, as [Open] would: they count as not
// accepted, and [Ledger.Damaged] names them. [Ledger.All] ends at the first of them.
func OpenTolerant(folder string) (*Ledger, error) { return open(folder, toLook) }

// purpose is what a ledger was opened for.
type purpose int

const (
	toWrite purpose = iota
	toRead
	toLook
)

func open(folder string, what purpose) (*Ledger, error) {
	path := filepath.Join(folder, File)
	mode := os.O_RDONLY
	if what == toWrite {
		mode = os.O_RDWR
	}
	file, err := os.OpenFile(path, mode, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no ledger: %w", err)
	}
	if err != nil {
		return nil, diagnose(path, err)
	}
	l := &Ledger{path: path, file: file, purpose: what}
	if err := l.start(); err != nil {
		_ = l.release()
		return nil, err
	}
	return l, nil
}

// start locks the file, checks it, and reads what is held in memory.
func (l *Ledger) start() error {
	if err := l.take(); err != nil {
		return err
	}
	info, err := l.file.Stat()
	if err != nil {
		return diagnose(l.path, err)
	}
	if err := checkStructure(l.file, info.Size()); err != nil {
		return l.damage(err)
	}
	if err := l.openFile(); err != nil {
		return diagnose(l.path, err)
	}
	if err := l.load(); err != nil {
		return err
	}
	if l.purpose == toWrite {
		l.tellHolder()
	}
	return nil
}

// openFile lets bbolt open the file.
func (l *Ledger) openFile() error {
	return l.guard(func() (err error) {
		if l.db, err = bbolt.Open(l.path, 0, options(l.file, l.purpose != toWrite)); err == nil {
			l.db.AllocSize = allocate
		}
		return err
	})
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
	err := l.release()
	l.failed = fmt.Errorf("%w: %s", errClosed, l.path)
	return err
}

// release ends the hold and closes the file. Where bbolt has panicked its locks may be held, and closing
// it might wait for ever; then what it mapped stays until the process ends.
func (l *Ledger) release() error {
	l.letGo()
	switch {
	case l.db == nil:
		return l.file.Close()
	case l.broken:
		return cmp.Or(unlock(l.file), l.file.Close())
	}
	return l.db.Close()
}
