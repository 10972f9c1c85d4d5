package ledger

import (
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"go.etcd.io/bbolt"
)

// allocSize is by how much the file grows at a time, in bytes.
const allocSize = 1 << 20

// openBolt opens the database in the file, which is open and locked already.
func (l *Ledger) openBolt() error {
	return l.recoverBolt(func() (err error) {
		l.db, err = bbolt.Open(l.path, 0, &bbolt.Options{
			Timeout:      time.Millisecond,
			PageSize:     pageSize,
			ReadOnly:     l.mode != readWrite,
			FreelistType: bbolt.FreelistArrayType,
			NoStatistics: true,
			OpenFile:     func(string, int, os.FileMode) (*os.File, error) { return l.file, nil },
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
	switch {
	case l.failed != nil:
		return l.failed
	case l.mode != readWrite:
		return fmt.Errorf("the ledger %s is open for reading only", l.path)
	case l.reading > 0:
		return l.errReading()
	}
	l.failed = l.wrapIO(l.recoverBolt(func() error { return l.db.Update(f) }))
	return l.failed
}

// view reads in one transaction.
func (l *Ledger) view(f func(*bbolt.Tx) error) error {
	if l.failed != nil {
		return l.failed
	}
	return l.recoverBolt(func() error { return l.db.View(f) })
}

// recoverBolt calls f, which calls bbolt. A panic of bbolt, or a fault in the memory to
// which it maps the file, becomes a DamagedError and makes the ledger unusable.
func (l *Ledger) recoverBolt(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			l.broken = true
			l.failed = l.damaged(fmt.Errorf("reading it fails: %v", p))
			err = l.failed
		}
	}()
	return f()
}
