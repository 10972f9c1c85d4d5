package ledger

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
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
	records, s := withDisputes(t, h, records)
	end := mark(queens.Complete)
	end.Solutions, end.Total = (*queens.Decimal)(s.Solutions()), (*queens.Decimal)(s.Solutions())
	return append(records, end)
}

// withDisputes returns records with the disputes that must be written before them, and their state.
func withDisputes(t testing.TB, h *Header, records []Record) (written []Record, s *State) {
	t.Helper()
	s = NewState(h)
	for _, r := range records {
		c, err := s.Apply(r)
		if err != nil {
			t.Fatal(err)
		}
		written = append(append(written, c.Disputes...), r)
	}
	return written, s
}

// encode returns the log of some records, each in a write of its own, and the offsets at which
// their frames end.
func encode(t testing.TB, records ...Record) (log []byte, ends []int) {
	t.Helper()
	for i, r := range records {
		var err error
		if log, err = AppendFrame(log, uint32(i)+1, r); err != nil {
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
	text := fmt.Sprintf("%+v %v %d %d %d %q %+v", s.totals, s.Bans(), s.Results(), s.Recounts(),
		s.Starts(), s.Ended(), s.Mark())
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

// A log that is cut anywhere has the state of its whole frames. A log that is cut within its header
// is refused.
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

// A damaged byte of a head or a tail changes nothing. A damaged byte in the payload of a result or
// a mark leaves it out, and one of any other payload is an error with the offset of the frame. All
// this holds with or without a torn write at the end.
func TestFlipEveryByte(t *testing.T) {
	records := smallRun(t)
	log, ends := encode(t, records...)
	torn, err := AppendFrame(nil, uint32(len(records))+1, recounted(2, 3, "generic"))
	if err != nil {
		t.Fatal(err)
	}
	for _, rest := range [][]byte{nil, torn[:5], torn[:labelSize+9], torn[:len(torn)-1]} {
		original, _, err := foldBytes(append(bytes.Clone(log), rest...))
		if err != nil || original.Ended() == "" {
			t.Fatal(original.Ended(), err)
		}
		for number, r := range records {
			begin := int64(ends[number] - len(frameOf(t, r)))
			for i := int(begin); i < ends[number]; i++ {
				damaged := append(bytes.Clone(log), rest...)
				damaged[i] ^= byte(1 + i*37%255)
				s, notes, err := foldBytes(damaged)
				isLabel := i < int(begin)+labelSize || i >= ends[number]-labelSize
				canBeLeftOut := r.kind() == resultKind || r.kind() == markKind
				switch {
				case !isLabel && !canBeLeftOut:
					if !errors.Is(err, ErrDamaged) ||
						!strings.Contains(err.Error(), fmt.Sprintf("offset %d:", begin)) {
						t.Fatalf("byte %d of %T: %v", i, r, err)
					}
				case err != nil || int(notes.Torn) != len(rest):
					t.Fatalf("byte %d of %T: %+v, %v", i, r, notes, err)
				case isLabel && (!slices.Equal(notes.Mended, []int64{begin}) ||
					describe(s) != describe(original)):
					t.Fatalf("byte %d of a label changes the state: %+v", i, notes)
				case !isLabel && !slices.Equal(notes.Dropped, []int64{begin}):
					t.Fatalf("byte %d of %T: %+v", i, r, notes)
				case total(s) != "none" && total(s) != total(original):
					t.Fatalf("byte %d: the total %s, not %s", i, total(s), total(original))
				}
			}
		}
	}
}

// frameOf returns the frame of a record.
func frameOf(t *testing.T, r Record) []byte {
	t.Helper()
	log, _ := encode(t, r)
	return log
}

// The header and the last mark are read in spite of a damaged byte in the head or the tail of any
// frame.
func TestReadLastDamaged(t *testing.T) {
	log, ends := encode(t, smallRun(t)...)
	for number, end := range ends {
		for _, at := range []int{end - 1, end - labelSize, end} { // two in a tail, one in the next head
			damaged := bytes.Clone(log)
			if at < len(damaged) {
				damaged[at] ^= 4
			}
			l := Last{Header: smallRun(t)[0].(*Header), State: queens.Running}
			l.findMark(damaged)
			if l.State != queens.Complete {
				t.Errorf("byte %d, in or after frame %d of %d: %+v", at, number, len(ends), l.State)
			}
		}
	}
}

// A mark that does not end the log says nothing about the state of the run.
func TestReadLastTorn(t *testing.T) {
	log, _ := encode(t, smallRun(t)...)
	l := Last{Header: smallRun(t)[0].(*Header), State: queens.Running}
	l.findMark(append(log, 1, 2, 3))
	if l.State != queens.Running || l.Mark == nil {
		t.Errorf("%s %+v", l.State, l.Mark)
	}
}

// A frame that can't be read is damage if a frame of a later write is there, and the rest of a torn
// write if none is. A missing write is damage, too.
func TestTornOrDamaged(t *testing.T) {
	var log []byte
	var ends []int
	h := newHeader(t, 1)
	for _, f := range []struct {
		write  uint32
		record Record
	}{{1, h}, {2, result("a", 0, 1)}, {2, result("a", 1, 1)}, {3, result("a", 2, 1)},
		{3, result("a", 3, 1)}, {3, result("a", 4, 1)}} {
		var err error
		if log, err = AppendFrame(log, f.write, f.record); err != nil {
			t.Fatal(err)
		}
		ends = append(ends, len(log))
	}
	for _, c := range []struct {
		about    string
		from, to int // these frames become zeros
		cut      int // bytes that the end lacks
		err      error
		kept     int // frames before the torn end
	}{
		{"a frame of an earlier write", 1, 2, 0, errFrame, 0},
		{"a frame of an earlier write, and a torn end", 1, 2, 3, errFrame, 0},
		{"the last frame of an earlier write, and a torn end", 2, 3, 3, errFrame, 0},
		{"a frame of the last write, which is whole at the end", 4, 5, 0, errFrame, 0},
		{"a frame of the last write, which is torn", 4, 5, 3, nil, 4},
		{"the last frame", 5, 6, 0, nil, 5},
	} {
		damaged := bytes.Clone(log[:len(log)-c.cut])
		clear(damaged[ends[c.from-1]:min(ends[c.to-1], len(damaged))])
		_, notes, err := foldBytes(damaged)
		if !errors.Is(err, c.err) || err == nil && int(notes.Size) != ends[c.kept-1] {
			t.Errorf("%s: %+v, %v", c.about, notes, err)
		}
	}
	missing := append(bytes.Clone(log[:ends[0]]), log[ends[2]:]...)
	again := append(bytes.Clone(log), log[ends[0]:ends[2]]...)
	for _, log := range [][]byte{missing, again} {
		if _, _, err := foldBytes(log); !errors.Is(err, errWrite) {
			t.Error(err)
		}
	}
}

// The last frame is damaged if its tail is there, and torn if only its head is.
func TestHalfOfTheLastFrame(t *testing.T) {
	h := newHeader(t, 1)
	before, _ := encode(t, h)
	for _, last := range []Record{result("a", 0, 1), ban("a")} {
		log, _ := encode(t, h, last)
		withTail, withHead := bytes.Clone(log), bytes.Clone(log)
		clear(withTail[len(before) : len(log)-labelSize])
		clear(withHead[len(before)+labelSize:])
		_, notes, err := foldBytes(withTail)
		if _, isResult := last.(*Result); isResult && (err != nil || len(notes.Dropped) != 1) ||
			!isResult && !errors.Is(err, errFrame) {
			t.Errorf("%T with a tail: %+v, %v", last, notes, err)
		}
		if _, notes, err := foldBytes(withHead); err != nil || notes.Torn != int64(len(log)-len(before)) {
			t.Errorf("%T with a head: %+v, %v", last, notes, err)
		}
	}
}

// Damage at the end that is longer than the largest write is an error, not a torn write.
func TestMuchDamageIsNotTorn(t *testing.T) {
	log, _ := encode(t, smallRun(t)...)
	if _, notes, err := foldBytes(append(bytes.Clone(log), make([]byte, maxWrite)...)); err != nil ||
		notes.Torn != maxWrite {
		t.Error(notes, err)
	}
	if _, _, err := foldBytes(append(bytes.Clone(log), make([]byte, maxWrite+1)...)); !errors.Is(err,
		errTorn) {
		t.Error(err)
	}
}

// Damage before a whole last frame is an error, not a torn write.
func TestDamageBeforeTheEnd(t *testing.T) {
	log, ends := encode(t, smallRun(t)...)
	damaged := bytes.Clone(log)
	clear(damaged[ends[3]:ends[5]])
	if _, _, err := foldBytes(damaged); !errors.Is(err, ErrDamaged) ||
		!strings.Contains(err.Error(), fmt.Sprintf("offset %d:", ends[3])) {
		t.Error(err)
	}
}

// The error for a log of another format says which program to use, not that the log is damaged.
func TestOtherFormat(t *testing.T) {
	h := newHeader(t, 1)
	log, _ := encode(t, h)
	f := parseLast(log)
	payload := bytes.Replace(f.payload, []byte(`"format":4`), []byte(`"format":3`), 1)
	f.sum = checksum(payload)
	other := f.append(append(f.append(nil, head), payload...), tail)
	if _, _, err := foldBytes(other); !errors.Is(err, ErrFormat) || errors.Is(err, ErrDamaged) {
		t.Error(err)
	}
}

// The bytes of a frame are those that docs/ledger.md says.
func TestFrameBytes(t *testing.T) {
	frame, err := AppendFrame(nil, 0x01020304, &Start{Number: 1, Version: "v"})
	if err != nil {
		t.Fatal(err)
	}
	payload := frame[labelSize : len(frame)-labelSize]
	if !bytes.HasPrefix(payload, []byte(`{"number":1,`)) {
		t.Errorf("payload %s", payload)
	}
	order := binary.LittleEndian
	label := order.AppendUint32(nil, 'S'<<24|uint32(len(payload)))
	label = order.AppendUint32(label, 0x01020304)
	label = order.AppendUint32(label, crc32.Checksum(payload, crc32.MakeTable(crc32.Castagnoli)))
	sum := crc32.Checksum(label, crc32.MakeTable(crc32.Castagnoli))
	head, tail := order.AppendUint32(bytes.Clone(label), sum), order.AppendUint32(label, ^sum)
	if !bytes.Equal(frame, slices.Concat(head, payload, tail)) {
		t.Errorf("frame %x", frame)
	}
	// the tail of another frame is none
	other, err := AppendFrame(nil, 5, &Start{Number: 1, Version: "v"})
	if err != nil {
		t.Fatal(err)
	}
	copy(frame[labelSize+len(payload):], other[labelSize+len(payload):])
	if f := parseFrame(frame); f.state != mended || f.write != 0x01020304 {
		t.Errorf("with the tail of another frame, the state is %d, of write %d", f.state, f.write)
	}
}

// A result with the longest usual names takes few bytes.
func TestSizes(t *testing.T) {
	for tasks, most := range map[int]int{1: 120, 16: 16 * 25} {
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

// Whatever follows the header, reading ends without a panic, and what is read can be written and
// read again.
func FuzzLog(f *testing.F) {
	records := smallRun(f)
	header, _ := encode(f, records[0])
	for _, r := range records[1:] {
		log, _ := encode(f, r)
		f.Add(byte(0), log)
		f.Add(byte(r.kind()), log[labelSize:len(log)-labelSize])
	}
	f.Fuzz(func(t *testing.T, k byte, data []byte) {
		if k == 0 {
			_, _, _ = foldBytes(append(bytes.Clone(header), data...))
			l := Last{Header: records[0].(*Header)}
			l.findMark(data)
			return
		}
		r, err := newDecoder().decode(&frame{label: label{kind: kind(k)}, payload: data})
		if err != nil {
			return
		}
		if h, ok := r.(*Header); !ok {
			_, _ = NewState(records[0].(*Header)).Apply(r)
		} else if h.validate() != nil {
			t.Fatal("an invalid header")
		}
		log, err := AppendFrame(nil, 1, r)
		if err != nil {
			t.Fatalf("%+v: %v", r, err)
		}
		again := parseLast(log)
		if again.state != whole || again.kind != kind(k) {
			t.Fatal("the frame is not whole")
		}
		if second, err := newDecoder().decode(&again); err != nil ||
			fmt.Sprintf("%+v", second) != fmt.Sprintf("%+v", r) {
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
