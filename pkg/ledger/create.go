package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math/bits"
	"os"
	"path/filepath"

	"go.etcd.io/bbolt"

	"nqueens/pkg/durable"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// maxTasks bounds the tasks of a run: a bit of memory each, 512 MiB.
const maxTasks = 1 << 32

// Create creates a ledger in a folder, and the folder if it does not exist; only their
// owner can read them. Both are on disk when Create returns, and nobody else can have
// opened the ledger for writing. The error wraps [fs.ErrExist] if the folder has a
// ledger already.
func Create(folder string, h Header) (*Ledger, error) {
	path := filepath.Join(folder, File)
	var l *Ledger
	err := validateHeader(&h)
	if err == nil {
		err = makeFolder(folder)
	}
	if err == nil {
		l, err = createFile(path, h)
	}
	if err != nil {
		return nil, fmt.Errorf("the ledger %s can't be created: %w", path, err)
	}
	return l, nil
}

func validateHeader(h *Header) error {
	if err := queens.ValidateRun(h.Run); err != nil {
		return err
	}
	if h.Manifest.Tasks > maxTasks {
		return fmt.Errorf("%d tasks are more than %d", h.Manifest.Tasks, uint64(maxTasks))
	}
	if h.Trust.Redundancy < 1 {
		return fmt.Errorf("%d keys have to agree on a task", h.Trust.Redundancy)
	}
	return cmp.Or(h.Manifest.Validate(), run.ValidateSide(h.Run, h.Manifest.N))
}

// makeFolder creates a folder and its parents. They are on disk when it returns.
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
	return durable.SyncFolder(parent)
}

// createFile writes the file under a temporary name, and names it when it is complete. It holds the lock from
// before the file has its name.
func createFile(path string, h Header) (*Ledger, error) {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) { // before all is written
		return nil, cmp.Or(err, fs.ErrExist)
	}
	file, err := durable.Create(path, 0o600)
	if err != nil {
		return nil, err
	}
	defer file.Discard()
	l := &Ledger{path: path, file: file.File}
	err = durable.Lock(l.file, true)
	if err == nil {
		err = l.initialize(h)
	}
	if err == nil {
		err = file.Link()
	}
	if err != nil {
		_ = l.release()
		return nil, err
	}
	l.claimLockInfo()
	return l, nil
}

// initialize writes the contents of a new ledger, and loads them.
func (l *Ledger) initialize(h Header) error {
	if err := l.openBolt(ExpectedSize(h.Manifest.Tasks)); err != nil {
		return err
	}
	err := l.db.Update(func(tx *bbolt.Tx) error {
		for _, name := range buckets {
			if _, err := tx.CreateBucket(name); err != nil {
				return err
			}
		}
		h.Created = canonicalTime(h.Created)
		return cmp.Or(
			putJSON(tx, headerBucket, formatKey, Version),
			putJSON(tx, headerBucket, headerKey, h),
			putJSON(tx, progressBucket, progressKey, progress{State: run.Running}),
			putJSON(tx, progressBucket, historyKey, run.NewHistory(run.MaxHistory)),
		)
	})
	if err != nil {
		return err
	}
	return l.load()
}

const (
	// baseSize and taskSize are what the pages of a ledger take, in bytes: those
	// without a task, and more for each task, signed in a chunk of 32 or more.
	baseSize, taskSize = 59_000, 105
	// minSize is the size of a new file, in bytes. Files double up to allocSize; from
	// there on they grow by allocSize.
	minSize = 1 << 16
)

// ExpectedSize returns the approximate size of a ledger's file, in bytes, once that many
// tasks are accepted.
func ExpectedSize(tasks uint64) uint64 {
	pages := baseSize + taskSize*tasks
	if pages > allocSize {
		return pages + allocSize
	}
	return max(minSize, uint64(1)<<bits.Len64(pages-1))
}
