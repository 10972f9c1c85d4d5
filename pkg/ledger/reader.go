package ledger

import (
	"fmt"

	"go.etcd.io/bbolt"

	"nqueens/pkg/queens"
)

// readBatch is how many results All reads before it hands them out: what it calls
// then is not under the guard of what calls bbolt.
const readBatch = 256

// reader reads the results in order, in one transaction.
type reader struct {
	ledger *Ledger
	tx     *bbolt.Tx
	cursor *bbolt.Cursor
	part   []queens.Result
	read   uint64
	last   uint64 // the task read last, where read > 0
}

func (l *Ledger) newReader() (*reader, error) {
	if l.failed != nil {
		return nil, l.failed
	}
	r := &reader{ledger: l}
	err := l.recoverBolt(func() (err error) {
		r.tx, err = l.db.Begin(false)
		return err
	})
	if err != nil {
		return nil, err
	}
	l.reading++
	return r, nil
}

func (r *reader) close() {
	r.ledger.reading--
	if !r.ledger.broken {
		_ = r.tx.Rollback()
	}
}

// next returns the results that follow, none at the end. Those that it returns beside
// an error stand before it.
func (r *reader) next() ([]queens.Result, error) {
	r.part = r.part[:0]
	if r.ledger.failed != nil {
		return nil, r.ledger.failed
	}
	err := r.ledger.recoverBolt(func() error {
		for len(r.part) < readBatch {
			key, sealed := r.step()
			if key == nil {
				return r.checkCount()
			}
			if err := r.take(key, sealed); err != nil {
				return err
			}
		}
		return nil
	})
	return r.part, err
}

func (r *reader) step() (key, sealed []byte) {
	if r.cursor == nil {
		r.cursor = r.tx.Bucket(resultsBucket).Cursor()
		return r.cursor.First()
	}
	return r.cursor.Next()
}

func (r *reader) take(key, sealed []byte) error {
	if len(key) != 8 {
		return r.ledger.damaged(fmt.Errorf("a result has the key %x", key))
	}
	result, err := r.ledger.decodeResult(key, sealed)
	if err != nil {
		return err
	}
	if !r.ledger.Has(result.Task) || r.read > 0 && result.Task <= r.last {
		return r.ledger.damaged(fmt.Errorf("the result of task %d was not there before", result.Task))
	}
	r.part = append(r.part, result)
	r.read, r.last = r.read+1, result.Task
	return nil
}

// checkCount holds what was read to what is accepted.
func (r *reader) checkCount() error {
	if r.read != r.ledger.Len() {
		return r.ledger.damaged(fmt.Errorf("it has %d results, and had %d", r.read, r.ledger.Len()))
	}
	return nil
}
