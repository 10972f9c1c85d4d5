package bus

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nkeys"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	nqueensv1 "nqueens/proto/nqueens/v1"

	"nqueens/pkg/identity"
	"nqueens/pkg/identity/identitytest"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// Well-formed messages with impossible content are rejected with the reason, before anything
// is computed from the content.

func TestHostileChunksAreRejected(t *testing.T) {
	task := func(change func(*nqueensv1.TaskPrefixes)) func(*nqueensv1.Chunk) {
		return func(m *nqueensv1.Chunk) { change(m.Tasks[1]) }
	}
	prefix := func(row, cols, left, right uint32) func(*nqueensv1.Chunk) {
		return task(func(m *nqueensv1.TaskPrefixes) {
			m.Row, m.Cols, m.Left, m.Right = []uint32{row}, []uint32{cols}, []uint32{left}, []uint32{right}
		})
	}
	for name, c := range map[string]struct {
		change func(*nqueensv1.Chunk)
		want   string
	}{
		"no side":                  {func(m *nqueensv1.Chunk) { m.N, m.Allow = 0, nil }, "from 1 to 32, not 0"},
		"side 33":                  {func(m *nqueensv1.Chunk) { m.N, m.Allow = 33, make([]uint32, 33) }, "side 33"},
		"side 2^32-1":              {func(m *nqueensv1.Chunk) { m.N = math.MaxUint32 }, "side 4294967295"},
		"too few rows":             {func(m *nqueensv1.Chunk) { m.Allow = m.Allow[1:] }, "side 8 with 7 rows"},
		"too many rows":            {func(m *nqueensv1.Chunk) { m.Allow = append(m.Allow, 0) }, "side 8 with 9 rows"},
		"many rows":                {func(m *nqueensv1.Chunk) { m.Allow = make([]uint32, 100_000) }, "with 100000 rows"},
		"no rows":                  {func(m *nqueensv1.Chunk) { m.Allow = nil }, "side 8 with 0 rows"},
		"squares beyond the board": {func(m *nqueensv1.Chunk) { m.Allow[3] = 1 << 8 }, "beyond a board of side 8"},
		"columns beyond the board": {prefix(1, 1<<8, 0, 0), "passes a board of side 8"},
		"left beyond the board":    {prefix(0, 0, 1<<31, 0), "passes a board of side 8"},
		"right beyond the board":   {prefix(0, 0, 0, 1<<8), "passes a board of side 8"},
		"a row beyond the board":   {prefix(9, 0x1ff, 0, 0), "9 rows on a board of side 8"},
		"row 2^31":                 {prefix(1<<31, 0, 0, 0), "rows on a board of side 8"},
		"row 2^32-1":               {prefix(math.MaxUint32, 0, 0, 0), "rows on a board of side 8"},
		"fewer columns than rows":  {prefix(2, 1, 0, 0), "2 rows with 1 columns"},
		"more columns than rows":   {prefix(1, 3, 0, 0), "1 rows with 2 columns"},
		"no prefix":                {task(func(m *nqueensv1.TaskPrefixes) { m.Reset() }), "0 prefixes"},
		"a row alone":              {task(func(m *nqueensv1.TaskPrefixes) { cut(m, 0) }), "0 prefixes"},
		"no row":                   {task(func(m *nqueensv1.TaskPrefixes) { m.Row = nil }), "with 0 rows"},
		"a row too many":           {task(func(m *nqueensv1.TaskPrefixes) { m.Row = []uint32{1, 1, 1} }), "with 3 rows"},
		"a column less":            {task(func(m *nqueensv1.TaskPrefixes) { m.Cols = m.Cols[1:] }), "lists of 1, 2 and 2"},
		"a left diagonal less":     {task(func(m *nqueensv1.TaskPrefixes) { m.Left = m.Left[1:] }), "lists of 2, 1 and 2"},
		"a right diagonal more":    {task(func(m *nqueensv1.TaskPrefixes) { m.Right = append(m.Right, 0) }), "lists of 2, 2 and 3"},
		"too many prefixes": {task(func(m *nqueensv1.TaskPrefixes) {
			many := make([]uint32, queens.MaxBatch+1)
			m.Row, m.Cols, m.Left, m.Right = []uint32{0}, many, many, many
		}), "16385 prefixes"},
		"no manifest":      {func(m *nqueensv1.Chunk) { m.Manifest = nil }, "hash of 0 bytes"},
		"a giant manifest": {func(m *nqueensv1.Chunk) { m.Manifest = make([]byte, 1<<20) }, "hash of 1048576 bytes"},
		"no id":            {func(m *nqueensv1.Chunk) { m.Id = 0 }, "has no id"},
		"no tasks":         {func(m *nqueensv1.Chunk) { m.Size, m.Tasks = 0, nil }, "0 tasks"},
		"too many tasks": {func(m *nqueensv1.Chunk) {
			m.Size, m.Tasks = run.MaxChunk+1, make([]*nqueensv1.TaskPrefixes, run.MaxChunk+1)
		}, "4097 tasks"},
		"a task less":            {func(m *nqueensv1.Chunk) { m.Tasks = m.Tasks[:1] }, "chunk of 2 tasks has 1"},
		"a task more":            {func(m *nqueensv1.Chunk) { m.Size = 1 }, "chunk of 1 tasks has 2"},
		"ids that overflow":      {func(m *nqueensv1.Chunk) { m.First = math.MaxUint64 }, "overflow"},
		"no run":                 {func(m *nqueensv1.Chunk) { m.Run = "" }, "run name"},
		"a run of two tokens":    {func(m *nqueensv1.Chunk) { m.Run = "n8.a" }, "run name"},
		"a wild run":             {func(m *nqueensv1.Chunk) { m.Run = "*" }, "run name"},
		"every run":              {func(m *nqueensv1.Chunk) { m.Run = ">" }, "run name"},
		"a run that is a path":   {func(m *nqueensv1.Chunk) { m.Run = "../../etc" }, "run name"},
		"a run that is a flag":   {func(m *nqueensv1.Chunk) { m.Run = "-rf" }, "run name"},
		"a run in capitals":      {func(m *nqueensv1.Chunk) { m.Run = "N8" }, "run name"},
		"a run with a line feed": {func(m *nqueensv1.Chunk) { m.Run = "n8\n" }, "run name"},
		"a run of 65 letters":    {func(m *nqueensv1.Chunk) { m.Run = strings.Repeat("n", 65) }, "run name"},
		"a giant run":            {func(m *nqueensv1.Chunk) { m.Run = strings.Repeat("n", 1<<20) }, "run name"},
	} {
		m := chunkMessage()
		c.change(m)
		chunk, err := decodeChunk(taskSubject(m.Run), must(proto.Marshal(m)))
		checkRejected(t, name, c.want, err)
		if len(chunk.Tasks) != 0 || chunk.Run != "" {
			t.Errorf("%s: a chunk comes with the error", name)
		}
	}
}

// A worker may sign anything: what is impossible is refused.
func TestHostileResultsAreRejected(t *testing.T) {
	giant := strings.Repeat("x", 1<<20)
	for name, c := range map[string]struct {
		change func(*run.ChunkResult)
		want   string
	}{
		"no run":                           {func(r *run.ChunkResult) { r.Run = "" }, "run name"},
		"every run":                        {func(r *run.ChunkResult) { r.Run = ">" }, "run name"},
		"a giant run":                      {func(r *run.ChunkResult) { r.Run = giant }, "result of 1048"},
		"a run of 129 bytes":               {func(r *run.ChunkResult) { r.Run = giant[:129] }, "truncated, or has a number that is too large"},
		"no chunk":                         {func(r *run.ChunkResult) { r.Chunk = 0 }, "names no chunk"},
		"no counts":                        {func(r *run.ChunkResult) { r.Counts = nil }, "0 counts"},
		"too many counts":                  {func(r *run.ChunkResult) { r.Counts = slices.Repeat(r.Counts[:1], run.MaxChunk+1) }, "too large"},
		"ids that overflow":                {func(r *run.ChunkResult) { r.First = math.MaxUint64 }, "overflow"},
		"no worker":                        {func(r *run.ChunkResult) { r.Worker = "" }, "does not name its worker"},
		"a worker of 129 bytes":            {func(r *run.ChunkResult) { r.Worker = giant[:129] }, "too large"},
		"a worker with an escape sequence": {func(r *run.ChunkResult) { r.Worker = "\x1b[2J" }, "can't be shown"},
		"the coordinator":                  {func(r *run.ChunkResult) { r.Worker = run.Referee }, "name of the coordinator"},
		"no kernel":                        {func(r *run.ChunkResult) { r.Counts[0].Kernel = "" }, "does not name its worker and kernel"},
		"a kernel of 129 bytes":            {func(r *run.ChunkResult) { r.Counts[1].Kernel = giant[:129] }, "too large"},
		"65 kernels": {func(r *run.ChunkResult) {
			r.Counts = slices.Repeat(r.Counts[:1], 65)
			for i := range r.Counts {
				r.Counts[i].Kernel = fmt.Sprint(i)
			}
		}, "too large"},
		"negative time": {func(r *run.ChunkResult) { r.Counts[1].Elapsed = -1 }, "too large"},
	} {
		r := plainResult()
		c.change(&r)
		statement := r.Statement()
		signature := must(identitytest.Of("w").Sign(statement))
		r.Sealed = &run.Sealed{Key: identitytest.Of("w").Key(), Statement: statement, Signature: signature}
		_, err := decodeResult(resultSubject(r.Run), must(encodeResult(&r)))
		checkRejected(t, name, c.want, err)
	}
}

// A result that its worker has not signed as it is comes to nothing, and the error says why.
func TestResultsThatDoNotVerifyAreRejected(t *testing.T) {
	const changed = "was changed on the way or signed by another key"
	other, account := identitytest.Of("another"), must(must(nkeys.CreateAccount()).PublicKey())
	for name, c := range map[string]struct {
		change func(*nqueensv1.ChunkResult)
		want   string
	}{
		"a bit of the statement": {func(m *nqueensv1.ChunkResult) { m.Statement[len(m.Statement)-12] ^= 1 }, changed},
		"no statement":           {func(m *nqueensv1.ChunkResult) { m.Statement = nil }, changed},
		"no signature":           {func(m *nqueensv1.ChunkResult) { m.Signature = nil }, changed},
		"a short signature":      {func(m *nqueensv1.ChunkResult) { m.Signature = m.Signature[:63] }, changed},
		"a long signature":       {func(m *nqueensv1.ChunkResult) { m.Signature = append(m.Signature, 0) }, changed},
		"a giant signature":      {func(m *nqueensv1.ChunkResult) { m.Signature = make([]byte, 1<<20) }, "result of 1048"},
		"another key":            {func(m *nqueensv1.ChunkResult) { m.Key = other.Key() }, changed},
		"no key":                 {func(m *nqueensv1.ChunkResult) { m.Key = "" }, "no public key"},
		"the key of an account":  {func(m *nqueensv1.ChunkResult) { m.Key = account }, "no public key"},
		"a giant key":            {func(m *nqueensv1.ChunkResult) { m.Key = strings.Repeat("U", 1<<16) }, "no public key"},
		"another statement, signed": {func(m *nqueensv1.ChunkResult) {
			m.Statement = []byte("nqueens counts 2\n")
			m.Signature = must(identitytest.Of("w").Sign(m.Statement))
		}, "another format"},
		"a long admission":  {func(m *nqueensv1.ChunkResult) { m.Admission = make([]byte, 65) }, "admission of 65 bytes"},
		"a giant admission": {func(m *nqueensv1.ChunkResult) { m.Admission = make([]byte, 1<<20) }, "result of 1048"},
		"an unknown field": {func(m *nqueensv1.ChunkResult) {
			m.ProtoReflect().SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, 2, protowire.VarintType), 7))
		}, "does not know"},
	} {
		m := resultMessage()
		c.change(m)
		_, err := decodeResult(resultSubject("n8-a"), must(proto.Marshal(m)))
		checkRejected(t, name, c.want, err)
	}
}

// A result with a bit flipped is refused, wherever the bit is. Only the proof of admission is
// outside the signature: with a flipped bit it admits no key.
func TestResultsWithAFlippedBitAreRejected(t *testing.T) {
	m := resultMessage()
	subject, data := resultSubject("n8-a"), must(proto.Marshal(m))
	want, err := decodeResult(subject, data)
	if err != nil {
		t.Fatal("the message as it is: ", err)
	}
	for bit := range 8 * len(data) {
		data[bit/8] ^= 1 << (bit % 8)
		got, err := decodeResult(subject, data)
		data[bit/8] ^= 1 << (bit % 8)
		switch {
		case err != nil:
		case bytes.Equal(got.Admission, want.Admission):
			t.Errorf("with bit %d of byte %d flipped the message is read", bit%8, bit/8)
		case bit/8 < len(data)-len(want.Admission):
			t.Errorf("bit %d of byte %d is no part of the admission, and the message is read with another", bit%8, bit/8)
		}
	}
}

func TestHostileAnnouncementsAreRejected(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*wireAnnouncement)
		want   string
	}{
		"no run":            {func(m *wireAnnouncement) { m.Run = "" }, "run name"},
		"every run":         {func(m *wireAnnouncement) { m.Run = ">" }, "run name"},
		"a giant run":       {func(m *wireAnnouncement) { m.Run = strings.Repeat("n", 1<<20) }, "more than"},
		"no epoch":          {func(m *wireAnnouncement) { m.Epoch = 0 }, "the epoch 0"},
		"no state":          {func(m *wireAnnouncement) { m.State = "" }, "state"},
		"another state":     {func(m *wireAnnouncement) { m.State = "flying" }, "flying"},
		"weight 5":          {func(m *wireAnnouncement) { m.Weight = 5 }, "weight 5"},
		"2^32-1 waiting":    {func(m *wireAnnouncement) { m.Waiting = math.MaxUint32 }, "chunks waiting"},
		"less than nothing": {func(m *wireAnnouncement) { m.Waiting = -1 }, "chunks waiting"},
		"2^31 threads":      {func(m *wireAnnouncement) { m.Threads = 1 << 31 }, "chunks waiting"},
		"too many obsolete": {func(m *wireAnnouncement) { m.Obsolete = make([]uint64, run.MaxObsolete+1) }, "4097 obsolete"},
		"too many quarantined": {func(m *wireAnnouncement) {
			m.Quarantined = slices.Repeat([]string{identitytest.Of("w").Key()}, run.MaxQuarantined+1)
		}, "257 quarantined"},
		"a quarantined name": {func(m *wireAnnouncement) { m.Quarantined = []string{"w"} }, "no public key"},
		"a giant key":        {func(m *wireAnnouncement) { m.Quarantined = []string{strings.Repeat("U", 1<<17)} }, "no public key"},
		"no protocol":        {func(m *wireAnnouncement) { m.Protocol = 0 }, "without a protocol version"},
		"the first protocol": {func(m *wireAnnouncement) { m.Protocol = 1 }, "version 1"},
		"a run with a space": {func(m *wireAnnouncement) { m.Run = "n8 a" }, "run name"},
	} {
		m := announcementMessage()
		c.change(m)
		b, err := decodeAnnouncement(announcementSubject(m.Run), must(json.Marshal(m)))
		checkRejected(t, name, c.want, err)
		if b.Run != "" {
			t.Errorf("%s: an announcement comes with the error", name)
		}
	}
}

func TestHostileHeartbeatsAreRejected(t *testing.T) {
	giant := strings.Repeat("x", 1<<19)
	for name, c := range map[string]struct {
		change func(*nqueensv1.HeartbeatStatement)
		want   string
	}{
		"no worker":             {func(m *nqueensv1.HeartbeatStatement) { m.Worker = "" }, "without a name"},
		"a worker of 129 bytes": {func(m *nqueensv1.HeartbeatStatement) { m.Worker = giant[:129] }, "worker name of 129 bytes"},
		"a giant version":       {func(m *nqueensv1.HeartbeatStatement) { m.Version = giant }, "version of 524288 bytes"},
		"a giant kernel":        {func(m *nqueensv1.HeartbeatStatement) { m.Kernel = giant }, "kernel name of 524288 bytes"},
		"no threads":            {func(m *nqueensv1.HeartbeatStatement) { m.Threads = 0 }, "with 0 threads"},
		"65537 threads":         {func(m *nqueensv1.HeartbeatStatement) { m.Threads = 1<<16 + 1 }, "with 65537 threads"},
		"a chunk of no run":     {func(m *nqueensv1.HeartbeatStatement) { m.Held = []*nqueensv1.HeldChunk{{}} }, "run name"},
		"a chunk of every run": {func(m *nqueensv1.HeartbeatStatement) {
			m.Held = []*nqueensv1.HeldChunk{{Run: "n8-a", Chunk: 1}, {Run: ">", Chunk: 1}}
		}, "run name"},
		"held a negative time": {func(m *nqueensv1.HeartbeatStatement) {
			m.Held = []*nqueensv1.HeldChunk{{Run: "n8-a", Chunk: 1, ElapsedNs: 1 << 63}}
		}, "negative time"},
		"too many chunks":      {func(m *nqueensv1.HeartbeatStatement) { m.Held = make([]*nqueensv1.HeldChunk, run.MaxHeld+1) }, "of 4097 chunks"},
		"a long reason":        {func(m *nqueensv1.HeartbeatStatement) { m.Paused = giant[:129] }, "reason for a pause of 129 bytes"},
		"a reason with a bell": {func(m *nqueensv1.HeartbeatStatement) { m.Paused = "on\a battery" }, "can't be shown"},
		"an unknown field": {func(m *nqueensv1.HeartbeatStatement) {
			m.ProtoReflect().SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, 77, protowire.VarintType), 7))
		}, "does not know"},
		"no time":            {func(m *nqueensv1.HeartbeatStatement) { m.SentNs = 0 }, "sent at 0 ns"},
		"a time of no clock": {func(m *nqueensv1.HeartbeatStatement) { m.SentNs = 1 << 63 }, "sent at 9223372036854775808 ns"},
		"a long admission":   {func(m *nqueensv1.HeartbeatStatement) { m.Admission = make([]byte, 65) }, "admission of 65 bytes"},
		"2^32-1 threads":     {func(m *nqueensv1.HeartbeatStatement) { m.Threads = math.MaxUint32 }, "threads, not 1 to"},
	} {
		m := heartbeatMessage()
		statement := reread(m.Statement, new(nqueensv1.HeartbeatStatement))
		c.change(statement)
		m.Statement = must(proto.Marshal(statement))
		m.Signature = must(identitytest.Of("w").Sign(signedHeartbeat(m.Statement)))
		_, err := decodeHeartbeat("", must(proto.Marshal(m)))
		checkRejected(t, name, c.want, err)
	}
}

// Nobody speaks for the worker of another key: a heartbeat counts only if the owner of its key has signed
// what it says.
func TestHeartbeatsOfAnotherSignerAreRejected(t *testing.T) {
	giant := strings.Repeat("x", 1<<20)
	other := identitytest.Of("other")
	for name, c := range map[string]struct {
		change func(*nqueensv1.Heartbeat)
		want   string
	}{
		"unsigned":       {func(m *nqueensv1.Heartbeat) { m.Signature = nil }, "signed by another key"},
		"without a key":  {func(m *nqueensv1.Heartbeat) { m.Key = "" }, "no public key"},
		"a name as key":  {func(m *nqueensv1.Heartbeat) { m.Key = "w" }, "no public key"},
		"a giant key":    {func(m *nqueensv1.Heartbeat) { m.Key = giant }, "no public key"},
		"another key":    {func(m *nqueensv1.Heartbeat) { m.Key = other.Key() }, "signed by another key"},
		"another signer": {func(m *nqueensv1.Heartbeat) { m.Signature = must(other.Sign(signedHeartbeat(m.Statement))) }, "signed by another key"},
		"a result's signature": {func(m *nqueensv1.Heartbeat) {
			m.Signature = must(identitytest.Of("w").Sign(m.Statement))
		}, "signed by another key"},
		"a bit more": {func(m *nqueensv1.Heartbeat) { m.Statement = append(m.Statement, 0x28, 1) }, "changed on the way"},
		"giant":      {func(m *nqueensv1.Heartbeat) { m.Statement = make([]byte, maxHeartbeat+1) }, "of 1048577 bytes"},
		"a field more": {func(m *nqueensv1.Heartbeat) {
			m.ProtoReflect().SetUnknown([]byte{0x78, 1})
		}, "does not know"},
	} {
		m := heartbeatMessage()
		c.change(m)
		_, err := decodeHeartbeat("", must(proto.Marshal(m)))
		checkRejected(t, name, c.want, err)
	}
}

// checkRejected checks that the error says what is wrong, and is short: it is logged.
func checkRejected(t *testing.T, name, want string, err error) {
	t.Helper()
	switch {
	case err == nil || !strings.Contains(err.Error(), want):
		t.Errorf("%s: error %.200v, want one that says %q", name, err, want)
	case len(err.Error()) > 1000:
		t.Errorf("%s: the error has %d bytes", name, len(err.Error()))
	}
}

// chunkMessage returns a valid chunk of side 8 with two tasks of two prefixes, for a test to
// change.
func chunkMessage() *nqueensv1.Chunk {
	board := queens.FullBoard(8)
	prefixes := make([]queens.Prefix, 4)
	for i := range prefixes {
		prefixes[i] = queens.Prefix{}.Place(&board, 1<<i)
	}
	c := run.Chunk{Run: "n8-a", ID: 7, Board: board, First: 3, Tasks: [][]queens.Prefix{prefixes[:2], prefixes[2:]}}
	return reread(must(encodeChunk(&c)), new(nqueensv1.Chunk))
}

func plainResult() run.ChunkResult {
	return run.ChunkResult{
		Run: "n8-a", Chunk: 7, First: 3, Worker: "w", Counted: time.Unix(1_800_000_000, 5),
		Counts: []run.TaskCount{
			{Hash: 1, Count: 4, Kernel: "generic", Elapsed: 1}, {Hash: 2, Count: 5, Kernel: "generic", Elapsed: 2},
		},
		Admission: identity.Admission([]byte("token"), identitytest.Of("w").Key()),
	}
}

func resultMessage() *nqueensv1.ChunkResult {
	r := plainResult()
	return reread(must(encodeResult(identitytest.Seal(&r))), new(nqueensv1.ChunkResult))
}

func announcementMessage() *wireAnnouncement {
	return &wireAnnouncement{Protocol, run.Announcement{
		Run: "n8-a", Epoch: 1, State: run.Running, Waiting: 5, Weight: 1, Threads: 2, Obsolete: []uint64{7},
	}}
}

func heartbeatMessage() *nqueensv1.Heartbeat {
	h := run.Heartbeat{Worker: "w", Version: "1.0", Kernel: "generic", Threads: 2, Leaving: true, Sent: time.Unix(1_800_000_000, 7)}
	return reread(must(encodeHeartbeat(&h, identitytest.Of("w"))), new(nqueensv1.Heartbeat))
}

func reread[M proto.Message](data []byte, m M) M {
	if err := proto.Unmarshal(data, m); err != nil {
		panic(err)
	}
	return m
}
