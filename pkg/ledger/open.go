package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"nqueens/pkg/durable"
)

// File is the name of the ledger in the folder of its run.
const File = "ledger.db"

var errClosed = errors.New("the ledger is closed")

// Open opens the ledger in a folder for writing and checks all of it: structure,
// checksums, and that its parts agree. Only one process can have it open so. Damaged
// records of results are removed, see [Ledger.Damaged]; any other damage is a
// [DamagedError]. Open waits up to 2 s, or until ctx ends, for readers to finish. The
// error is a [LockedError] if they do not, or if the ledger is open for writing
// already; it wraps [fs.ErrNotExist] if there is no ledger. Unless locked is nil, it is called when the ledger is locked
// and not read yet.
func Open(ctx context.Context, folder string, locked func(*Ledger)) (*Ledger, error) {
	return open(ctx, filepath.Join(folder, File), readWrite, locked)
}

// OpenReadOnly opens the ledger in a folder for reading, which any number of processes
// may do at once, and checks it as [Open] does; a damaged record is an error too. It
// writes nothing. If the ledger is open for writing the error is a [LockedError].
func OpenReadOnly(folder string) (*Ledger, error) {
	return OpenFile(filepath.Join(folder, File))
}

// OpenFile is [OpenReadOnly] for a ledger in a file of any name, such as a copy.
func OpenFile(path string) (*Ledger, error) { return open(context.Background(), path, readOnly, nil) }

// OpenTolerant is [OpenReadOnly], but skips damaged records: their tasks count as not
// accepted, and [Ledger.Damaged] lists them. [Ledger.Range] ends at the first of them.
func OpenTolerant(folder string) (*Ledger, error) {
	return open(context.Background(), filepath.Join(folder, File), tolerant, nil)
}

// openMode is what a ledger was opened for.
type openMode int

const (
	readWrite openMode = iota
	readOnly
	tolerant
)

func open(ctx context.Context, path string, mode openMode, locked func(*Ledger)) (*Ledger, error) {
	l, err := openLocked(ctx, path, mode)
	if err != nil {
		return nil, err
	}
	if locked != nil {
		locked(l)
	}
	if err := l.read(); err != nil {
		_ = l.release()
		return nil, err
	}
	return l, nil
}

// openLocked opens the file and locks it.
func openLocked(ctx context.Context, path string, mode openMode) (*Ledger, error) {
	l := &Ledger{path: path, mode: mode}
	flag := os.O_RDONLY
	if mode == readWrite {
		flag = os.O_RDWR
	}
	var err error
	l.file, err = os.OpenFile(l.path, flag, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("there is no ledger: %w", err)
	case err != nil:
		return nil, l.wrapIO(err)
	}
	if err := l.acquire(ctx); err != nil {
		_ = l.release()
		return nil, err
	}
	return l, nil
}

// read checks the file, which is locked, and reads what is held in memory.
func (l *Ledger) read() error {
	info, err := l.file.Stat()
	if err != nil {
		return l.wrapIO(err)
	}
	if err := checkStructure(l.file, info.Size()); err != nil {
		return l.damaged(err)
	}
	if err := l.openBolt(uint64(info.Size())); err != nil {
		return l.wrapIO(err)
	}
	return l.load()
}

// Close closes the ledger and releases its lock. Accepted counts are on disk already.
// It fails during an iteration of [Ledger.Range].
func (l *Ledger) Close() error {
	if errors.Is(l.failed.get(), errClosed) {
		return nil
	}
	if l.reading.Load() > 0 {
		return l.errReading()
	}
	err := l.release()
	l.failed.set(fmt.Errorf("%w: %s", errClosed, l.path))
	return err
}

// release removes holder.json and closes the file. After a panic bbolt may hold its own
// locks, and closing it could block for good; then the file stays mapped until the
// process ends.
func (l *Ledger) release() error {
	l.removeLockInfo()
	switch {
	case l.db == nil:
		return l.file.Close()
	case l.failed.broken.Load():
		return cmp.Or(durable.Unlock(l.file), l.file.Close())
	}
	return l.db.Close()
}
