package ledger_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// OpenTolerant opens a ledger with damaged records: it returns the header and the progress,
// lists the damaged tasks, and writes nothing. All ends with an error.
func TestOpenTolerant(t *testing.T) {
	s := newDamageSample(t)
	sound, want := s.last()
	data, folder := slices.Clone(sound), t.TempDir()
	var lost []uint64
	for _, i := range []int{3, 200, 201} {
		lost = append(lost, want.Results[i].Task)
		data[recordOf(t, sound, want.Results[i].Task)+10] ^= 0x10
		if err := os.WriteFile(filepath.Join(folder, file), data, 0o600); err != nil {
			t.Fatal(err)
		}
		l := open(t, ledger.OpenTolerant, folder)
		got := contents{Header: l.Header(), Disputes: l.Disputes(), Refused: l.Rejected(), Position: l.Position(), State: l.State()}
		got.Results, got.Evidence = want.Results, want.Evidence
		if !got.equal(want) || !slices.Equal(l.Damaged(), lost) || l.Len() != uint64(len(want.Results)-len(lost)) {
			t.Errorf("tasks %d are damaged, want %d; it has %d results and says %+v", l.Damaged(), lost, l.Len(), got)
		}
		var damaged *ledger.DamagedError
		if _, err := read(l); !errors.As(err, &damaged) {
			t.Errorf("All ends with the error %v", err)
		}
		if l.SetState(run.Complete) == nil {
			t.Error("it takes a state")
		}
		closed(t, l)
		if _, err := ledger.OpenReadOnly(folder); !errors.As(err, &damaged) {
			t.Errorf("the reader's error is %v", err)
		}
		if !bytes.Equal(fileBytes(t, folder), data) || !slices.Equal(listing(t, folder), []string{file}) {
			t.Error("a reader has written")
		}
	}
}

// What was removed as damaged can be accepted again, and then nothing is missing.
func TestDamagedIsCountedAgain(t *testing.T) {
	s := newDamageSample(t)
	data, want := s.last()
	folder := t.TempDir()
	unsigned := slices.IndexFunc(want.Results[200:], func(r queens.Result) bool { return r.Report == 0 })
	lost := want.Results[200+unsigned]
	hit := recordOf(t, data, lost.Task)
	data[hit+10] ^= 0x10
	if err := os.WriteFile(filepath.Join(folder, file), data, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ledger.OpenReadOnly(folder); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("task %d:", lost.Task)) {
		t.Errorf("the reader's error is %v, and does not name task %d", err, lost.Task)
	}
	for _, how := range []func(string) (*ledger.Ledger, error){ledger.OpenTolerant, openWriter} {
		l := open(t, how, folder)
		if !slices.Equal(l.Damaged(), []uint64{lost.Task}) || l.Has(lost.Task) || l.Len() != uint64(len(want.Results)-1) {
			t.Errorf("tasks %d are damaged of %d, want %d", l.Damaged(), l.Len(), lost.Task)
		}
		if _, ok, err := l.Result(lost.Task); ok || err != nil {
			t.Errorf("the lost task has a result: %v, %v", ok, err)
		}
		closed(t, l)
	}
	l := open(t, openWriter, folder)
	if len(l.Damaged()) != 0 || l.Lost() != 1 {
		t.Errorf("opened again, tasks %d are damaged, %d lost", l.Damaged(), l.Lost())
	}
	if got := accept(t, l, want.Position, lost); got[0] != ledger.Accepted {
		t.Errorf("the verdict is %v", got)
	}
	if got := contentsOf(t, l); !got.equal(want) {
		t.Error("the contents are not what was written")
	}
}

// Open restores the damaged result of a disputed task from its votes. OpenTolerant writes
// nothing, and does not count it.
func TestDamagedInDispute(t *testing.T) {
	s := newDamageSample(t)
	data, want := s.last()
	for _, d := range want.Disputes {
		folder := t.TempDir()
		hit := recordOf(t, data, d.Task)
		damaged := slices.Clone(data)
		damaged[hit+9] ^= 0x01
		if err := os.WriteFile(filepath.Join(folder, file), damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		l := open(t, ledger.OpenTolerant, folder)
		if !slices.Equal(l.Damaged(), []uint64{d.Task}) || l.Has(d.Task) || l.Len() != uint64(len(want.Results)-1) {
			t.Errorf("task %d: OpenTolerant lists %d as damaged", d.Task, l.Damaged())
		}
		closed(t, l)
		l = open(t, openWriter, folder)
		if got := contentsOf(t, l); !got.equal(want) || len(l.Damaged()) != 0 || l.Lost() != 0 {
			t.Errorf("task %d: the contents are not what was written; %d are damaged, %d lost", d.Task, l.Damaged(), l.Lost())
		}
	}
}

// recordOf returns the offset of a task's record in the newest of the pages that have it.
func recordOf(t *testing.T, data []byte, task uint64) int {
	t.Helper()
	l := len(data)
	folder := t.TempDir()
	key := binary.BigEndian.AppendUint64(nil, task)
	for at := range l - 16 {
		if !bytes.Equal(data[at:at+8], key) {
			continue
		}
		changed := slices.Clone(data)
		changed[at+8] ^= 0x80
		if err := os.WriteFile(filepath.Join(folder, file), changed, 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := ledger.OpenReadOnly(folder)
		if err == nil {
			closed(t, l)
		} else if strings.Contains(err.Error(), fmt.Sprintf("result of task %d:", task)) {
			return at
		}
	}
	t.Fatalf("task %d has no record", task)
	return 0
}
