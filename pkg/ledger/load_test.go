package ledger

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/bbolt"

	"nqueens/pkg/durable"
	"nqueens/pkg/queens"
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
	if _, err := l.Accept(batch, []Rejection{{Reason: "why"}}, run.StreamPosition{Sequence: 9}); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return folder
}

// openWriter opens a ledger for writing, as an opener without a context.
func openWriter(folder string) (*Ledger, error) { return Open(context.Background(), folder) }

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

func jsonOf(t testing.TB, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Parts that contradict each other are damage, though every page is valid, in all modes.
func TestPartsThatDoNotAgree(t *testing.T) {
	good, ids := vote("a", 3), nameIDs{kernel: 1}
	for name, c := range map[string]struct {
		edit func(*bbolt.Tx) error
		says string
	}{
		"no ledger":                 {func(tx *bbolt.Tx) error { return tx.DeleteBucket(headerBucket) }, "it is not a ledger"},
		"no results":                {func(tx *bbolt.Tx) error { return tx.DeleteBucket(resultsBucket) }, "no bucket results"},
		"no format":                 {func(tx *bbolt.Tx) error { return tx.Bucket(headerBucket).Delete(formatKey) }, "format of header: the checksum"},
		"no header":                 {func(tx *bbolt.Tx) error { return tx.Bucket(headerBucket).Delete(headerKey) }, "header of header: the checksum"},
		"no position":               {func(tx *bbolt.Tx) error { return tx.Bucket(progressBucket).Delete(positionKey) }, "position of progress: the checksum"},
		"position without checksum": {func(tx *bbolt.Tx) error { return tx.Bucket(progressBucket).Put(positionKey, []byte("{}")) }, "position of progress: the checksum"},
		"another's value": {func(tx *bbolt.Tx) error {
			return tx.Bucket(progressBucket).Put(stateKey, slices.Clone(tx.Bucket(progressBucket).Get(rejectedKey)))
		}, "state of progress: the checksum"},
		"another bucket's value": {func(tx *bbolt.Tx) error {
			return tx.Bucket(namesBucket).Put(key64(0), slices.Clone(tx.Bucket(rejectionsBucket).Get(key64(0))))
		}, "names: number 0: the checksum"},
		"header that is none": {func(tx *bbolt.Tx) error { return putJSON(tx, headerBucket, headerKey, 5) }, "header of header: json"},
		"header of no run": {func(tx *bbolt.Tx) error {
			return putJSON(tx, headerBucket, headerKey, Header{Manifest: headerOf(1).Manifest})
		}, "run name"},
		"header of too many tasks": {func(tx *bbolt.Tx) error {
			return putJSON(tx, headerBucket, headerKey, headerOf(1<<60))
		}, "tasks are more than"},
		"name missing":   {func(tx *bbolt.Tx) error { return tx.Bucket(namesBucket).Delete(key64(0)) }, "names: number 0 is missing"},
		"name twice":     {func(tx *bbolt.Tx) error { return putValid(tx, namesBucket, 4, []byte("generic")) }, `it has the name "generic" twice`},
		"vote missing":   {func(tx *bbolt.Tx) error { return tx.Bucket(votesBucket).Delete(key64(0)) }, "votes: number 0 is missing"},
		"vote too short": {func(tx *bbolt.Tx) error { return putValid(tx, votesBucket, 2, []byte("12345678")) }, "votes: number 2: not a vote"},
		"vote of no task": {func(tx *bbolt.Tx) error {
			return putValid(tx, votesBucket, 2, appendResult(append(key64(100), 0), &good, ids))
		}, "it is of task 100, of 100"},
		"vote of no one": {func(tx *bbolt.Tx) error {
			return putValid(tx, votesBucket, 2, appendResult(append(key64(7), 0), &good, nameIDs{kernel: 9}))
		}, "it has name 9 of"},
		"vote not counted": {func(tx *bbolt.Tx) error {
			return putValid(tx, votesBucket, 2, appendResult(append(key64(8), 0), &good, ids))
		}, "result of task 8 is not the one that its votes chose"},
		"negative wall time": {func(tx *bbolt.Tx) error { return putJSON(tx, progressBucket, wallKey, -1) }, "the wall time is negative"},
		"history without times": {func(tx *bbolt.Tx) error {
			return cmp.Or(putJSON(tx, progressBucket, wallKey, 1), putJSON(tx, progressBucket, historyKey, struct{}{}))
		}, "history of progress: a number of a history is out of range"},
		"rejection missing":   {func(tx *bbolt.Tx) error { return tx.Bucket(rejectionsBucket).Delete(key64(0)) }, "0 rejected results, and should have 1"},
		"rejection surplus":   {func(tx *bbolt.Tx) error { return putValid(tx, rejectionsBucket, 1, jsonOf(t, Rejection{})) }, "2 rejected results, and should have 1"},
		"rejection truncated": {func(tx *bbolt.Tx) error { return putValid(tx, rejectionsBucket, 0, []byte("{")) }, "evidence: number 0: unexpected end"},
		"key too short":       {func(tx *bbolt.Tx) error { return tx.Bucket(resultsBucket).Put([]byte("1234567"), []byte("x")) }, "a result has the key"},
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

// An invalid record of a result is listed and removed, whatever is wrong with it, and the
// others stay.
func TestBadRecords(t *testing.T) {
	good := vote("a", 3)
	value := appendResult(nil, &good, nameIDs{kernel: 1})
	tooMany := appendResult(nil, &queens.Result{Count: 1}, nameIDs{kernel: 1})
	for name, c := range map[string]struct {
		key   uint64
		value []byte
	}{
		"no checksum":     {5, nil},
		"of no task":      {100, value},
		"of no such name": {5, appendResult(nil, &good, nameIDs{worker: 99})},
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
		for i, opened := range []struct {
			how  func(string) (*Ledger, error)
			want []uint64
		}{{OpenTolerant, []uint64{c.key}}, {openWriter, []uint64{c.key}}, {openWriter, nil}, {OpenTolerant, nil}} {
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

// Open restores the missing result of a task with votes. OpenReadOnly refuses the ledger,
// and OpenTolerant does not count the task.
func TestMissingResultOfADispute(t *testing.T) {
	folder := sampleLedger(t)
	editBolt(t, folder, func(tx *bbolt.Tx) error { return tx.Bucket(resultsBucket).Delete(key64(7)) })
	var damaged *DamagedError
	if _, err := OpenReadOnly(folder); !errors.As(err, &damaged) || !strings.Contains(err.Error(), "task 7 has votes or confirmations and no result") {
		t.Errorf("the reader's error is %v", err)
	}
	for i, how := range []func(string) (*Ledger, error){OpenTolerant, openWriter, OpenReadOnly} {
		l, err := how(folder)
		if err != nil {
			t.Fatal(err)
		}
		want := uint64(9 + min(i, 1))
		if r, ok, err := l.Result(7); l.Len() != want || len(l.Damaged()) != 0 || ok != (i > 0) || ok && r != vote("a", 1) || err != nil {
			t.Errorf("opened %d times, it has %d results, of task 7 %v, %v, %v", i+1, l.Len(), r, ok, err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
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
			if err == nil || errors.Is(err, queens.ErrIncomplete) || !strings.Contains(err.Error(), fmt.Sprintf("has format %d, and this program reads format %d", version, Version)) {
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
			_, err := l.Accept([]queens.Result{vote("c", 2)}, []Rejection{{}}, run.StreamPosition{Sequence: 10})
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
		if !errors.Is(err, os.ErrClosed) || !errors.Is(err, queens.ErrIncomplete) || !strings.Contains(err.Error(), filepath.Join(folder, File)) {
			t.Errorf("round %d: the error is %v", round, err)
		}
		_, again := l.Accept(nil, nil, run.StreamPosition{})
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
