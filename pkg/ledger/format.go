package ledger

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"time"

	"go.etcd.io/bbolt"
)

// The buckets of the file. A number in a key or value is 8 bytes, big endian; every
// value ends with its checksum, see [addChecksum].
//
//	header      "format": Version; "header": the Header
//	progress    "progress": a [progress]; "history": see [Ledger.History]
//	names       0, 1, ...: name of a worker or kernel, or a key
//	results     task, and from the second result of a task on 2 bytes 1, 2, ...: a result, see [encodeResult]
//	statements  1, 2, ...: a statement, see [appendStatement]
//	quarantine  key: a [quarantine]
//
// The values of header, progress and quarantine are JSON.
var (
	headerBucket     = []byte("header")
	progressBucket   = []byte("progress")
	namesBucket      = []byte("names")
	resultsBucket    = []byte("results")
	statementsBucket = []byte("statements")
	quarantineBucket = []byte("quarantine")

	buckets = [][]byte{headerBucket, progressBucket, namesBucket, resultsBucket, statementsBucket, quarantineBucket}

	formatKey   = []byte("format")
	headerKey   = []byte("header")
	progressKey = []byte("progress")
	historyKey  = []byte("history")
)

// canonicalTime returns a time as it is read back from the file: in UTC, without a
// monotonic clock reading.
func canonicalTime(t time.Time) time.Time { return t.UTC().Round(0) }

func key64(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// put stores a value with its checksum.
func put(tx *bbolt.Tx, bucket, key, value []byte) error {
	return tx.Bucket(bucket).Put(key, addChecksum(bucket, key, value))
}

func putJSON(tx *bbolt.Tx, bucket, key []byte, v any) error {
	value, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return put(tx, bucket, key, value)
}

func getJSON(tx *bbolt.Tx, bucket, key []byte, v any) error {
	value, err := verifyChecksum(bucket, key, tx.Bucket(bucket).Get(key))
	if err == nil {
		err = json.Unmarshal(value, v)
	}
	if err != nil {
		return fmt.Errorf("%s of %s: %w", key, bucket, err)
	}
	return nil
}

var (
	castagnoli  = crc32.MakeTable(crc32.Castagnoli)
	resultsSum  = crc32.Checksum(resultsBucket, castagnoli) // Most records are of this bucket.
	errChecksum = errors.New("the checksum is wrong")
)

// addChecksum appends the checksum of a value: CRC-32C over the bucket's name, key, and
// value, 4 bytes, big endian.
func addChecksum(bucket, key, value []byte) []byte {
	return binary.BigEndian.AppendUint32(value, checksum(bucket, key, value))
}

// verifyChecksum returns a record's value without its checksum, or errChecksum.
func verifyChecksum(bucket, key, record []byte) ([]byte, error) {
	end := len(record) - crc32.Size
	if end < 0 || checksum(bucket, key, record[:end]) != binary.BigEndian.Uint32(record[end:]) {
		return nil, errChecksum
	}
	return record[:end], nil
}

func checksum(bucket, key, value []byte) uint32 {
	sum := resultsSum
	if !bytes.Equal(bucket, resultsBucket) {
		sum = crc32.Checksum(bucket, castagnoli)
	}
	return crc32.Update(crc32.Update(sum, castagnoli, key), castagnoli, value)
}

// nameIDs are the numbers of a result's names. A result without a key has not hasKey.
type nameIDs struct {
	worker, kernel, key uint64
	hasKey              bool
}

// The bits of the byte that ends some results.
const (
	revokedBit  = 1
	disputedBit = 2
)

// encodeResult encodes a result without its run and task: the hash in 8 bytes, big endian,
// then as uvarints count, attempt, ids of worker and kernel, nanoseconds, key and statement. The key
// is 0 for none, or else four times the number after its id, plus 1 if the key was admitted, or plus 3 if
// the join token admitted it. A byte with bits follows unless they are 0.
func encodeResult(r *stored, ids nameIDs) []byte {
	key := uint64(0)
	if ids.hasKey {
		key = (ids.key + 1) << 2
	}
	if r.Admitted {
		key |= 1
	}
	if r.ByToken {
		key |= 2
	}
	value := binary.BigEndian.AppendUint64(nil, r.Hash)
	for _, v := range []uint64{r.Count, uint64(r.Attempt), ids.worker, ids.kernel, uint64(r.Elapsed), key, r.StatementID} {
		value = binary.AppendUvarint(value, v)
	}
	bits := byte(0)
	if r.revoked {
		bits |= revokedBit
	}
	if r.disputed {
		bits |= disputedBit
	}
	if bits != 0 {
		value = append(value, bits)
	}
	return value
}

// parseNumbers decodes what encodeResult wrote, without the names. The checksum is right, but the
// value is validated all the same.
func parseNumbers(value []byte) (r stored, ids nameIDs, err error) {
	if len(value) < 8 {
		return r, ids, errors.New("too short")
	}
	r.Hash, value = binary.BigEndian.Uint64(value), value[8:]
	var fields [7]uint64
	for i := range fields {
		n := 1
		if len(value) > 0 && value[0] < 0x80 {
			fields[i] = uint64(value[0]) // As most are; this halves the time.
		} else if fields[i], n = binary.Uvarint(value); n <= 0 {
			return r, ids, errors.New("not a result: a number is truncated or too large")
		}
		value = value[n:]
	}
	switch {
	case fields[1] > math.MaxUint32, len(value) > 1, len(value) == 1 && (value[0] == 0 || value[0] > revokedBit|disputedBit):
		return r, ids, errors.New("not a result")
	case len(value) == 1:
		r.revoked, r.disputed = value[0]&revokedBit != 0, value[0]&disputedBit != 0
	}
	r.Count, r.Attempt, r.Elapsed = fields[0], uint32(fields[1]), time.Duration(fields[4])
	r.Admitted, r.ByToken, r.StatementID = fields[5]&1 != 0, fields[5]&2 != 0, fields[6]
	ids = nameIDs{worker: fields[2], kernel: fields[3], key: fields[5]>>2 - 1, hasKey: fields[5]>>2 != 0}
	return r, ids, nil
}

// parseResult decodes what encodeResult wrote; with an error, the result is incomplete.
func parseResult(value []byte, names *stringTable) (stored, error) {
	r, ids, err := parseNumbers(value)
	if err != nil {
		return r, err
	}
	if r.Worker, err = names.lookup(ids.worker); err == nil {
		r.Kernel, err = names.lookup(ids.kernel)
	}
	if err == nil && ids.hasKey {
		r.Key, err = names.lookup(ids.key)
	}
	return r, err
}

// stringTable numbers the names of workers and kernels, and the keys: the file has each once.
type stringTable struct {
	values []string
	ids    map[string]uint64
}

// intern returns the id of a name, and whether it had one before.
func (s *stringTable) intern(name string) (id uint64, known bool) {
	if id, known = s.ids[name]; !known {
		id = uint64(len(s.values))
		s.values = append(s.values, name)
		s.ids[name] = id
	}
	return id, known
}

func (s *stringTable) lookup(id uint64) (string, error) {
	if id >= uint64(len(s.values)) {
		return "", fmt.Errorf("it has name %d of %d", id, len(s.values))
	}
	return s.values[id], nil
}
