package bus

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	nqueensv1 "nqueens/proto/nqueens/v1"

	"nqueens/pkg/identity/identitytest"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/testkit"
)

func TestRoundTrips(t *testing.T) {
	rng := testkit.Rand(t)
	for range 500 {
		c, r, a, h := randomChunk(rng), randomResult(rng), randomAnnouncement(rng), randomHeartbeat(rng)
		arrives(t, c, taskSubject(c.Run), must(encodeChunk(&c)), decodeChunk)
		data := must(encodeResult(&r))
		r.Counted = r.Counted.UTC()
		arrives(t, r, resultSubject(r.Run), data, decodeResult)
		arrives(t, a, announcementSubject(a.Run), must(encodeAnnouncement(&a)), decodeAnnouncement)
		data = must(encodeHeartbeat(&h, identitytest.Of("w")))
		h.Key = identitytest.Of("w").Key()
		arrives(t, h, "", data, decodeHeartbeat)
	}
}

// arrives checks that a message is decoded to that value.
func arrives[T any](t *testing.T, want T, subject string, data []byte, decode func(subject string, data []byte) (T, error)) {
	t.Helper()
	if got, err := decode(subject, data); err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%+v arrives as %+v (error %v)", want, got, err)
	}
}

// A chunk of tasks costs little more than 12 bytes a prefix: the rows and the board are sent
// once. A kernel's name is sent once a result.
func TestMessagesAreSmall(t *testing.T) {
	board := queens.FullBoard(20)
	c := run.Chunk{Run: "n20-a", ID: 1, Board: board}
	r := run.ChunkResult{Run: "n20-a", Chunk: 1, Worker: "w"}
	for range 64 {
		prefixes := make([]queens.Prefix, 50)
		for i := range prefixes {
			prefixes[i] = queens.Prefix{}.Place(&board, 1<<(i%20))
		}
		c.Tasks = append(c.Tasks, prefixes)
		r.Counts = append(r.Counts, run.TaskCount{Hash: 1 << 63, Count: 1 << 40, Elapsed: time.Second, Kernel: strings.Repeat("k", 50)})
	}
	if size := len(must(encodeChunk(&c))); size > 64*(50*12+30)+200 {
		t.Errorf("a chunk of 64 tasks of 50 prefixes has %d bytes", size)
	}
	if size := len(must(encodeResult(identitytest.Seal(&r)))); size > 64*30+200 {
		t.Errorf("a result of 64 counts has %d bytes", size)
	}
}

// Worker names that are invalid UTF-8 or contain control characters are sanitized, so that
// the result is not lost.
func TestWorkerNamesAreSanitized(t *testing.T) {
	r, h := randomResult(testkit.Rand(t)), run.Heartbeat{Worker: "rack\xff7\x1b[2J", Threads: 1, Sent: time.Unix(0, 1)}
	r.Worker = h.Worker
	identitytest.Seal(&r)
	got, err := decodeResult(resultSubject(r.Run), must(encodeResult(&r)))
	if err != nil || got.Worker != "rack?7?[2J" {
		t.Errorf("the result's worker is %q (error %v)", got.Worker, err)
	}
	announcement, err := decodeHeartbeat("", must(encodeHeartbeat(&h, identitytest.Of("w"))))
	if err != nil || announcement.Worker != "rack?7?[2J" {
		t.Errorf("the heartbeat's worker is %q (error %v)", announcement.Worker, err)
	}
}

func TestMessagesOnAnotherSubjectAreRejected(t *testing.T) {
	rng := testkit.Rand(t)
	chunk, result, announcement := randomChunk(rng), randomResult(rng), randomAnnouncement(rng)
	chunk.Run, result.Run, announcement.Run = "n8-a", "n8-a", "n8-a"
	identitytest.Seal(&result)
	decode := map[string]func(subject string) error{
		taskSubject("n8-a"): func(subject string) error {
			_, err := decodeChunk(subject, must(encodeChunk(&chunk)))
			return err
		},
		resultSubject("n8-a"): func(subject string) error {
			_, err := decodeResult(subject, must(encodeResult(&result)))
			return err
		},
		announcementSubject("n8-a"): func(subject string) error {
			_, err := decodeAnnouncement(subject, must(encodeAnnouncement(&announcement)))
			return err
		},
	}
	for right, read := range decode {
		for _, subject := range []string{
			"", "n8-a", "nq.task.", "nq.result.", "nq.live.", "nq.task.n8", "nq.result.n8-a-b", "nq.live.n8-b",
			"nq.task.*", "nq.result.>", "nq.task.n8-a.x", "nq.hb.n8-a", "nq.task.N8-A",
			taskSubject("n8-a"), resultSubject("n8-a"), announcementSubject("n8-a"),
		} {
			if err := read(subject); (err == nil) != (subject == right) {
				t.Errorf("the message for %s is read on subject %q: error %v", right, subject, err)
			}
		}
	}
}

// A chunk is rejected if any part of it differs from what was hashed.
func TestChunksWithAWrongHashAreRejected(t *testing.T) {
	for name, change := range map[string]func(*nqueensv1.Chunk){
		"hash":            func(m *nqueensv1.Chunk) { m.Tasks[1].Hash++ },
		"no hash":         func(m *nqueensv1.Chunk) { m.Tasks[0].Hash = 0 },
		"first id":        func(m *nqueensv1.Chunk) { m.First++ },
		"side":            func(m *nqueensv1.Chunk) { m.N++; m.Allow = append(m.Allow, 0) },
		"allowed squares": func(m *nqueensv1.Chunk) { m.Allow[7] ^= 1 },
		"diagonal":        func(m *nqueensv1.Chunk) { m.Tasks[1].Left[1] ^= 1 },
		"other diagonal":  func(m *nqueensv1.Chunk) { m.Tasks[1].Right[0] ^= 1 },
		"column":          func(m *nqueensv1.Chunk) { m.Tasks[0].Cols[0] = 8 },
		"order of columns": func(m *nqueensv1.Chunk) {
			m.Tasks[0].Cols[0], m.Tasks[0].Cols[1] = m.Tasks[0].Cols[1], m.Tasks[0].Cols[0]
		},
		"order of tasks": func(m *nqueensv1.Chunk) { m.Tasks[0], m.Tasks[1] = m.Tasks[1], m.Tasks[0] },
		"a task twice":   func(m *nqueensv1.Chunk) { m.Tasks = append(m.Tasks, m.Tasks[0]); m.Size++ },
		"a first task less": func(m *nqueensv1.Chunk) {
			m.Tasks = m.Tasks[1:]
			m.Size--
		},
		"a prefix less":   func(m *nqueensv1.Chunk) { cut(m.Tasks[1], 1) },
		"a prefix twice":  func(m *nqueensv1.Chunk) { add(m.Tasks[1], m.Tasks[1].Cols[1], m.Tasks[1].Left[1], m.Tasks[1].Right[1]) },
		"an empty prefix": func(m *nqueensv1.Chunk) { m.Tasks[0].Row = []uint32{1, 1, 0}; add(m.Tasks[0], 0, 0, 0) },
	} {
		m := chunkMessage()
		change(m)
		_, err := decodeChunk(taskSubject(m.Run), must(proto.Marshal(m)))
		if err == nil || !strings.Contains(err.Error(), "says hash") {
			t.Errorf("a chunk with another %s than was hashed: error %v", name, err)
		}
	}
}

// cut keeps that many prefixes of a task.
func cut(m *nqueensv1.TaskPrefixes, keep int) {
	m.Cols, m.Left, m.Right = m.Cols[:keep], m.Left[:keep], m.Right[:keep]
}

func add(m *nqueensv1.TaskPrefixes, cols, left, right uint32) {
	m.Cols, m.Left, m.Right = append(m.Cols, cols), append(m.Left, left), append(m.Right, right)
}

// A chunk's row is that of all its prefixes, or there is one a prefix: both are read.
func TestRowsOfPrefixesMayDiffer(t *testing.T) {
	m := chunkMessage()
	m.Tasks[0].Row = []uint32{1, 1}
	got, err := decodeChunk(taskSubject(m.Run), must(proto.Marshal(m)))
	want, wantErr := decodeChunk(taskSubject(m.Run), must(proto.Marshal(chunkMessage())))
	if err != nil || wantErr != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("with a row a prefix %+v arrives as %+v (errors %v, %v)", want, got, wantErr, err)
	}
}

// A bit that flips in transit never changes what is counted. A worker that reads the hash of
// another manifest signs that one, and the coordinator refuses its counts.
func TestFlippedBitsNeverChangeWhatIsCounted(t *testing.T) {
	m := chunkMessage()
	subject, data := taskSubject(m.Run), must(proto.Marshal(m))
	want, err := decodeChunk(subject, data)
	if err != nil {
		t.Fatal(err)
	}
	for bit := range 8 * len(data) {
		data[bit/8] ^= 1 << (bit % 8)
		got, err := decodeChunk(subject, data)
		data[bit/8] ^= 1 << (bit % 8)
		if err != nil {
			continue
		}
		got.ID, got.Suspect, got.Manifest = want.ID, want.Suspect, want.Manifest // are not what is counted
		if !reflect.DeepEqual(got, want) {
			t.Errorf("with bit %d flipped, %+v arrives as %+v", bit, want, got)
		}
	}
}

// A truncated chunk or result is always rejected; other truncated messages are rejected or valid.
func TestTruncatedMessagesAreRejected(t *testing.T) {
	chunk := chunkMessage()
	data := must(proto.Marshal(chunk))
	for end := range data {
		if _, err := decodeChunk(taskSubject(chunk.Run), data[:end]); err == nil {
			t.Errorf("the first %d of a chunk's %d bytes are read as a chunk", end, len(data))
		}
	}
	result := resultMessage()
	result.Admission = nil // would be optional
	data = must(proto.Marshal(result))
	for end := range data {
		if _, err := decodeResult(resultSubject("n8-a"), data[:end]); err == nil {
			t.Errorf("the first %d of a result's %d bytes are read as a result", end, len(data))
		}
	}
	data = must(proto.Marshal(heartbeatMessage()))
	for end := range data {
		if h, err := decodeHeartbeat("", data[:end]); err == nil && h.Validate() != nil {
			t.Errorf("the first %d of a heartbeat's %d bytes: %v", end, len(data), h.Validate())
		}
	}
	announcement := announcementMessage()
	data = must(json.Marshal(announcement))
	for end := range data {
		if b, err := decodeAnnouncement(announcementSubject(announcement.Run), data[:end]); err == nil && b.Validate() != nil {
			t.Errorf("the first %d of an announcement's %d bytes: %v", end, len(data), b.Validate())
		}
	}
}

func TestGarbageIsRejected(t *testing.T) {
	rng := testkit.Rand(t)
	for length := range 300 {
		data := make([]byte, length)
		for i := range data {
			data[i] = byte(rng.Uint32())
		}
		_, chunkErr := decodeChunk("nq.task.x", data)
		_, resultErr := decodeResult("nq.result.x", data)
		_, heartbeatErr := decodeHeartbeat("", data)
		_, announcementErr := decodeAnnouncement("nq.live.x", data)
		if chunkErr == nil || resultErr == nil || heartbeatErr == nil || announcementErr == nil {
			t.Errorf("garbage %x: errors %v, %v, %v, %v", data, chunkErr, resultErr, heartbeatErr, announcementErr)
		}
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
