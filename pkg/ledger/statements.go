package ledger

import (
	"encoding/binary"
	"errors"
	"fmt"

	"go.etcd.io/bbolt"

	"nqueens/pkg/identity"
	"nqueens/pkg/run"
)

// Statement returns the statement with a number, from 1: a chunk result as its worker signed it, of which
// [run.Result] has the number. It reads the file; a damaged or missing one is a [DamagedError].
func (l *Ledger) Statement(number uint64) (s run.Sealed, err error) {
	err = l.view(func(tx *bbolt.Tx) error {
		key := key64(number)
		value, err := verifyChecksum(statementsBucket, key, tx.Bucket(statementsBucket).Get(key))
		if err == nil {
			s, err = parseStatement(value, &l.strings)
		}
		if err != nil {
			return l.damaged(fmt.Errorf("statement %d: %w", number, err))
		}
		return nil
	})
	return s, err
}

// VerifyStatement returns nil if the signature of a statement is that of its key, and it is of this run and its
// manifest. Otherwise the error says what is wrong with it; it is a [DamagedError] if the file is damaged.
func (l *Ledger) VerifyStatement(number uint64) error {
	s, err := l.Statement(number)
	if err != nil {
		return err
	}
	var r run.ChunkResult
	if err = identity.Verify(s.Key, s.Statement, s.Signature); err == nil {
		r, err = run.ParseStatement(s.Statement)
	}
	switch h := &l.header; {
	case err != nil:
	case r.Run != h.Run:
		err = fmt.Errorf("it is of run %s, not of %s", r.Run, h.Run)
	case r.Manifest != h.Manifest.Hash:
		err = fmt.Errorf("it is of another manifest, %x", r.Manifest)
	}
	if err != nil {
		return fmt.Errorf("statement %d of the ledger: %w", number, err)
	}
	return nil
}

// Statements returns the number of statements.
func (l *Ledger) Statements() uint64 { return l.statements }

// Chunks returns the number of statements of a key.
func (l *Ledger) Chunks(key string) uint64 { return l.chunks[key] }

// appendStatement appends a statement: as uvarints the id of its key and the length of its
// signature, then the signature and what is signed.
func appendStatement(value []byte, s *run.Sealed, key uint64) []byte {
	value = binary.AppendUvarint(value, key)
	value = binary.AppendUvarint(value, uint64(len(s.Signature)))
	return append(append(value, s.Signature...), s.Statement...)
}

// parseStatement decodes what appendStatement wrote, and copies it.
func parseStatement(value []byte, names *stringTable) (s run.Sealed, err error) {
	key, n := binary.Uvarint(value)
	if n <= 0 {
		return s, errors.New("too short")
	}
	value = value[n:]
	length, n := binary.Uvarint(value)
	if n <= 0 || length > uint64(len(value)-n) {
		return s, errors.New("too short")
	}
	value = append([]byte(nil), value[n:]...)
	s.Signature, s.Statement = value[:length:length], value[length:]
	s.Key, err = names.lookup(key)
	return s, err
}

// loadStatements checks the statements, without their signatures, and counts them by key.
func (l *Ledger) loadStatements(tx *bbolt.Tx) error {
	l.chunks, l.early.keys = make(map[string]uint64), make(map[uint64]string)
	return forEachNumbered(tx, statementsBucket, 1, func(number uint64, value []byte) error {
		id, n := binary.Uvarint(value)
		if n <= 0 {
			return errors.New("too short")
		}
		key, err := l.strings.lookup(id)
		if err != nil {
			return err
		}
		if l.chunks[key] < run.EarlyChunks {
			l.early.keys[number] = key
		}
		l.chunks[key]++
		l.statements++
		return nil
	})
}
