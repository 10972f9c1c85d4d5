package ledger

import (
	"go.etcd.io/bbolt"
)

// serverKey is the key of the server that the run used last, in progressBucket. Ledgers of older
// programs, and those of runs that have not started, lack it.
var serverKey = []byte("server")

// Server returns what [Ledger.SetServer] stored last; empty if nothing was.
func (l *Ledger) Server() string { return l.server }

// SetServer stores which server the run uses, as the caller names it, without passwords. It is on
// disk when SetServer returns nil. Errors are those of [Ledger.Accept].
func (l *Ledger) SetServer(server string) error {
	if server == l.server && l.failed.get() == nil {
		return nil
	}
	err := l.update(func(tx *bbolt.Tx) error { return putJSON(tx, progressBucket, serverKey, server) })
	if err == nil {
		l.server = server
	}
	return err
}

func (l *Ledger) loadServer(tx *bbolt.Tx) error {
	if tx.Bucket(progressBucket).Get(serverKey) == nil {
		return nil
	}
	return getJSON(tx, progressBucket, serverKey, &l.server)
}
