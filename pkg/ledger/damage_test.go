package ledger

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"nqueens/pkg/queens"
)

// smallRun returns the records of a whole run with a dispute, a verdict, a ban and a total.
func smallRun(t testing.TB) []Record {
	t.Helper()
	h := newHeader(t, 1)
	rest := result("b", 3, make([]uint64, h.Manifest.Tasks-3)...)
	at := time.UnixMilli(1e12).UTC()
	records := []Record{
		h, &Start{Number: 1, Instance: 7, Version: "v1", At: at},
		result("a", 0, 1, 2, 3), mark(queens.Running), rest, result("b", 1, 7), result("c", 2, 3),
		recounted(1, 7, "avx2"), ban("a"), result("b", 0, 1), mark(queens.Stopped),
		&Start{Number: 2, Instance: 8, Version: "v1", At: at}, result("c", 0, 1),
	}
	s := stateOf(t, h, records[1:]...)
	end := mark(queens.Complete)
	end.Solutions, end.Total = (*queens.Decimal)(s.Solutions()), (*queens.Decimal)(s.Solutions())
	return append(records, end)
}

// encode returns the log of some records, and the offsets at which their frames end.
func encode(t testing.TB, records ...Record) (log []byte, ends []int) {
	t.Helper()
	for _, r := range records {
		var err error
		if log, err = AppendFrame(log, r); err != nil {
			t.Fatal(err)
		}
		ends = append(ends, len(log))
	}
	return log, ends
}

// section returns a reader of a log. The size may be larger than the log.
func section(log []byte, size int) *io.SectionReader {
	return io.NewSectionReader(bytes.NewReader(log), 0, int64(size))
}

func foldBytes(log []byte) (*State, Notes, error) {
	return Fold(section(log, len(log)), "log")
}

// describe returns all that a state says.
func describe(s *State) string {
	text := fmt.Sprintf("%+v %v %d %d %d %q %+v", s.totals, s.Bans(), s.Results(), s.Recounts(), s.Starts(), s.Ended(), s.Mark())
	for task := range s.Header().Manifest.Tasks {
		text += fmt.Sprintf(" %+v %v", s.Task(task), s.Counts(task))
	}
	return text
}

// total returns the total of a state, or "none".
func total(s *State) string {
	if s.Ended() != queens.Complete {
		return "none"
	}
	return s.Solutions().String()
}

// A log that is cut anywhere has the state of its whole frames. A log that is cut within its header is refused.
func TestCutAtEveryByte(t *testing.T) {
	records := smallRun(t)
	log, ends := encode(t, records...)
	whole := 0
	for size := range len(log) {
		for whole < len(ends) && ends[whole] <= size {
			whole++
		}
		s, notes, err := foldBytes(log[:size])
		if whole == 0 {
			if err == nil {
				t.Fatalf("%d bytes of the header are accepted", size)
			}
			continue
		}
		if err != nil || int(notes.Size) != ends[whole-1] || int(notes.Torn) != size-ends[whole-1] {
			t.Fatalf("cut at %d of %d: %+v, %v", size, len(log), notes, err)
		}
		if want := stateOf(t, records[0].(*Header), records[1:whole]...); describe(s) != describe(want) {
			t.Fatalf("cut at %d of %d:\n%s\nwant\n%s", size, len(log), describe(s), describe(want))
		}
		if total(s) != "none" {
			t.Fatalf("cut at %d of %d: a total", size, len(log))
		}
	}
}

// The fold of a log with a damaged byte lacks a result, lacks the last frame, or fails. It never has another total.
func TestFlipEveryByte(t *testing.T) {
	records := smallRun(t)
	log, ends := encode(t, records...)
	original, _, err := foldBytes(log)
	if err != nil || total(original) == "none" {
		t.Fatal(total(original), err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	var dropped, cut, refused int
	for i := range log {
		for _, flip := range []byte{0xff, 1 << rng.IntN(8), byte(1 + rng.IntN(254))} {
			damaged := bytes.Clone(log)
			damaged[i] ^= flip
			s, notes, err := foldBytes(damaged)
			switch last := ends[len(ends)-2]; {
			case err != nil:
				if !errors.Is(err, ErrDamaged) || i >= last {
					t.Fatalf("byte %d: %v", i, err)
				}
				refused++
			case len(notes.Dropped) == 1 && notes.Torn == 0:
				dropped++
			case int(notes.Size) == last && notes.Torn > 0:
				cut++
			default:
				t.Fatalf("byte %d of %d: %+v", i, len(log), notes)
			}
			if err == nil && total(s) != "none" && total(s) != total(original) {
				t.Fatalf("byte %d: the total %s, not %s", i, total(s), total(original))
			}
		}
	}
	if dropped == 0 || cut == 0 || refused == 0 {
		t.Error(dropped, cut, refused)
	}
}

// Damage at the end that is longer than the largest group is an error, not a torn group.
func TestMuchDamageIsNotTorn(t *testing.T) {
	log, _ := encode(t, smallRun(t)...)
	if _, notes, err := foldBytes(append(bytes.Clone(log), make([]byte, maxGroup)...)); err != nil || notes.Torn != maxGroup {
		t.Error(notes, err)
	}
	if _, _, err := foldBytes(append(bytes.Clone(log), make([]byte, maxGroup+1)...)); !errors.Is(err, errTorn) {
		t.Error(err)
	}
}

// Damage before a whole last frame is an error, not a torn group.
func TestDamageBeforeTheEnd(t *testing.T) {
	log, ends := encode(t, smallRun(t)...)
	damaged := bytes.Clone(log)
	clear(damaged[ends[3]:ends[5]])
	if _, _, err := foldBytes(damaged); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), fmt.Sprintf("offset %d:", ends[3])) {
		t.Error(err)
	}
}

// The error for a log of another format says which program to use, not that the log is damaged.
func TestOtherFormat(t *testing.T) {
	h := newHeader(t, 1)
	log, _ := encode(t, h)
	f, _ := parseLast(log)
	payload := bytes.Replace(f.payload, []byte(`"format":1`), []byte(`"format":2`), 1)
	other := bytes.Replace(log, f.payload, payload, 1)
	binary.LittleEndian.PutUint32(other[headSize+len(payload):], checksum(payload))
	if _, _, err := foldBytes(other); !errors.Is(err, ErrFormat) || errors.Is(err, ErrDamaged) {
		t.Error(err)
	}
}

// A result with the longest usual names takes few bytes.
func TestSizes(t *testing.T) {
	for tasks, most := range map[int]int{1: 110, 16: 16 * 25} {
		r := result("6f1c2a34b5d647e89fa0b1c2d3e4f506/avx512", 9_876_543, make([]uint64, tasks)...)
		r.Process, r.At = "abcdefghijkl", time.Now()
		for i := range r.Counts {
			r.Counts[i] = 1 << 41
		}
		if log, _ := encode(t, r); len(log) > most {
			t.Errorf("a chunk of %d tasks takes %d bytes, more than %d", tasks, len(log), most)
		}
	}
}

// Whatever follows the header, reading ends without a panic, and what is read can be written and read again.
func FuzzLog(f *testing.F) {
	records := smallRun(f)
	header, _ := encode(f, records[0])
	for _, r := range records[1:] {
		log, _ := encode(f, r)
		f.Add(byte(0), log)
		f.Add(byte(r.kind()), log[headSize:len(log)-tailSize])
	}
	f.Fuzz(func(t *testing.T, k byte, data []byte) {
		if k == 0 {
			_, _, _ = foldBytes(append(bytes.Clone(header), data...))
			l := Last{Header: records[0].(*Header)}
			l.findMark(data)
			return
		}
		r, err := newDecoder().decode(frame{kind: kind(k), payload: data})
		if err != nil {
			return
		}
		if h, ok := r.(*Header); !ok {
			_, _ = NewState(records[0].(*Header)).Apply(r)
		} else if h.validate() != nil {
			t.Fatal("an invalid header")
		}
		log, err := AppendFrame(nil, r)
		if err != nil {
			t.Fatalf("%+v: %v", r, err)
		}
		again, ok := parseLast(log)
		if !ok || again.kind != kind(k) {
			t.Fatal("the frame is not whole")
		}
		if second, err := newDecoder().decode(again); err != nil || fmt.Sprintf("%+v", second) != fmt.Sprintf("%+v", r) {
			t.Fatalf("%+v, then %+v, %v", r, second, err)
		}
	})
}

// A file that shrinks while it is read is an error, not a torn log.
func TestReadFails(t *testing.T) {
	log, _ := encode(t, smallRun(t)...)
	if _, _, err := Fold(section(log[:len(log)-9], len(log)), "log"); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}
