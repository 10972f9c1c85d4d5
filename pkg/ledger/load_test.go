package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/bbolt"

	"nqueens/pkg/durable"
	"nqueens/pkg/run"
)

// sampleLedger creates a ledger of 100 tasks with results of 0 to 9, a dispute about task
// 7, and one rejected result, and returns its folder.
func sampleLedger(t testing.TB) string {
	t.Helper()
	folder := t.TempDir()
	l, err := Create(folder, headerOf(100))
	if err != nil {
		t.Fatal(err)
	}
	batch := votes("a1 b2")
	for task := range uint64(10) {
		r := vote("c", 5+task)
		r.Task = task
		if task != 7 {
			batch = append(batch, r)
		}
	}
	if _, err := l.Accept(batch, 1, run.StreamPosition{Sequence: 9}); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return folder
}

// openWriter opens a ledger for writing, as an opener without a context.
func openWriter(folder string) (*Ledger, error) { return Open(context.Background(), folder, nil) }

// editBolt modifies the file of a ledger with bbolt, so that its pages stay valid.
func editBolt(t testing.TB, folder string, f func(*bbolt.Tx) error) {
	t.Helper()
	db, err := bbolt.Open(filepath.Join(folder, File), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Update(f), db.Close()); err != nil {
		t.Fatal(err)
	}
}

// putValid stores a value with the right checksum.
func putValid(tx *bbolt.Tx, bucket []byte, key uint64, value []byte) error {
	return tx.Bucket(bucket).Put(key64(key), addChecksum(bucket, key64(key), value))
}

// Parts that contradict each other are damage, though every page is valid, in all modes.
func TestPartsThatDoNotAgree(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(*bbolt.Tx) error
		says string
	}{
		"no ledger":                 {func(tx *bbolt.Tx) error { return tx.DeleteBucket(headerBucket) }, "it is not a ledger"},
		"no results":                {func(tx *bbolt.Tx) error { return tx.DeleteBucket(resultsBucket) }, "no bucket results"},
		"no format":                 {func(tx *bbolt.Tx) error { return tx.Bucket(headerBucket).Delete(formatKey) }, "format of header: the checksum"},
		"no header":                 {func(tx *bbolt.Tx) error { return tx.Bucket(headerBucket).Delete(headerKey) }, "header of header: the checksum"},
		"no progress":               {func(tx *bbolt.Tx) error { return tx.Bucket(progressBucket).Delete(progressKey) }, "progress of progress: the checksum"},
		"progress without checksum": {func(tx *bbolt.Tx) error { return tx.Bucket(progressBucket).Put(progressKey, []byte("{}")) }, "progress of progress: the checksum"},
		"another's value": {func(tx *bbolt.Tx) error {
			return tx.Bucket(progressBucket).Put(progressKey, slices.Clone(tx.Bucket(progressBucket).Get(historyKey)))
		}, "progress of progress: the checksum"},
		"another bucket's value": {func(tx *bbolt.Tx) error {
			return tx.Bucket(namesBucket).Put(key64(0), slices.Clone(tx.Bucket(resultsBucket).Get(key64(0))))
		}, "names: number 0: the checksum"},
		"header that is none": {func(tx *bbolt.Tx) error { return putJSON(tx, headerBucket, headerKey, 5) }, "header of header: json"},
		"header of no run": {func(tx *bbolt.Tx) error {
			return putJSON(tx, headerBucket, headerKey, Header{Manifest: headerOf(1).Manifest})
		}, "run name"},
		"header of another board": {func(tx *bbolt.Tx) error {
			h := headerOf(1)
			h.Run = "n27-20261124-101500-abcd"
			return putJSON(tx, headerBucket, headerKey, h)
		}, "a manifest of n = 8"},
		"header of too many tasks": {func(tx *bbolt.Tx) error {
			return putJSON(tx, headerBucket, headerKey, headerOf(1<<60))
		}, "tasks are more than"},
		"name missing":       {func(tx *bbolt.Tx) error { return tx.Bucket(namesBucket).Delete(key64(0)) }, "names: number 0 is missing"},
		"name twice":         {func(tx *bbolt.Tx) error { return putValid(tx, namesBucket, 4, []byte("generic")) }, `it has the name "generic" twice`},
		"negative wall time": {func(tx *bbolt.Tx) error { return putJSON(tx, progressBucket, progressKey, progress{Wall: -1}) }, "the wall time is negative"},
		"negative total": {func(tx *bbolt.Tx) error {
			return putJSON(tx, progressBucket, progressKey, progress{Total: big.NewInt(-5)})
		}, "the total is negative"},
		"missed checks": {func(tx *bbolt.Tx) error { return putJSON(tx, progressBucket, progressKey, progress{Missed: 1e9}) }, "spot checks were missed"},
		"state of a stranger": {func(tx *bbolt.Tx) error {
			return putJSON(tx, progressBucket, progressKey, progress{State: "\x1b[31mcomplete"})
		}, `no run has the state "\x1b[31mcomplete"`},
		"history without times": {func(tx *bbolt.Tx) error {
			return putJSON(tx, progressBucket, historyKey, struct{}{})
		}, "history of progress: a number of a history is out of range"},
		"key too short": {func(tx *bbolt.Tx) error { return tx.Bucket(resultsBucket).Put([]byte("1234567"), []byte("x")) }, "a result has the key"},
	} {
		folder := sampleLedger(t)
		editBolt(t, folder, c.edit)
		for _, how := range []func(string) (*Ledger, error){OpenReadOnly, OpenTolerant, openWriter} {
			l, err := how(folder)
			if err == nil {
				_ = l.Close()
			}
			var damaged *DamagedError
			if !errors.As(err, &damaged) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: the error is %v, want %q", name, err, c.says)
			}
		}
	}
}

// An invalid record of a result is listed and removed, whatever is wrong with it, with the results of tasks in dispute:
// it may be one of them. The others stay.
func TestBadRecords(t *testing.T) {
	good := stored{Result: vote("a", 3)}
	value := encodeResult(&good, nameIDs{kernel: 1})
	tooMany := encodeResult(&stored{Result: run.Result{Count: 1}}, nameIDs{kernel: 1})
	for name, c := range map[string]struct {
		key   uint64
		value []byte
	}{
		"no checksum":     {5, nil},
		"of no task":      {100, value},
		"of no such name": {5, encodeResult(&good, nameIDs{worker: 99})},
		"too long":        {5, append(slices.Clone(value), 0)},
		"too short":       {5, value[:len(value)-1]},
		"no hash":         {5, value[:7]},
		"attempt 2^35":    {5, slices.Replace(slices.Clone(tooMany), 9, 10, 0x80, 0x80, 0x80, 0x80, 0x80, 1)},
		"number too long": {5, slices.Replace(slices.Clone(value), 8, 9, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1)},
	} {
		folder := sampleLedger(t)
		editBolt(t, folder, func(tx *bbolt.Tx) error {
			if c.value == nil {
				return tx.Bucket(resultsBucket).Put(key64(c.key), []byte("12345678901234567890"))
			}
			return putValid(tx, resultsBucket, c.key, c.value)
		})
		if _, err := OpenReadOnly(folder); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("result of task %d:", c.key)) {
			t.Errorf("%s: the reader's error is %v", name, err)
		}
		damaged := slices.Sorted(slices.Values([]uint64{c.key, 7}))
		for i, opened := range []struct {
			how  func(string) (*Ledger, error)
			want []uint64
		}{{OpenTolerant, damaged}, {openWriter, damaged}, {openWriter, nil}, {OpenTolerant, nil}} {
			l, err := opened.how(folder)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(l.Damaged(), opened.want) || l.Has(5) != (c.key != 5) || !l.Has(4) || !l.Has(6) {
				t.Errorf("%s: opened %d times, tasks %d are damaged", name, i+1, l.Damaged())
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// If a result of a task in dispute is missing or damaged, or is that of another task by its key, nothing of the task counts.
func TestMissingResultOfADispute(t *testing.T) {
	for name, c := range map[string]struct {
		edit    func(*bbolt.Bucket) error
		damaged []uint64
	}{
		"the first":            {func(b *bbolt.Bucket) error { return b.Delete(resultKey(7, 0)) }, []uint64{7}},
		"the first is damaged": {func(b *bbolt.Bucket) error { return b.Put(resultKey(7, 0), []byte("12345678901234567890")) }, []uint64{7}},
		"the one that differs": {func(b *bbolt.Bucket) error { return b.Delete(resultKey(7, 1)) }, []uint64{7}},
		"it has another key": {func(b *bbolt.Bucket) error {
			return cmp.Or(b.Put(resultKey(50, 1), slices.Clone(b.Get(resultKey(7, 1)))), b.Delete(resultKey(7, 1)))
		}, []uint64{7, 50}},
	} {
		folder := sampleLedger(t)
		editBolt(t, folder, func(tx *bbolt.Tx) error { return c.edit(tx.Bucket(resultsBucket)) })
		var damaged *DamagedError
		if _, err := OpenReadOnly(folder); !errors.As(err, &damaged) || !strings.Contains(err.Error(), "result of task 7") {
			t.Errorf("%s: the reader's error is %v", name, err)
		}
		for i, how := range []func(string) (*Ledger, error){OpenTolerant, openWriter, OpenReadOnly} {
			l, err := how(folder)
			if err != nil {
				t.Fatal(err)
			}
			want := c.damaged
			if i == 2 {
				want = nil
			}
			if l.Len() != 9 || l.Has(7) || len(l.Disputes()) != 0 || !slices.Equal(l.Damaged(), want) {
				t.Errorf("%s: opened %d times, it has %d results and %d disputes, and %d are damaged", name, i+1, l.Len(), len(l.Disputes()), l.Damaged())
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// If one voter has the same count of a task twice, which would make two voters of it, nothing of the task counts.
func TestVoterTwice(t *testing.T) {
	folder := sampleLedger(t)
	editBolt(t, folder, func(tx *bbolt.Tx) error {
		key, first := resultKey(5, 1), tx.Bucket(resultsBucket).Get(resultKey(5, 0))
		return tx.Bucket(resultsBucket).Put(key, addChecksum(resultsBucket, key, slices.Clone(first[:len(first)-4])))
	})
	if _, err := OpenReadOnly(folder); err == nil || !strings.Contains(err.Error(), "result of task 5: a voter has its count twice") {
		t.Errorf("the reader's error is %v", err)
	}
	l, err := openWriter(folder)
	if err != nil {
		t.Fatal(err)
	}
	if l.Has(5) || !l.Has(4) || !l.Has(6) {
		t.Errorf("tasks %d are damaged, want the task with the repeated count too", l.Damaged())
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// A file of another format is refused with an error that names both versions and is not a
// DamagedError.
func TestOtherVersion(t *testing.T) {
	for _, version := range []int{Version - 1, Version + 1} {
		folder := sampleLedger(t)
		editBolt(t, folder, func(tx *bbolt.Tx) error { return putJSON(tx, headerBucket, formatKey, version) })
		for _, how := range []func(string) (*Ledger, error){OpenReadOnly, OpenTolerant, openWriter} {
			_, err := how(folder)
			if err == nil || errors.Is(err, run.ErrIncomplete) || !strings.Contains(err.Error(), fmt.Sprintf("has format %d, and this program reads format %d", version, Version)) {
				t.Errorf("the error is %v", err)
			}
		}
	}
}

// When the file can't be written, Accept fails with the cause and accepts nothing any more.
// What was accepted before is there when the ledger is opened again.
func TestWriteFails(t *testing.T) {
	folder := sampleLedger(t)
	for round, use := range []func(*Ledger) error{
		func(l *Ledger) error { return l.SetState(run.Stopped) },
		func(l *Ledger) error {
			_, err := l.Accept([]run.Result{vote("c", 2)}, 1, run.StreamPosition{Sequence: 10})
			return err
		},
	} {
		l, err := openWriter(folder)
		if err != nil {
			t.Fatal(err)
		}
		writing := l.file
		if err := durable.Unlock(writing); err != nil {
			t.Fatal(err)
		}
		if err := writing.Close(); err != nil {
			t.Fatal(err)
		}
		err = use(l)
		if !errors.Is(err, os.ErrClosed) || !errors.Is(err, run.ErrIncomplete) || !strings.Contains(err.Error(), filepath.Join(folder, File)) {
			t.Errorf("round %d: the error is %v", round, err)
		}
		_, again := l.Accept(nil, 0, run.StreamPosition{})
		_, _, reading := l.Result(1)
		if !errors.Is(again, err) || !errors.Is(reading, err) || !errors.Is(l.SetState(run.Running), err) {
			t.Errorf("round %d: the error is %v, and later %v, %v", round, err, again, reading)
		}
		if l.Len() != 10 || l.Position().Sequence != 9 || l.Rejected() != 1 || l.State() != run.Running || l.Disputes()[0].Settled {
			t.Errorf("round %d: something of it was accepted", round)
		}
		_ = l.Close() // its file is closed already
		if l, err = openWriter(folder); err != nil {
			t.Fatal(err)
		}
		if l.Len() != 10 || l.Position().Sequence != 9 || l.State() != run.Running {
			t.Errorf("round %d: opened again, it has %d results", round, l.Len())
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}
