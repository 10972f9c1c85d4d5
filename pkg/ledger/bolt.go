package ledger

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"
)

// allocSize is by how much the file grows at a time, in bytes.
const allocSize = 1 << 20

// mapSize returns how much address space to map a writer's file to at first, 0 for what it
// needs now. To map more, a transaction waits until no copy is being written; a large file gets
// room for ten million tasks. Windows would make the file that large.
func mapSize(expected uint64) int {
	if expected <= allocSize || strconv.IntSize < 64 || runtime.GOOS == "windows" {
		return 0
	}
	return 1 << 31
}

// openBolt opens the database in the file, which is open and locked already, and is expected
// to get that many bytes.
func (l *Ledger) openBolt(expected uint64) error {
	return l.recoverBolt(func() (err error) {
		l.db, err = bbolt.Open(l.path, 0, &bbolt.Options{
			Timeout:         time.Millisecond,
			PageSize:        pageSize,
			ReadOnly:        l.mode != readWrite,
			FreelistType:    bbolt.FreelistArrayType,
			InitialMmapSize: mapSize(expected),
			NoStatistics:    true,
			OpenFile:        func(string, int, os.FileMode) (*os.File, error) { return l.file, nil },
		})
		if err == nil {
			l.db.AllocSize = allocSize
		}
		return err
	})
}

// update writes in one transaction, which is on disk when update returns nil. After an
// error the ledger is unusable.
func (l *Ledger) update(f func(*bbolt.Tx) error) error {
	failed := l.failed.get()
	switch {
	case failed != nil:
		return failed
	case l.mode != readWrite:
		return fmt.Errorf("the ledger %s is open for reading only", l.path)
	case l.reading.Load() > 0:
		return l.errReading()
	}
	var begun time.Time
	err := l.wrapIO(l.recoverBolt(func() error {
		return l.db.Update(func(tx *bbolt.Tx) error {
			defer func() { begun = time.Now() }()
			return f(tx)
		})
	}))
	l.failed.set(err)
	if err == nil && l.onCommit != nil {
		l.onCommit(time.Since(begun))
	}
	return err
}

// view reads in one transaction.
func (l *Ledger) view(f func(*bbolt.Tx) error) error {
	if failed := l.failed.get(); failed != nil {
		return failed
	}
	return l.recoverBolt(func() error { return l.db.View(f) })
}

// recoverBolt calls f, which calls bbolt. A panic of bbolt, or a fault in the memory to
// which it maps the file, becomes a DamagedError and makes the ledger unusable.
func (l *Ledger) recoverBolt(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = l.damaged(fmt.Errorf("reading it fails: %v", p))
			l.failed.broken.Store(true)
			l.failed.set(err)
		}
	}()
	return f()
}

// failure is what made a ledger unusable, if anything did. Several readers may fail at once.
type failure struct {
	err    atomic.Pointer[error] // Every later call returns it.
	broken atomic.Bool           // bbolt panicked: it may hold its locks for good.
}

func (f *failure) get() error {
	if err := f.err.Load(); err != nil {
		return *err
	}
	return nil
}

// set stores an error, or nil if nothing failed.
func (f *failure) set(err error) { f.err.Store(&err) }
