package bus

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	nqueensv1 "nqueens/proto/nqueens/v1"

	"nqueens/pkg/identity"
	"nqueens/pkg/identity/identitytest"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/testkit"
)

// Any bytes may arrive. No decoder panics; what it returns is valid, of the subject's run,
// and the same after another round trip.

func FuzzDecodeChunk(f *testing.F) {
	rng := testkit.Rand(f)
	for range 20 {
		c := randomChunk(rng)
		f.Add(taskSubject(c.Run), must(encodeChunk(&c)))
	}
	m := chunkMessage()
	m.Protocol++
	f.Add("nq.task.n8-a", must(proto.Marshal(m)))
	f.Add("nq.result.n8-a", must(proto.Marshal(resultMessage())))
	f.Add("", []byte{})
	f.Add("nq.task.>", []byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))
	f.Fuzz(func(t *testing.T, subject string, data []byte) {
		check := func(subject string, data []byte) {
			checkDecoded(t, subject, data, decodeChunk, encodeChunk, func(c *run.Chunk) string { return taskSubject(c.Run) })
		}
		check(subject, data)
		if subject, data, ok := repaired(data); ok {
			check(subject, data)
		}
	})
}

// checkDecoded checks what is decoded of any bytes, if they are no error.
func checkDecoded[T any, P interface {
	*T
	Validate() error
}](t *testing.T, subject string, data []byte, decode func(string, []byte) (T, error), encode func(P) ([]byte, error), subjectOf func(P) string) {
	value, err := decode(subject, data)
	if err != nil {
		return
	}
	if err := P(&value).Validate(); err != nil {
		t.Fatalf("what is read is not valid: %v", err)
	}
	if want := subjectOf(&value); subject != want {
		t.Fatalf("a message for %s is read on %s", want, subject)
	}
	again, err := decode(subject, must(encode(&value)))
	if err != nil || !reflect.DeepEqual(again, value) {
		t.Fatalf("%+v sent again arrives as %+v (error %v)", value, again, err)
	}
}

// repaired gives a chunk message its right subject, version, size and hashes, as an attacker
// would: random bytes would never pass the check of the hashes.
func repaired(data []byte) (subject string, _ []byte, ok bool) {
	var m nqueensv1.Chunk
	if proto.Unmarshal(data, &m) != nil || m.GetN() > queens.MaxN || len(m.GetAllow()) != int(m.GetN()) {
		return "", nil, false
	}
	board := queens.Board{N: int(m.GetN())}
	copy(board.Allow[:], m.GetAllow())
	for i, task := range m.GetTasks() {
		prefixes, err := decodePrefixes(task)
		if err != nil {
			return "", nil, false
		}
		t := queens.Task{ID: m.GetFirst() + uint64(i), Board: board, Prefixes: prefixes}
		task.Hash = t.Hash()
	}
	m.Protocol, m.Size = Protocol, uint32(len(m.GetTasks()))
	data, err := proto.Marshal(&m)
	return taskSubject(m.GetRun()), data, err == nil
}

func FuzzDecodeResult(f *testing.F) {
	rng := testkit.Rand(f)
	for range 20 {
		r := randomResult(rng)
		f.Add(resultSubject(r.Run), must(encodeResult(&r)))
	}
	m := resultMessage()
	m.Protocol++
	f.Add("nq.result.n8-a", must(proto.Marshal(m)))
	f.Add("nq.task.n8-a", must(proto.Marshal(chunkMessage())))
	f.Add("", []byte{})
	f.Fuzz(func(t *testing.T, subject string, data []byte) {
		checkDecoded(t, subject, data, decodeResult, encodeResult, func(r *run.ChunkResult) string { return resultSubject(r.Run) })
	})
}

func FuzzDecodeHeartbeat(f *testing.F) {
	rng := testkit.Rand(f)
	for range 20 {
		h := randomHeartbeat(rng)
		f.Add(must(heartbeatStatement(&h)))
	}
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := decodeHeartbeat("", data); err == nil {
			t.Fatal("a heartbeat is read that nobody has signed")
		}
		h, err := parseHeartbeat(data)
		if err != nil {
			return
		}
		if err := h.Validate(); err != nil {
			t.Fatalf("what is read is not valid: %v", err)
		}
		again, err := parseHeartbeat(must(heartbeatStatement(&h)))
		if err != nil || !reflect.DeepEqual(again, h) {
			t.Fatalf("%+v sent again arrives as %+v (error %v)", h, again, err)
		}
	})
}

func FuzzDecodeAnnouncement(f *testing.F) {
	rng := testkit.Rand(f)
	for range 20 {
		b := randomAnnouncement(rng)
		f.Add(announcementSubject(b.Run), must(encodeAnnouncement(&b)))
	}
	m := announcementMessage()
	m.Protocol++
	f.Add("nq.live.n8-a", must(json.Marshal(m)))
	f.Add("", []byte{})
	f.Fuzz(func(t *testing.T, subject string, data []byte) {
		checkDecoded(t, subject, data, decodeAnnouncement, encodeAnnouncement, func(a *run.Announcement) string { return announcementSubject(a.Run) })
	})
}

func FuzzDecodeRecord(f *testing.F) {
	board := queens.FullBoard(2)
	seed := storedRecord{Claim: "x", Record: run.Record{Run: "n8-a", State: run.Running, Epoch: 1, Redundancy: 1, Manifest: queens.Manifest{
		N: 2, Tasks: 1, Classes: []queens.ClassPlan{{Class: queens.Class{Board: board, Weight: 1}, Depth: 1, Batch: 2}},
	}}}
	data := must(encodeRecord(seed))
	f.Add("n8-a", data)
	f.Add("n8-b", data)
	f.Add("n8-a", bytes.Replace(data, []byte(fmt.Sprintf(`"protocol":%d`, Protocol)), []byte(`"protocol":2`), 1))
	f.Add("n8-a", bytes.Replace(data, []byte("running"), []byte("flying"), 1))
	f.Add("n8-a", bytes.Replace(data, []byte(`"epoch":1`), []byte(`"epoch":0`), 1))
	f.Add("n8-a", bytes.Replace(data, []byte(`"epoch":1`), []byte(`"epoch":18446744073709551615`), 1))
	f.Add("", []byte("{}"))
	f.Fuzz(func(t *testing.T, run string, data []byte) {
		stored, err := decodeRecord(run, data)
		if err != nil {
			return
		}
		if err := stored.Manifest.Validate(); err != nil || stored.Run != run || stored.Epoch == 0 || stored.Epoch+1 == 0 {
			t.Fatalf("what is read is not valid: %+v (error %v)", stored, err)
		}
		again, err := decodeRecord(run, must(encodeRecord(*stored)))
		if err != nil || again.Run != stored.Run || again.State != stored.State || again.Epoch != stored.Epoch || again.Claim != stored.Claim ||
			!reflect.DeepEqual(again.Manifest, stored.Manifest) {
			t.Fatalf("%+v stored again is %+v (error %v)", stored, again, err)
		}
	})
}

// Random valid values, as seeds and for tests of round trips.

func randomChunk(rng *rand.Rand) run.Chunk {
	c := run.Chunk{
		Run:      randomRun(rng),
		ID:       1 + rng.Uint64()>>(1+rng.IntN(63)),
		Suspect:  rng.IntN(2) == 1,
		Board:    queens.Board{N: 1 + rng.IntN(queens.MaxN)},
		First:    rng.Uint64() >> (1 + rng.IntN(63)),
		Manifest: randomHash(rng),
		Tasks:    make([][]queens.Prefix, 1+rng.IntN(5)),
	}
	for row := range c.Board.N {
		c.Board.Allow[row] = rng.Uint32() & c.Board.Columns()
	}
	for i := range c.Tasks {
		c.Tasks[i] = make([]queens.Prefix, 1+rng.IntN(20))
		row, sameRow := rng.IntN(c.Board.N+1), rng.IntN(2) == 1
		for j := range c.Tasks[i] {
			if !sameRow {
				row = rng.IntN(c.Board.N + 1)
			}
			p := queens.Prefix{Row: row, Left: rng.Uint32() & c.Board.Columns(), Right: rng.Uint32() & c.Board.Columns()}
			for _, column := range rng.Perm(c.Board.N)[:row] {
				p.Cols |= 1 << column
			}
			c.Tasks[i][j] = p
		}
	}
	return c
}

func randomRun(rng *rand.Rand) string {
	return run.NewName(1+rng.IntN(queens.MaxN), time.Unix(rng.Int64N(1<<32), 0))
}

func randomResult(rng *rand.Rand) run.ChunkResult {
	r := run.ChunkResult{
		Run:    randomRun(rng),
		Chunk:  1 + rng.Uint64()>>(1+rng.IntN(63)),
		First:  rng.Uint64() >> (1 + rng.IntN(63)),
		Worker: randomName(rng, 1), Counted: time.Unix(0, rng.Int64()),
		Manifest: randomHash(rng),
	}
	kernel := randomName(rng, 1)
	for range 1 + rng.IntN(8) {
		if rng.IntN(3) == 0 {
			kernel = randomName(rng, 1)
		}
		r.Counts = append(r.Counts, run.TaskCount{
			Hash: rng.Uint64(), Count: rng.Uint64() >> rng.IntN(64), Kernel: kernel,
			Elapsed: time.Duration(rng.Int64() >> rng.IntN(63)),
		})
	}
	if rng.IntN(2) == 0 {
		r.Admission = identity.Admission([]byte("token"), r.Worker)
	}
	return *identitytest.Seal(&r)
}

func randomHash(rng *rand.Rand) (hash queens.ManifestHash) {
	for i := range hash {
		hash[i] = byte(rng.Uint32())
	}
	return hash
}

func randomAnnouncement(rng *rand.Rand) run.Announcement {
	b := run.Announcement{
		Run: randomRun(rng), Epoch: 1 + rng.Uint64()>>(2+rng.IntN(61)),
		State:   []run.State{run.Running, run.Stopped, run.Complete, run.Cancelled}[rng.IntN(4)],
		Waiting: rng.IntN(1 << 20), Weight: rng.IntN(5), Threads: rng.IntN(1 << 20),
	}
	for range rng.IntN(5) {
		b.Obsolete = append(b.Obsolete, rng.Uint64()|1)
	}
	for i := range rng.IntN(4) {
		b.Quarantined = append(b.Quarantined, identitytest.Of(fmt.Sprint("w", i)).Key())
	}
	return b
}

func randomHeartbeat(rng *rand.Rand) run.Heartbeat {
	h := run.Heartbeat{
		Worker:  randomName(rng, 1),
		Version: randomName(rng, 0),
		Kernel:  randomName(rng, 0),
		Threads: 1 + rng.IntN(1<<16),
		Leaving: rng.IntN(2) == 1,
	}
	h.Busy = rng.IntN(h.Threads + 1)
	h.Paused = randomName(rng, 0)
	h.Sent = time.Unix(0, 1+rng.Int64()).UTC()
	if rng.IntN(2) == 0 {
		h.Admission = []byte("proof")
	}
	for range rng.IntN(4) {
		h.Held = append(h.Held, run.HeldChunk{
			Run: randomRun(rng), Chunk: rng.Uint64()>>rng.IntN(64) | 1, Searching: rng.IntN(2) == 1,
			Elapsed: time.Duration(rng.Int64() >> rng.IntN(63)),
		})
	}
	return h
}

// randomName returns atLeast to 40 letters of one to three bytes.
func randomName(rng *rand.Rand, atLeast int) string {
	name := make([]rune, atLeast+rng.IntN(40))
	for i := range name {
		name[i] = []rune("aZ0-_. *>\"é女")[rng.IntN(12)]
	}
	return string(name)
}
