package bus

import (
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	nqueensv1 "nqueens/proto/nqueens/v1"

	"nqueens/pkg/queens"
	"nqueens/pkg/testkit"
)

// These messages have every field set. The decoders return what was encoded.
var (
	someRequest = queens.WorkRequest{
		Number: 3, Connection: 5, Host: "laptop", Version: "v1", Kernel: "avx2", Threads: 8, Searchers: 2,
		Want: 4, Seen: 2, RoundTrip: time.Second,
		Held: []queens.Held{{Range: queens.Range{First: 5, Tasks: 2}, Ticket: queens.Ticket{1, 2},
			Searched: time.Second}, {Range: queens.Range{Tasks: 1}}},
	}
	someDelivery = queens.Delivery{Results: []queens.Result{{
		Range: queens.Range{First: 5, Tasks: 3}, Ticket: queens.Ticket{15: 9},
		Counted: queens.Range{First: 6, Tasks: 2},
		Hash:    1 << 63, Counts: []uint64{0, 1<<64 - 1}, Kernel: "generic", Searched: 1,
	}}}
	someReply = queens.WorkReply{
		Number: 3, Instance: 9, Drop: []queens.Range{{First: 1, Tasks: 1}},
		Chunks: []queens.Chunk{{
			Range: queens.Range{First: 7, Tasks: 2}, Ticket: queens.Ticket{5}, Board: queens.FullBoard(4),
			Prefixes: [][]queens.Prefix{{{}, {Row: 1, Cols: 1, Left: 2, Right: 0}}, {{Row: 4, Cols: 15}}},
		}, {
			Range: queens.Range{First: 9, Tasks: 1}, Board: queens.FullBoard(32),
			Prefixes: [][]queens.Prefix{{{Row: 1, Cols: 1 << 31, Right: 1 << 30},
				{Row: 1, Cols: 1, Left: 2}}},
		}, {
			Range: queens.Range{First: 10, Tasks: 1}, Board: queens.FullBoard(4),
			Prefixes: [][]queens.Prefix{{{}, {Row: 1, Cols: 1, Left: 2}, {}}},
		}, {
			Range: queens.Range{First: 11, Tasks: 2}, Board: queens.FullBoard(16),
			Sets: []queens.RowSets{{First: 5, Number: 4}, {First: 9, Number: 1}},
		}},
		Refused: "a ban", Kept: time.Second,
	}
	someReceipts = queens.DeliveryReply{Instance: 9,
		Receipts: []queens.Receipt{{Recorded: true}, {Refused: "wrong ticket"}}}
	someAnnouncement = queens.Announcement{Run: "r", Instance: 1, State: queens.Complete, Recorded: 7,
		Work: true}
)

func someSnapshot() *queens.Snapshot {
	return &queens.Snapshot{
		Run: "r", N: 8, Method: queens.Prefixes, Symmetry: queens.Full, State: queens.Running, Tasks: 5,
		Done: 2, Solutions: (*queens.Decimal)(big.NewInt(40)),
		WorkerList: []queens.Worker{{Machine: testkit.Machine("m"), Process: "p", Threads: 2}},
		Live:       &queens.Live{Workers: 1},
	}
}

func TestRoundTrip(t *testing.T) {
	roundTrip(t, &someRequest, FromWorker{Request: &someRequest}, EncodeRequest, DecodeFromWorker)
	roundTrip(t, &someDelivery, FromWorker{Delivery: &someDelivery}, EncodeDelivery, DecodeFromWorker)
	data := roundTrip(t, &someReply, &someReply, EncodeWorkReply, DecodeWorkReply)
	if most := EncodedChunkBytes(2, 3) + EncodedChunkBytes(1, 2) + EncodedChunkBytes(1, 3) +
		EncodedChunkBytes(2, 0); len(data) > most {
		t.Errorf("a reply has %d bytes, but the bounds of its chunks allow %d", len(data), most)
	}
	roundTrip(t, &someReceipts, &someReceipts, EncodeDeliveryReply, DecodeDeliveryReply)
	roundTrip(t, &someAnnouncement, someAnnouncement, EncodeAnnouncement, DecodeAnnouncement)
	decode := func(data []byte) (*queens.Snapshot, error) { return DecodeSnapshot("r", data) }
	roundTrip(t, someSnapshot(), someSnapshot(), encodeSnapshot, decode)
}

// roundTrip encodes and decodes a message, and compares what was decoded with what is expected.
func roundTrip[M, D any](
	t *testing.T, m M, want D, encode func(M) ([]byte, error), decode func([]byte) (D, error),
) []byte {
	t.Helper()
	data := must(encode(m))(t)
	if got := must(decode(data))(t); !reflect.DeepEqual(got, want) {
		t.Errorf("decoded %+v, want %+v", got, want)
	}
	return data
}

// A snapshot whose list of workers is too long for a message is sent without it.
func TestLongSnapshot(t *testing.T) {
	s := someSnapshot()
	for range queens.MaxSnapshotBytes / 100 {
		s.WorkerList = append(s.WorkerList,
			queens.Worker{Machine: testkit.Machine(strings.Repeat("m", 60)), Process: "p"})
	}
	data, err := encodeSnapshot(s)
	if err != nil || len(data) > queens.MaxSnapshotBytes {
		t.Fatalf("%d bytes, error %v", len(data), err)
	}
	if got, err := DecodeSnapshot("r", data); err != nil || got.Done != s.Done ||
		len(got.WorkerList) > 0 {
		t.Errorf("decoded %+v, error %v", got, err)
	}
	if len(s.WorkerList) == 0 {
		t.Error("the snapshot itself has lost its workers")
	}
}

// A snapshot is refused if it is of another run, has a total that no coordinator sends, or has
// bytes that a terminal interprets.
func TestRefusedSnapshots(t *testing.T) {
	for name, change := range map[string]func(*queens.Snapshot){
		"of another run": func(s *queens.Snapshot) { s.Run = "r2" },
		"with a wrong total": func(s *queens.Snapshot) {
			s.Done, s.Solutions = 5, (*queens.Decimal)(big.NewInt(93))
			s.SetTotal(big.NewInt(93), queens.Confirmation{Tasks: 5, Checked: 5})
		},
		"with an escape": func(s *queens.Snapshot) { s.Symmetry = "\x1b]0;title\a" },
	} {
		s := someSnapshot()
		change(s)
		if _, err := DecodeSnapshot("r", must(encodeSnapshot(s))(t)); err == nil {
			t.Errorf("a snapshot %s is accepted", name)
		}
	}
}

// Every decoder refuses a message without a version, and a message of another version. The error
// has both versions, whatever follows in the message.
func TestVersions(t *testing.T) {
	decoders := map[string]func([]byte) error{
		"from worker":    func(data []byte) error { _, err := DecodeFromWorker(data); return err },
		"work reply":     func(data []byte) error { _, err := DecodeWorkReply(data); return err },
		"delivery reply": func(data []byte) error { _, err := DecodeDeliveryReply(data); return err },
		"announcement":   func(data []byte) error { _, err := DecodeAnnouncement(data); return err },
		"version":        checkVersion,
	}
	for name, decode := range decoders {
		var version *VersionError
		if err := decode([]byte{1 << 3, Protocol + 1, 0xff}); !errors.As(err, &version) ||
			version.Version != Protocol+1 ||
			!strings.Contains(err.Error(), fmt.Sprint("version ", Protocol+1)) ||
			!strings.Contains(err.Error(), fmt.Sprint("version ", Protocol)) {
			t.Errorf("%s of another version: %v", name, err)
		}
		for _, data := range [][]byte{nil, {0x80}, {1 << 3}, {2 << 3, Protocol},
			{1<<3 | 2, 1, Protocol}} {
			if err := decode(data); err == nil || errors.As(err, &version) {
				t.Errorf("%s of % x: %v", name, data, err)
			}
		}
	}
	var version *VersionError
	if _, err := DecodeSnapshot("r", []byte(`{"protocol":5,"x":1}`)); !errors.As(err, &version) ||
		version.Version != 5 {
		t.Errorf("snapshot of another version: %v", err)
	}
	// Every reply begins with the version, so that a worker of another version can read it.
	data, err := EncodeWorkReply(&queens.WorkReply{Refused: "unreadable"})
	if err != nil || data[0] != 1<<3 || data[1] != Protocol {
		t.Errorf("an answer begins with % x (error %v)", data[:2], err)
	}
}

// The decoders refuse messages that no program of this version sends.
func TestRefused(t *testing.T) {
	request := func(change func(*nqueensv1.WorkRequest)) error {
		m := &nqueensv1.WorkRequest{Number: 1, Connection: 1, Threads: 1, Searchers: 1,
			Held: []*nqueensv1.Held{{Tasks: 1, Ticket: make([]byte, 16)}}}
		change(m)
		data, _ := proto.Marshal(&nqueensv1.FromWorker{Protocol: Protocol, Request: m})
		_, err := DecodeFromWorker(data)
		return err
	}
	result := func(change func(*nqueensv1.Result)) error {
		m := &nqueensv1.Result{First: 5, Tasks: 2, Ticket: make([]byte, 16), Counted: 5,
			Counts: []uint64{1, 2}, Kernel: "k"}
		change(m)
		data, _ := proto.Marshal(
			&nqueensv1.FromWorker{Protocol: Protocol,
				Delivery: &nqueensv1.Delivery{Results: []*nqueensv1.Result{m}}})
		_, err := DecodeFromWorker(data)
		return err
	}
	chunk := func(change func(*nqueensv1.Chunk)) error {
		c := encodeChunk(&someReply.Chunks[0])
		change(c)
		data, _ := proto.Marshal(
			&nqueensv1.WorkReply{Protocol: Protocol, Instance: 1, Chunks: []*nqueensv1.Chunk{c}})
		_, err := DecodeWorkReply(data)
		return err
	}
	if err := errors.Join(request(func(*nqueensv1.WorkRequest) {}), result(func(*nqueensv1.Result) {}),
		chunk(func(*nqueensv1.Chunk) {})); err != nil {
		t.Fatal(err)
	}
	both, _ := proto.Marshal(
		&nqueensv1.FromWorker{Protocol: Protocol,
			Request: &nqueensv1.WorkRequest{Number: 1, Connection: 1, Threads: 1, Searchers: 1},
			Delivery: &nqueensv1.Delivery{
				Results: []*nqueensv1.Result{{First: 5, Tasks: 1, Ticket: make([]byte, 16), Counted: 5,
					Counts: []uint64{1}, Kernel: "k"}},
			}})
	_, errBoth := DecodeFromWorker(both)
	_, errNeither := DecodeFromWorker([]byte{1 << 3, Protocol})
	_, errUnknown := DecodeAnnouncement([]byte{1 << 3, Protocol, 15 << 3, 1})
	for name, err := range map[string]error{
		"a request and a delivery": errBoth, "neither": errNeither, "an unknown field": errUnknown,
		"no number":         request(func(m *nqueensv1.WorkRequest) { m.Number = 0 }),
		"no connection":     request(func(m *nqueensv1.WorkRequest) { m.Connection = 0 }),
		"a control host":    request(func(m *nqueensv1.WorkRequest) { m.Host = "\x1b" }),
		"no threads":        request(func(m *nqueensv1.WorkRequest) { m.Threads = 0 }),
		"too many wanted":   request(func(m *nqueensv1.WorkRequest) { m.Want = maxThreads + 1 }),
		"leaving with work": request(func(m *nqueensv1.WorkRequest) { m.Leaving = true }),
		"leaving for work": request(func(m *nqueensv1.WorkRequest) {
			m.Leaving, m.Held, m.Want = true, nil, 1
		}),
		"a control kernel": request(func(m *nqueensv1.WorkRequest) { m.Kernel = "\x1b" }),
		"a short ticket": request(func(m *nqueensv1.WorkRequest) {
			m.Held[0].Ticket = make([]byte, 15)
		}),
		"an empty range": request(func(m *nqueensv1.WorkRequest) { m.Held[0].Tasks = 0 }),
		"a range that wraps": request(func(m *nqueensv1.WorkRequest) {
			m.Held[0].First, m.Held[0].Tasks = 1<<64-1, 2
		}),
		"a negative time":     request(func(m *nqueensv1.WorkRequest) { m.Held[0].Searched = 1 << 63 }),
		"a time of centuries": request(func(m *nqueensv1.WorkRequest) { m.Held[0].Searched = 1<<63 - 1 }),
		"no counts":           result(func(m *nqueensv1.Result) { m.Counts = nil }),
		"counts beyond":       result(func(m *nqueensv1.Result) { m.Counted = 6 }),
		"counts before":       result(func(m *nqueensv1.Result) { m.Counted = 4 }),
		"no kernel":           result(func(m *nqueensv1.Result) { m.Kernel = "" }),
		"a large delivery": result(func(m *nqueensv1.Result) {
			m.Tasks, m.Counts = MaxDelivery, make([]uint64, MaxDelivery)
		}),
		"a board of 33 rows": chunk(func(m *nqueensv1.Chunk) { m.Allow = make([]uint32, 33) }),
		"no board":           chunk(func(m *nqueensv1.Chunk) { m.Allow = nil }),
		"squares beyond":     chunk(func(m *nqueensv1.Chunk) { m.Allow = []uint32{16, 0, 0, 0} }),
		"no tasks":           chunk(func(m *nqueensv1.Chunk) { m.Prefixes = nil }),
		"too many tasks": chunk(func(m *nqueensv1.Chunk) {
			m.Prefixes = make([]uint32, queens.MaxChunkTasks+1)
		}),
		"an empty task":       chunk(func(m *nqueensv1.Chunk) { m.Prefixes = []uint32{3, 0} }),
		"prefixes of no task": chunk(func(m *nqueensv1.Chunk) { m.Prefixes = []uint32{1, 1} }),
		"too few prefixes":    chunk(func(m *nqueensv1.Chunk) { m.Prefixes = []uint32{2, 1<<32 - 1} }),
		"a mask too few":      chunk(func(m *nqueensv1.Chunk) { m.Masks = m.Masks[1:] }),
		"a mask too many":     chunk(func(m *nqueensv1.Chunk) { m.Masks = append(m.Masks, 0) }),
		"a column too many":   chunk(func(m *nqueensv1.Chunk) { m.Masks[0] = 1 << 4 }),
		"a queen too many":    chunk(func(m *nqueensv1.Chunk) { m.Masks[0] = 31 }),
	} {
		if err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

// A value at a bound is accepted, and a value beyond it is not.
func TestBounds(t *testing.T) {
	edge := func(name string, on, beyond error) {
		t.Helper()
		if on != nil || beyond == nil {
			t.Errorf("%s: on the bound %v, beyond it %v", name, on, beyond)
		}
	}
	request := func(r queens.WorkRequest) error {
		r.Number, r.Connection = 1, 1
		data, _ := EncodeRequest(&r)
		_, err := DecodeFromWorker(data)
		return err
	}
	edge("threads", request(queens.WorkRequest{Threads: maxThreads, Searchers: 1}),
		request(queens.WorkRequest{Threads: maxThreads + 1, Searchers: 1}))
	edge("leaving", request(queens.WorkRequest{Threads: 1, Searchers: 1, Leaving: true}),
		request(queens.WorkRequest{Threads: 1, Searchers: 1, Leaving: true, Want: 1}))

	delivery := func(counts int) (size int, encoded, decoded error) {
		all := queens.Range{Tasks: uint64(counts)}
		data, encoded := EncodeDelivery(
			&queens.Delivery{Results: []queens.Result{{Range: all, Counted: all,
				Counts: make([]uint64, counts), Kernel: "k"}}})
		_, decoded = DecodeFromWorker(data)
		return len(data), encoded, decoded
	}
	fixed, _, _ := delivery(1 << 16)
	most := 1<<16 + MaxDelivery - fixed
	size, encodes, decodes := delivery(most)
	_, longEncodes, longDecodes := delivery(most + 1)
	if size != MaxDelivery {
		t.Fatalf("%d bytes", size)
	}
	edge("an encoded delivery", encodes, longEncodes)
	edge("a decoded delivery", decodes, longDecodes)
	_, _, none := delivery(0)
	nothing, _ := EncodeDelivery(&queens.Delivery{})
	if _, err := DecodeFromWorker(nothing); err == nil || none == nil {
		t.Error("a delivery without results is accepted")
	}

	reply := func(r queens.WorkReply) ([]byte, error) {
		r.Instance = 1
		data, _ := EncodeWorkReply(&r)
		_, err := DecodeWorkReply(data)
		return data, err
	}
	chunk := func(tasks int) ([]byte, error) {
		c := queens.Chunk{Range: queens.Range{First: 1 << 40, Tasks: uint64(tasks)},
			Board: queens.FullBoard(32)}
		for i := range tasks {
			c.Prefixes = append(c.Prefixes, []queens.Prefix{{Row: i % 2, Cols: uint32(i % 2)}})
		}
		return reply(queens.WorkReply{Chunks: []queens.Chunk{c}})
	}
	data, on := chunk(queens.MaxChunkTasks)
	_, beyond := chunk(queens.MaxChunkTasks + 1)
	edge("tasks of a chunk", on, beyond)
	if most := EncodedChunkBytes(queens.MaxChunkTasks, queens.MaxChunkTasks); len(data) > most ||
		most > len(data)*5/4 {
		t.Errorf("a chunk of %d bytes is bounded by %d", len(data), most)
	}

	text := func(length int) error {
		data, _ := proto.Marshal(
			&nqueensv1.WorkReply{Protocol: Protocol, Instance: 1, Refused: strings.Repeat("x", length)})
		_, err := DecodeWorkReply(data)
		return err
	}
	edge("a text", text(maxText), text(maxText+1))
	for _, letter := range []string{"x", "é"} {
		long := strings.Repeat(letter, maxText/len(letter)+1)
		if short := encodeText(long); len(short) > maxText || len(short) < maxText*3/4-1 ||
			!strings.HasPrefix(long, short) {
			t.Errorf("a text of %d bytes is cut to %d", len(long), len(short))
		}
	}

	if exact := strings.Repeat("x", maxText); encodeText(exact) != exact {
		t.Error("a text of the greatest length is cut")
	}
	long := queens.WorkRequest{Threads: 1, Searchers: 1, Number: 1, Connection: 1, Kernel: "k",
		Held: make([]queens.Held, MaxFromWorker/22-4)}
	for i := range long.Held {
		long.Held[i].Tasks = 1
	}
	plain, _ := EncodeRequest(&long)
	long.Kernel = strings.Repeat("k", 1+MaxFromWorker-len(plain))
	on = request(long)
	long.Kernel += "k"
	edge("a work request", on, request(long))

	s := someSnapshot()
	s.WorkerList = nil
	snapshot, _ := encodeSnapshot(s)
	space := strings.Repeat(" ", queens.MaxSnapshotBytes-len(snapshot))
	_, on = DecodeSnapshot("r", append(snapshot, space...))
	_, beyond = DecodeSnapshot("r", append(snapshot, space+" "...))
	edge("a snapshot", on, beyond)
}

// Unknown fields are found anywhere in a message. A reply without an instance is refused, and so is
// a receipt that says nothing.
func TestRefusedAnywhere(t *testing.T) {
	unknown := []byte{15 << 3, 1}
	held := &nqueensv1.Held{Tasks: 1, Ticket: make([]byte, 16)}
	held.ProtoReflect().SetUnknown(unknown)
	inside := &nqueensv1.WorkRequest{Number: 1, Connection: 1, Threads: 1, Searchers: 1}
	inside.ProtoReflect().SetUnknown(unknown)
	plain := &nqueensv1.Held{Tasks: 1, Ticket: make([]byte, 16)}
	repeated := []*nqueensv1.Held{plain, held, plain}
	for _, request := range []*nqueensv1.WorkRequest{
		inside, {Number: 1, Connection: 1, Threads: 1, Searchers: 1, Held: repeated},
	} {
		data, _ := proto.Marshal(&nqueensv1.FromWorker{Protocol: Protocol, Request: request})
		if _, err := DecodeFromWorker(data); err == nil {
			t.Errorf("%v is accepted", request)
		}
	}
	whole, _ := EncodeDeliveryReply(&someReceipts)
	for name, field := range map[string][]byte{"an unknown": unknown, "half an unknown": unknown[:1],
		"a second": {1 << 3, Protocol}} {
		if _, err := DecodeDeliveryReply(append(slices.Clone(whole), field...)); err == nil {
			t.Errorf("a delivery reply with %s field is accepted", name)
		}
	}
	for _, r := range []*nqueensv1.DeliveryReply{{}, {Instance: 1, Receipts: []*nqueensv1.Receipt{{}}}, {Instance: 1, Receipts: []*nqueensv1.Receipt{{Recorded: true, Refused: "no"}}}} {
		r.Protocol = Protocol
		data, _ := proto.Marshal(r)
		if _, err := DecodeDeliveryReply(data); err == nil {
			t.Errorf("%v is accepted", r)
		}
	}
	data, _ := encodeSnapshot(someSnapshot())
	for name, text := range map[string]string{
		"invalid":               strings.Replace(string(data), `"done":2`, `"done":6`, 1),
		"of another run":        strings.Replace(string(data), `"r"`, `"s"`, 1),
		"with an unknown field": strings.Replace(string(data), `"done"`, `"x":1,"done"`, 1),
		"twice":                 string(data) + string(data), "half": string(data[:len(data)/2]),
	} {
		if s, err := DecodeSnapshot("r", []byte(text)); err == nil {
			t.Errorf("a snapshot %s is accepted: %+v", name, s)
		}
	}
	// The decoder keeps the first error.
	var d decoder
	d.check(false, "first")
	d.check(false, "second")
	if d.err == nil || d.err.Error() != "first" {
		t.Error(d.err)
	}
}

// A delivery is told from other messages before it is decoded.
func TestIsDelivery(t *testing.T) {
	delivery, err := EncodeDelivery(&queens.Delivery{Results: make([]queens.Result, 1)})
	if err != nil || !IsDelivery(delivery) {
		t.Errorf("a delivery is none (%v)", err)
	}
	request, err := EncodeRequest(&queens.WorkRequest{Number: 3, Held: make([]queens.Held, 3)})
	if err != nil || IsDelivery(request) {
		t.Errorf("a request is a delivery (%v)", err)
	}
	for i := range delivery[:2] {
		if IsDelivery(delivery[:i]) || IsDelivery(delivery[:len(delivery)-1]) {
			t.Error("a part of a message is a delivery")
		}
	}
}
