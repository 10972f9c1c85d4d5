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
	"nqueens/pkg/run"
)

// OpenTolerant opens a ledger with damaged records: it returns the header and the progress,
// lists the damaged tasks, and writes nothing. Range ends with an error.
func TestOpenTolerant(t *testing.T) {
	s := newDamageSample(t)
	sound, want := s.last()
	data, folder := slices.Clone(sound), t.TempDir()
	var lost []uint64
	inDispute := make(map[uint64]bool)
	for _, d := range want.Disputes {
		lost, inDispute[d.Task] = append(lost, d.Task), true
	}
	hit := slices.DeleteFunc(slices.Clone(want.Results), func(r run.Result) bool { return inDispute[r.Task] })
	for _, i := range []int{3, 200, 201} {
		lost = append(lost, hit[i].Task)
		slices.Sort(lost)
		data[recordOf(t, sound, hit[i].Task)+10] ^= 0x10
		if err := os.WriteFile(filepath.Join(folder, file), data, 0o600); err != nil {
			t.Fatal(err)
		}
		l := open(t, ledger.OpenTolerant, folder)
		got := contents{Header: l.Header(), Disputes: want.Disputes, Refused: l.Rejected(), Position: l.Position(), State: l.State()}
		got.Results = want.Results
		if !got.equal(want) || !slices.Equal(l.Damaged(), lost) || l.Len() != uint64(len(want.Results)-len(lost)) {
			t.Errorf("tasks %d are damaged, want %d; it has %d results and says %+v", l.Damaged(), lost, l.Len(), got)
		}
		var damaged *ledger.DamagedError
		if _, err := read(l); !errors.As(err, &damaged) {
			t.Errorf("Range ends with the error %v", err)
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
	folder := t.TempDir()
	l := create(t, folder, 10)
	accept(t, l, position(1), signedBy("a", 3, 30), signedBy("b", 3, 30), signedBy("a", 4, 40))
	want := contentsOf(t, l)
	closed(t, l)
	data := fileBytes(t, folder)
	data[recordOf(t, data, 3)+10] ^= 0x10
	if err := os.WriteFile(filepath.Join(folder, file), data, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ledger.OpenReadOnly(folder); err == nil || !strings.Contains(err.Error(), "task 3:") {
		t.Errorf("the reader's error is %v, and does not name task 3", err)
	}
	for _, how := range []func(string) (*ledger.Ledger, error){ledger.OpenTolerant, openWriter} {
		l := open(t, how, folder)
		if !slices.Equal(l.Damaged(), []uint64{3}) || l.Has(3) || l.Len() != 1 {
			t.Errorf("tasks %d are damaged; it has %d", l.Damaged(), l.Len())
		}
		if _, ok, err := l.Result(3); ok || err != nil {
			t.Errorf("the lost task has a result: %v, %v", ok, err)
		}
		closed(t, l)
	}
	l = open(t, openWriter, folder)
	if len(l.Damaged()) != 0 || l.Lost() != 1 {
		t.Errorf("opened again, tasks %d are damaged, %d lost", l.Damaged(), l.Lost())
	}
	if got := accept(t, l, want.Position, signedBy("a", 3, 30), signedBy("b", 3, 30)); !slices.Equal(got, []ledger.Verdict{ledger.Accepted, ledger.Confirmed}) {
		t.Errorf("the verdicts are %v", got)
	}
	if got := contentsOf(t, l); !got.equal(want) {
		t.Error("the contents are not what was written")
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
