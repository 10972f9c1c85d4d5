package ledger

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"nqueens/pkg/queens"
	"nqueens/pkg/testkit"
)

// decode decodes a record of a log whose header is not known.
func decode(k kind, payload []byte) (Record, error) {
	return newDecoder().decode(&frame{label: label{kind: k}, payload: payload})
}

// An invalid record is neither written nor read. Each case changes one field.
func TestInvalidRecords(t *testing.T) {
	refused := func(name string, ok bool, r Record) {
		t.Helper()
		framed, err := AppendFrame([]byte("before"), 1, r)
		if (err == nil) != ok || err != nil && string(framed) != "before" {
			t.Errorf("%s is written: %v", name, err)
		}
		if result, is := r.(*Result); is {
			if err == nil {
				_, err = decode(resultKind, framed[len("before")+labelSize:len(framed)-labelSize])
			}
			if err != nil && ok {
				t.Errorf("%s: %+v is not read: %v", name, result, err)
			}
			return
		}
		text, _ := json.Marshal(r)
		if read, err := decode(r.kind(), text); (err == nil) != ok || ok && !reflect.DeepEqual(read, r) {
			t.Errorf("%s is read as %+v (error %v)", name, read, err)
		}
	}
	header := func(name string, ok bool, change func(h *Header)) {
		t.Helper()
		h := newHeader(t, 1)
		change(h)
		refused(name, ok, h)
	}
	header("a header", true, func(h *Header) {})
	header("the greatest redundancy, all checked", true, func(h *Header) {
		h.Redundancy, h.SpotCheck = MaxRedundancy, 1
	})
	header("no spot check", true, func(h *Header) { h.SpotCheck = 0 })
	header("no redundancy", false, func(h *Header) { h.Redundancy = 0 })
	header("redundancy 3", false, func(h *Header) { h.Redundancy = MaxRedundancy + 1 })
	header("a negative share", false, func(h *Header) { h.SpotCheck = -0.1 })
	header("more than all", false, func(h *Header) { h.SpotCheck = 1.1 })
	header("most tasks", true, func(h *Header) { h.Manifest.Tasks = queens.MaxTasks })
	header("too many tasks", false, func(h *Header) { h.Manifest.Tasks = queens.MaxTasks + 1 })
	header("no name", false, func(h *Header) { h.Run = "" })
	header("no side", false, func(h *Header) { h.Manifest.N = 0 })

	at := time.UnixMilli(1e12).UTC()
	long := strings.Repeat("x", 129)
	refused("a start", true, &Start{Number: 1, At: at})
	refused("a long version", false, &Start{Number: 1, Version: long, At: at})
	for why, ok := range map[Why]bool{Disputed: true, SpotCheck: true, LostWorkers: true, "": false,
		"fun": false} {
		refused("a recount for "+string(why), ok, &Recount{Machine: "home", Why: why, At: at})
	}
	refused("a recount by a long kernel", false,
		&Recount{Machine: "home", Why: Disputed, Kernel: long, At: at})
	refused("a dispute", true,
		&Dispute{Counts: []WorkerCount{{testkit.Machine("a"), "avx2", math.MaxUint64}}, At: at})
	refused("a dispute without counts", false, &Dispute{At: at})
	refused("a dispute of nobody", false,
		&Dispute{Counts: []WorkerCount{{queens.Machine{}, "avx2", 1}}, At: at})
	refused("a dispute by a long kernel", false,
		&Dispute{Counts: []WorkerCount{{testkit.Machine("a"), long, 1}}, At: at})
	refused("a dispute of no task", false,
		&Dispute{Task: math.MaxUint64, Counts: []WorkerCount{{testkit.Machine("a"), "avx2", 1}}, At: at})
	refused("a ban", true, &Ban{Ban: queens.Ban{Machine: testkit.Machine("a")}, At: at})
	refused("a ban of nobody", false, &Ban{At: at})
	changedMark := func(name string, s queens.State, ok bool, change func(m *Mark)) {
		t.Helper()
		m := mark(s)
		change(m)
		refused(name, ok, m)
	}
	changedMark("a mark", queens.Running, true, func(m *Mark) {})
	changedMark("all work", queens.Running, true, func(m *Mark) { m.Work = 1 })
	changedMark("a total", queens.Complete, true, func(m *Mark) {})
	changedMark("more than all work", queens.Running, false, func(m *Mark) { m.Work = 1.5 })
	changedMark("negative work", queens.Running, false, func(m *Mark) { m.Work = -0.5 })
	changedMark("a negative time", queens.Running, false, func(m *Mark) { m.Wall = -1 })
	changedMark("no solutions", queens.Running, false, func(m *Mark) { m.Solutions = nil })
	changedMark("no total", queens.Complete, false, func(m *Mark) { m.Total = nil })
	changedMark("an early total", queens.Running, false, func(m *Mark) { m.Total = m.Solutions })
	changedMark("no such state", "lost", false, func(m *Mark) {})

	changed := func(name string, ok bool, change func(r *Result)) {
		t.Helper()
		r := result("a", 3, 1, 2)
		change(r)
		refused(name, ok, r)
	}
	changed("a result", true, func(r *Result) {})
	changed("at the beginning of time", true, func(r *Result) {
		r.At, r.Searched = time.UnixMilli(0).UTC(), 0
	})
	changed("the last tasks", true, func(r *Result) { r.First = math.MaxUint64 - 2 })
	changed("the longest search", true, func(r *Result) {
		r.Searched = math.MaxInt64 / 1000 * time.Microsecond
	})
	changed("beyond the last task", false, func(r *Result) { r.First = math.MaxUint64 - 1 })
	changed("no tasks", false, func(r *Result) { r.Tasks, r.Counts = 0, nil })
	changed("a count too few", false, func(r *Result) { r.Counts = r.Counts[:1] })
	changed("before the beginning of time", false, func(r *Result) { r.At = time.UnixMilli(-1) })
	changed("a negative search", false, func(r *Result) { r.Searched = -time.Second })
	changed("a long name", false, func(r *Result) { r.Kernel = long })
}

// Payloads that are cut or have impossible numbers are not decoded, and neither is JSON that
// payloadOf would not write.
func TestInvalidPayloads(t *testing.T) {
	refused := func(k kind, payload []byte) error {
		_, err := decode(k, payload)
		return err
	}
	whole, err := payloadOf(result("a", 3, 1, 300))
	if err != nil || refused(resultKind, whole) != nil {
		t.Fatal(err)
	}
	for size := range whole {
		if refused(resultKind, whole[:size]) == nil {
			t.Errorf("%d of %d bytes of a result are accepted", size, len(whole))
		}
	}
	numbers := func(name string, numbers ...uint64) (payload []byte) {
		payload = append([]byte("\x06worker"), byte(len(name)))
		payload = append(payload, name+"\x01p\x01k12345678"...)
		for _, n := range numbers {
			payload = binary.AppendUvarint(payload, n)
		}
		return payload
	}
	if err := refused(resultKind, numbers("m", 3, 2, 7, 9, 1, 1)); err != nil {
		t.Fatal(err)
	}
	for name, payload := range map[string][]byte{
		"a control name":        numbers("\x1b", 3, 2, 7, 9, 1, 1),
		"no tasks":              numbers("m", 3, 0, 7, 9),
		"a count more":          numbers("m", 3, 2, 7, 9, 1, 1, 1),
		"more tasks than bytes": numbers("m", 3, 1<<40, 7, 9, 1, 1),
		"a range that wraps":    numbers("m", math.MaxUint64, 2, 7, 9, 1, 1),
		"a long search":         numbers("m", 3, 2, math.MaxInt64/1000+1, 9, 1, 1),
		"a late time":           numbers("m", 3, 2, 7, math.MaxInt64/1_000_000+1, 1, 1),
	} {
		if refused(resultKind, payload) == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	for k, text := range map[kind]string{
		startKind: `{"number":1`, headerKind: `{"format":`, 'X': `{}`,
		banKind: `{ "user":"worker","machine":"a","task":0,"count":"0","recount":"0","at":"2001-09-09T01:46:40Z"}`,
	} {
		if refused(k, []byte(text)) == nil {
			t.Errorf("%c %s is accepted", k, text)
		}
	}
	err = refused(headerKind, []byte(`{"format":2,"other":[]}`))
	if !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), "format 2") {
		t.Errorf("a header of another format: %v", err)
	}
	var s Secret
	for _, text := range []string{"", "00", strings.Repeat("0", 66), strings.Repeat("x", 64)} {
		if s.UnmarshalText([]byte(text)) == nil {
			t.Errorf("the secret %q is accepted", text)
		}
	}
}

// The largest frame is written, and read from either end. A frame with one byte more is refused.
func TestLargestFrame(t *testing.T) {
	few, _ := payloadOf(result("a", 0, make([]uint64, 1<<19)...))
	most := 1<<19 + maxPayload - len(few)
	framed, err := AppendFrame(nil, 1, result("a", 0, make([]uint64, most)...))
	if err != nil || len(framed) != maxPayload+frameSize {
		t.Fatalf("%d bytes, error %v", len(framed), err)
	}
	if f := parseFrame(framed); f.state != whole || f.size() != len(framed) {
		t.Error("it is not read")
	}
	if f := parseLast(append([]byte("before"), framed...)); f.state != whole || f.kind != resultKind {
		t.Error("it is not read from the end")
	}
	if none, err := AppendFrame(nil, 1, result("a", 0, make([]uint64, most+1)...)); err == nil ||
		len(none) > 0 {
		t.Errorf("%d bytes are written, error %v", len(none), err)
	}
}
