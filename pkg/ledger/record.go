package ledger

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"time"

	"go.etcd.io/bbolt"

	"nqueens/pkg/queens"
)

// The buckets of the file. A number as a key or in a value is 8 bytes, big endian;
// every value ends with its checksum, see [seal].
//
//	header    "format": Version; "header": a keptHeader, both as JSON
//	progress  "position": a keptPosition; "refused": how many; "state", all as JSON
//	names     0, 1, ...: a name of a worker or a kernel
//	results   task: a result, see [appendResult]
//	votes     0, 1, ...: task and result, in the order in which they came
//	evidence  0, 1, ...: a keptRefusal as JSON, the first maxRefusals of them
var (
	headerBucket   = []byte("header")
	progressBucket = []byte("progress")
	namesBucket    = []byte("names")
	resultsBucket  = []byte("results")
	votesBucket    = []byte("votes")
	evidenceBucket = []byte("evidence")

	formatKey   = []byte("format")
	headerKey   = []byte("header")
	positionKey = []byte("position")
	refusedKey  = []byte("refused")
	stateKey    = []byte("state")
)

// The forms in which things are kept as JSON.
type (
	headerJSON struct {
		Run      string          `json:"run"`
		Created  time.Time       `json:"created"`
		Manifest queens.Manifest `json:"manifest"`
	}
	positionJSON struct {
		Created  time.Time `json:"stream"`
		Sequence uint64    `json:"sequence"`
	}
	rejectionJSON struct {
		Result queens.Result `json:"result"`
		Reason string        `json:"reason"`
	}
)

// canonicalTime returns a time as it comes back from the file: in UTC, without the reading of
// the monotonic clock.
func canonicalTime(t time.Time) time.Time { return t.UTC().Round(0) }

func key64(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

var (
	castagnoli  = crc32.MakeTable(crc32.Castagnoli)
	errChecksum = errors.New("its checksum does not hold")
)

// addChecksum appends to a value its checksum: CRC-32C over the names of bucket and key and
// the value, 4 bytes, big endian.
func addChecksum(bucket, key, value []byte) []byte {
	return binary.BigEndian.AppendUint32(value, checksum(bucket, key, value))
}

// verifyChecksum returns a value without its checksum, which must hold.
func verifyChecksum(bucket, key, sealed []byte) ([]byte, error) {
	end := len(sealed) - crc32.Size
	if end < 0 || checksum(bucket, key, sealed[:end]) != binary.BigEndian.Uint32(sealed[end:]) {
		return nil, errChecksum
	}
	return sealed[:end], nil
}

func checksum(bucket, key, value []byte) uint32 {
	sum := crc32.Update(crc32.Checksum(bucket, castagnoli), castagnoli, key)
	return crc32.Update(sum, castagnoli, value)
}

func putJSON(b *bbolt.Bucket, bucket, key []byte, v any) error {
	value, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return b.Put(key, addChecksum(bucket, key, value))
}

func getJSON(b *bbolt.Bucket, bucket, key []byte, v any) error {
	value, err := verifyChecksum(bucket, key, b.Get(key))
	if err == nil {
		err = json.Unmarshal(value, v)
	}
	if err != nil {
		return fmt.Errorf("%s of %s: %w", key, bucket, err)
	}
	return nil
}

// appendResult appends a result without its run and task: the hash in 8 bytes, big
// endian, then as uvarints count, attempt, numbers of worker and kernel, nanoseconds.
func appendResult(value []byte, r *queens.Result, worker, kernel uint64) []byte {
	value = binary.BigEndian.AppendUint64(value, r.Hash)
	for _, v := range []uint64{r.Count, uint64(r.Attempt), worker, kernel, uint64(r.Elapsed)} {
		value = binary.AppendUvarint(value, v)
	}
	return value
}

// parseResult reads what appendResult wrote. The value's checksum holds already; what
// it says is still checked.
func parseResult(value []byte, names *stringTable) (r queens.Result, err error) {
	if len(value) < 8 {
		return queens.Result{}, errors.New("it is too short")
	}
	r.Hash = binary.BigEndian.Uint64(value)
	value = value[8:]
	var fields [5]uint64
	for i := range fields {
		n := 0
		if fields[i], n = binary.Uvarint(value); n <= 0 {
			return queens.Result{}, errors.New("it has no end")
		}
		value = value[n:]
	}
	if len(value) != 0 || fields[1] > math.MaxUint32 {
		return queens.Result{}, errors.New("it is not a result")
	}
	r.Count, r.Attempt, r.Elapsed = fields[0], uint32(fields[1]), time.Duration(fields[4])
	if r.Worker, err = names.lookup(fields[2]); err != nil {
		return queens.Result{}, err
	}
	if r.Kernel, err = names.lookup(fields[3]); err != nil {
		return queens.Result{}, err
	}
	return r, nil
}

// stringTable numbers the names of workers and kernels, which stand in the file once.
type stringTable struct {
	values []string
	ids    map[string]uint64
}

// intern returns the number of a name, and whether it had one before.
func (d *stringTable) intern(name string) (id uint64, known bool) {
	if id, known = d.ids[name]; !known {
		id = uint64(len(d.values))
		d.values = append(d.values, name)
		d.ids[name] = id
	}
	return id, known
}

func (d *stringTable) lookup(id uint64) (string, error) {
	if id >= uint64(len(d.values)) {
		return "", fmt.Errorf("it has name %d of %d", id, len(d.values))
	}
	return d.values[id], nil
}

// bitmap is a set of numbers below a bound.
type bitmap struct {
	words []uint64
	count uint64 // numbers in the set
}

func newBitmap(bound uint64) bitmap { return bitmap{words: make([]uint64, (bound+63)/64)} }

func (b *bitmap) has(i uint64) bool { return b.words[i/64]>>(i%64)&1 != 0 }

// set adds a number that is not in the set.
func (b *bitmap) set(i uint64) {
	b.words[i/64] |= 1 << (i % 64)
	b.count++
}
