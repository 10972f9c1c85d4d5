package ledger

import (
	"encoding/binary"
	"errors"
	"fmt"

	"go.etcd.io/bbolt"

	"nqueens/pkg/identity"
	"nqueens/pkg/queens"
)

// Report returns the signed chunk result with a number, from 1: what [queens.Result] names as its
// report. It reads the file; a damaged or missing one is a [DamagedError].
func (l *Ledger) Report(number uint64) (s queens.Sealed, err error) {
	err = l.view(func(tx *bbolt.Tx) error {
		key := key64(number)
		value, err := verifyChecksum(reportsBucket, key, tx.Bucket(reportsBucket).Get(key))
		if err == nil {
			s, err = parseReport(value, &l.strings)
		}
		if err != nil {
			return l.damaged(fmt.Errorf("report %d: %w", number, err))
		}
		return nil
	})
	return s, err
}

// VerifyReport returns the chunk result with a number, from 1, if its signature is that of its key
// and it is of this run and its manifest. Otherwise the error says what is wrong with it; it is a
// [DamagedError] if the file is damaged.
func (l *Ledger) VerifyReport(number uint64) (queens.ChunkResult, error) {
	s, err := l.Report(number)
	if err != nil {
		return queens.ChunkResult{}, err
	}
	var r queens.ChunkResult
	if err = identity.Verify(s.Key, s.Statement, s.Signature); err == nil {
		r, err = queens.ParseStatement(s.Statement)
	}
	switch h := &l.header; {
	case err != nil:
	case r.Run != h.Run:
		err = fmt.Errorf("it is of run %s, not of %s", r.Run, h.Run)
	case r.Manifest != h.Manifest.Hash:
		err = fmt.Errorf("it is of another manifest, %x", r.Manifest)
	}
	if err != nil {
		return queens.ChunkResult{}, fmt.Errorf("the signed report %d of the ledger: %w", number, err)
	}
	r.Sealed = &s
	return r, nil
}

// Reports returns the number of stored signed chunk results.
func (l *Ledger) Reports() uint64 { return l.reports }

// Chunks returns the number of stored signed chunk results of a key.
func (l *Ledger) Chunks(key string) uint64 { return l.chunks[key] }

// appendReport appends a signed chunk result: as uvarints the id of its key and the length of its
// signature, then the signature and the statement.
func appendReport(value []byte, s *queens.Sealed, key uint64) []byte {
	value = binary.AppendUvarint(value, key)
	value = binary.AppendUvarint(value, uint64(len(s.Signature)))
	return append(append(value, s.Signature...), s.Statement...)
}

// parseReport decodes what appendReport wrote, and copies it.
func parseReport(value []byte, names *stringTable) (s queens.Sealed, err error) {
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

// loadReports checks the signed chunk results, without their signatures, and counts them by key.
func (l *Ledger) loadReports(tx *bbolt.Tx) error {
	l.chunks = make(map[string]uint64)
	return forEachNumbered(tx, reportsBucket, 1, func(number uint64, value []byte) error {
		id, n := binary.Uvarint(value)
		if n <= 0 {
			return errors.New("too short")
		}
		key, err := l.strings.lookup(id)
		if err != nil {
			return err
		}
		l.early.noteReport(number, key, l.chunks[key])
		l.chunks[key]++
		l.reports++
		return nil
	})
}

// sign stores the signed chunk result of a result, unless this transaction has, and names it in
// the result.
func (t *acceptTx) sign(r *queens.Result) error {
	s := r.Sealed
	r.Sealed, r.Report = nil, 0
	if s == nil {
		return nil
	}
	number, stored := t.signed[s]
	if !stored {
		id, err := t.intern(s.Key)
		if err != nil {
			return err
		}
		number = t.ledger.reports + uint64(len(t.signed)) + 1
		if err := put(t.tx, reportsBucket, key64(number), appendReport(nil, s, id)); err != nil {
			return err
		}
		if t.signed == nil {
			t.signed = make(map[*queens.Sealed]uint64)
		}
		t.signed[s] = number
	}
	r.Report = number
	return nil
}
