package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"go.etcd.io/bbolt"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// Create makes a ledger in a folder, and the folder where it is lacking, readable by
// its owner alone. Both are on disk when it returns, and nobody else can have opened
// the ledger for writing. An error wraps [fs.ErrExist] where the folder has a ledger
// already, and is a [LockedError] while another process makes one there.
func Create(folder string, h Header) (*Ledger, error) {
	path := filepath.Join(folder, File)
	if err := validateHeader(&h); err != nil {
		return nil, fmt.Errorf("the ledger %s can't be made: %w", path, err)
	}
	if err := makeFolder(folder); err != nil {
		return nil, fmt.Errorf("the folder of the ledger %s can't be made: %w", path, err)
	}
	l, err := createFile(path, h)
	if errors.Is(err, errLocked) {
		return nil, &LockedError{Folder: folder}
	}
	if err != nil {
		return nil, fmt.Errorf("the ledger %s can't be made: %w", path, err)
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

// createFile makes the file under another name and renames it when it is whole, so that a
// ledger is never there in part. It is locked from before it has its name.
func createFile(path string, h Header) (*Ledger, error) {
	unfinished := path + ".new"
	file, err := openNew(unfinished, path)
	if err != nil {
		return nil, err
	}
	if err := lock(file, true); err != nil {
		_ = file.Close() // nothing was written
		return nil, err
	}
	l := &Ledger{path: path, file: file}
	err = l.initialize(h)
	if err == nil {
		err = os.Rename(unfinished, path)
	}
	if err == nil {
		err = syncFolder(filepath.Dir(path))
	}
	if err != nil {
		_ = os.Remove(unfinished)
		_ = l.release()
		return nil, err
	}
	return l, nil
}

// initialize writes what a new ledger has, where there is none yet, and reads it back.
func (l *Ledger) initialize(h Header) error {
	switch _, err := os.Lstat(l.path); {
	case err == nil:
		return fs.ErrExist
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	l.claimLockInfo()
	if err := l.file.Truncate(0); err != nil {
		return err
	}
	if err := l.openBolt(); err != nil {
		return err
	}
	err := l.db.Update(func(tx *bbolt.Tx) error {
		for _, name := range [][]byte{headerBucket, progressBucket, namesBucket, resultsBucket, votesBucket, evidenceBucket} {
			if _, err := tx.CreateBucket(name); err != nil {
				return err
			}
		}
		header, progress := tx.Bucket(headerBucket), tx.Bucket(progressBucket)
		h.Created = canonicalTime(h.Created)
		return cmp.Or(
			putJSON(header, headerBucket, formatKey, Version),
			putJSON(header, headerBucket, headerKey, headerJSON(h)),
			putJSON(progress, progressBucket, positionKey, positionJSON{}),
			putJSON(progress, progressBucket, refusedKey, 0),
			putJSON(progress, progressBucket, stateKey, run.Running),
		)
	})
	if err != nil {
		return err
	}
	return l.load()
}
