//go:build unix

package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"nqueens/pkg/bus"
	"nqueens/pkg/identity"
	"nqueens/pkg/identity/identitytest"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	nqueensv1 "nqueens/proto/nqueens/v1"
)

// allAttacks returns all that the client sends.
func (h *hostile) allAttacks() []attack {
	return []attack{
		{"request for chunks", "", h.take},
		{"request with a forbidden reply subject", "", h.misdirect},
		{"acknowledgement of a guessed chunk", "", h.acknowledge},
		{"result with wrong counts", "", func(run string) int { return h.report(run, h.identity(), nil, nil) }},
		{"vote of one of many keys", "", h.vote},
		{"result with a wrong signature", "", h.forgeSignature},
		{"result of something else", "", h.reportOther},
		{"result of another run", "", h.reportForeign},
		{"result replayed", "", h.replay},
		{"heartbeat with 60000 chunks", "", h.holdTooMany},
		{"heartbeat with a strange name", "", h.strangeNames},
		{"heartbeat that holds chunks of others", "", h.pretendToHold},
		{"garbage", "", h.litter},
		{"task", "nq.task", h.poison},
		{"progress", "nq.progress", h.forgeProgress},
		{"announcement", "nq.live", h.forgeAnnouncement},
		{"record", "$KV.nq_runs", h.forgeRecord},
		{"request to change streams", "$JS.API", h.administer},
	}
}

func pull(run string) string { return "$JS.API.CONSUMER.MSG.NEXT.NQ_TASKS." + run }

// take requests some chunks.
func (h *hostile) take(run string) int {
	return h.publish(pull(run), h.inbox.Subject, fmt.Appendf(nil, `{"batch":%d,"no_wait":true}`, 1+h.rng.IntN(3)))
}

// misdirect requests answers to where a worker may not publish.
func (h *hostile) misdirect(run string) (sent int) {
	for _, to := range []string{"nq.task." + run, "nq.live." + run, "nq.progress." + run, "$KV.nq_runs." + run, "$JS.API.STREAM.DELETE.NQ_TASKS"} {
		if h.soak.keys == nil && strings.HasPrefix(to, "$JS") {
			continue
		}
		sent += h.publish(pull(run), to, []byte(`{"batch":1,"no_wait":true}`))
	}
	return sent
}

// acknowledge acknowledges chunks that the client has not taken, by the subjects that they may have.
func (h *hostile) acknowledge(run string) (sent int) {
	stream, consumer := uint64(0), uint64(0)
	form := []string{"$JS", "ACK", "NQ_TASKS", run, "1", "", "", strconv.FormatInt(time.Now().UnixNano(), 10), "0"}
	if c, ok := h.someChunk(run); ok && c.Run == run {
		form = strings.Split(c.reply, ".")
		at := slices.Index(form, run) // delivered, stream and consumer sequence follow
		stream, _ = strconv.ParseUint(form[at+2], 10, 64)
		consumer, _ = strconv.ParseUint(form[at+3], 10, 64)
	}
	at := slices.Index(form, run)
	kind := []string{"+ACK", "+TERM", "-NAK", "+WPI", "+NXT"}[h.rng.IntN(5)]
	for range 10 {
		form[at+2], form[at+3] = strconv.FormatUint(stream+h.rng.Uint64N(20), 10), strconv.FormatUint(consumer+h.rng.Uint64N(20), 10)
		sent += h.publish(strings.Join(form, "."), "nq.task."+run, []byte(kind))
	}
	return sent
}

// report reports wrong counts of a chunk, changed before they are signed and after.
func (h *hostile) report(name string, id *identity.Identity, change func(*run.ChunkResult), spoil func(*nqueensv1.ChunkResult)) int {
	c, ok := h.someChunk(name)
	if !ok {
		return 0
	}
	r := run.ChunkResult{
		Run: c.Run, Manifest: queens.ManifestHash(c.Manifest), Chunk: c.GetId(), First: c.First, Worker: fmt.Sprint("liar", h.rng.IntN(9)), Counted: time.Now(),
	}
	for _, task := range c.Tasks {
		// Each key lies by itself: no two of them agree.
		r.Counts = append(r.Counts, run.TaskCount{Hash: task.Hash, Count: h.rng.Uint64N(1 << 20), Kernel: "generic", Elapsed: time.Duration(h.rng.IntN(1e6))})
	}
	if change != nil {
		change(&r)
	}
	if err := r.Seal(id); err != nil {
		h.soak.t.Fatal(err)
	}
	m := nqueensv1.ChunkResult{Protocol: bus.Protocol, Statement: r.Sealed.Statement, Key: r.Sealed.Key, Signature: r.Sealed.Signature}
	if h.rng.IntN(3) == 0 {
		m.Admission = identity.Admission([]byte("no token of these servers"), id.Key())
	}
	if spoil != nil {
		spoil(&m)
	}
	data := h.encode(&m)
	h.results = append(h.results, data)
	h.results = h.results[max(0, len(h.results)-kept):]
	h.lied[r.Run] = true
	return h.publish("nq.result."+r.Run, "", data)
}

func (h *hostile) encode(m proto.Message) []byte {
	data, err := proto.Marshal(m)
	if err != nil {
		h.soak.t.Fatal(err)
	}
	return data
}

// vote reports wrong counts of one task, under many keys where the workers of the run are admitted.
func (h *hostile) vote(run string) (sent int) {
	c, ok := h.someChunk(run)
	if !ok {
		return 0
	}
	one := nqueensv1.Chunk{Run: c.Run, Id: c.Id, First: c.First, Tasks: c.Tasks[:1], Manifest: c.Manifest}
	all := h.chunks
	h.chunks = []stolen{{Chunk: &one}}
	for range 100 {
		id := h.identity()
		if h.key != nil {
			id = identitytest.Of(fmt.Sprint("voter", h.rng.IntN(1e6)))
		}
		sent += h.report(c.Run, id, nil, nil)
	}
	h.chunks = all
	return sent
}

func (h *hostile) forgeSignature(run string) (sent int) {
	for _, spoil := range []func(m *nqueensv1.ChunkResult){
		func(m *nqueensv1.ChunkResult) { m.Statement[h.rng.IntN(len(m.Statement))] ^= 1 << h.rng.IntN(8) },
		func(m *nqueensv1.ChunkResult) { m.Signature[h.rng.IntN(64)] ^= 1 << h.rng.IntN(8) },
		func(m *nqueensv1.ChunkResult) { m.Key = identitytest.Of("another").Key() },
		func(m *nqueensv1.ChunkResult) { m.Signature = nil },
		func(m *nqueensv1.ChunkResult) { m.Admission = make([]byte, 1000) },
	} {
		sent += h.report(run, h.identity(), nil, spoil)
	}
	return sent
}

func (h *hostile) reportOther(name string) (sent int) {
	for _, change := range []func(r *run.ChunkResult){
		func(r *run.ChunkResult) { r.Counts[0].Hash++ },
		func(r *run.ChunkResult) { r.Manifest[0]++ },
		func(r *run.ChunkResult) { r.First += 1 << 40 },
		func(r *run.ChunkResult) { r.First++ },
		func(r *run.ChunkResult) { r.Chunk = h.rng.Uint64() | 1 },
		func(r *run.ChunkResult) { r.Worker = run.Referee },
		func(r *run.ChunkResult) { r.Counts[0].Count = math.MaxUint64 - h.rng.Uint64N(1<<20) },
	} {
		sent += h.report(name, h.identity(), change, nil)
	}
	return sent
}

// reportForeign reports counts of another run's tasks as those of this run, if there is another.
func (h *hostile) reportForeign(name string) (sent int) {
	for range 5 {
		if len(h.chunks) == 0 {
			break
		}
		other := h.chunks[h.rng.IntN(len(h.chunks))]
		sent += h.report(other.Run, h.identity(), func(r *run.ChunkResult) { r.Run = name }, nil)
	}
	return sent
}

// replay sends results again that were of this run or another, and of this coordinator or an earlier one:
// on the subject of this run.
func (h *hostile) replay(run string) (sent int) {
	for range 20 {
		if len(h.results) > 0 {
			sent += h.publish("nq.result."+run, "", h.results[h.rng.IntN(len(h.results))])
		}
	}
	return sent
}

// heartbeat signs a heartbeat with one of the attacker's keys, or sometimes sends it unsigned, or as
// another's.
func (h *hostile) heartbeat(m *nqueensv1.HeartbeatStatement) int {
	m.Version, m.Kernel, m.Threads, m.SentNs = "v", "generic", uint32(1+h.rng.IntN(4)), uint64(time.Now().UnixNano())
	statement, key := h.encode(m), h.identity()
	signature, err := key.Sign(append([]byte("nqueens heartbeat 1\n"), statement...))
	if err != nil {
		h.soak.t.Fatal(err)
	}
	signed := nqueensv1.Heartbeat{Protocol: bus.Protocol, Worker: m.Worker, Statement: statement, Key: key.Key(), Signature: signature}
	switch h.rng.IntN(10) {
	case 0:
		signed.Signature = nil
	case 1:
		signed.Key = identitytest.Of("another").Key()
	}
	return h.publish(fmt.Sprint("nq.hb.hostile", h.rng.IntN(1000)), "", h.encode(&signed))
}

func (h *hostile) holdTooMany(string) int {
	held := make([]*nqueensv1.HeldChunk, 60_000)
	for i := range held {
		held[i] = &nqueensv1.HeldChunk{Run: "n", Chunk: uint64(i + 1)}
	}
	return h.heartbeat(&nqueensv1.HeartbeatStatement{Worker: "hoarder", Held: held})
}

func (h *hostile) strangeNames(string) (sent int) {
	for _, name := range []string{
		"", "zero\u200bwidth", "\u202eright to left", "\x1b[2J", "line\nfeed", run.Referee, run.Checker,
		strings.Repeat("x", 129), strings.Repeat("x", 100_000), "../../etc", "*", ">",
	} {
		sent += h.heartbeat(&nqueensv1.HeartbeatStatement{Worker: name})
	}
	return sent
}

// pretendToHold says that workers search chunks, which are then silent: as if these had killed them.
func (h *hostile) pretendToHold(run string) (sent int) {
	for range 1 + h.rng.IntN(4) {
		m := nqueensv1.HeartbeatStatement{Worker: fmt.Sprint("phantom", h.rng.IntN(9)), Leaving: h.rng.IntN(4) == 0}
		for range h.rng.IntN(maxPhantom) {
			held := &nqueensv1.HeldChunk{Run: run, Chunk: h.rng.Uint64() | 1, Searching: h.rng.IntN(2) == 0, ElapsedNs: h.rng.Uint64() >> 1}
			if c, ok := h.someChunk(run); ok {
				held.Chunk = c.Id
			}
			m.Held = append(m.Held, held)
		}
		sent += h.heartbeat(&m)
	}
	return sent
}

// maxPhantom bounds the chunks that a worker pretends to hold.
const maxPhantom = 100

func (h *hostile) garbage() []byte {
	data := make([]byte, h.rng.IntN(200))
	for i := range data {
		data[i] = byte(h.rng.Uint32())
	}
	return data
}

func (h *hostile) litter(run string) (sent int) {
	for _, subject := range []string{"nq.result." + run, "nq.result.n14-garbage", "nq.hb.garbage", pull(run), pull("garbage"), "$JS.ACK.NQ_TASKS." + run} {
		sent += h.publish(subject, "", h.garbage())
	}
	return sent
}

// poison publishes tasks: malformed ones, others under the ids of the run, and one that takes for ever.
func (h *hostile) poison(name string) (sent int) {
	c := run.Chunk{Run: name, ID: h.rng.Uint64() | 1, First: h.rng.Uint64N(1000), Board: queens.FullBoard(32), Tasks: [][]queens.Prefix{{{}}}}
	if stolen, ok := h.someChunk(name); ok {
		c.Manifest, c.First = queens.ManifestHash(stolen.Manifest), stolen.First
	}
	message := func(change func(m *nqueensv1.Chunk)) int {
		m := nqueensv1.Chunk{
			Protocol: bus.Protocol, Run: c.Run, Id: c.ID, N: uint32(c.Board.N), Allow: slices.Clone(c.Board.Allow[:c.Board.N]), First: c.First,
			Size: 1, Manifest: c.Manifest[:],
		}
		task := c.Task(0)
		m.Tasks = []*nqueensv1.TaskPrefixes{{Hash: task.Hash(), Row: []uint32{0}, Cols: []uint32{0}, Left: []uint32{0}, Right: []uint32{0}}}
		change(&m)
		return h.publish("nq.task."+name, "", h.encode(&m))
	}
	sent += h.publish("nq.task."+name, "", h.garbage())
	for _, change := range []func(m *nqueensv1.Chunk){
		func(m *nqueensv1.Chunk) { m.Size = 1 << 20 },
		func(m *nqueensv1.Chunk) { m.N = 33 },
		func(m *nqueensv1.Chunk) { m.Tasks[0].Hash++ },
		func(m *nqueensv1.Chunk) { m.Tasks[0].Row[0] = 1 << 31 },
		func(m *nqueensv1.Chunk) { m.Allow[3] = 0; m.Tasks[0].Cols[0] = 1 },
		func(m *nqueensv1.Chunk) { m.Manifest = make([]byte, 1<<16) },
		func(m *nqueensv1.Chunk) { m.Run = "n14-other" },
		func(*nqueensv1.Chunk) {}, // it takes for ever
	} {
		sent += message(change)
	}
	c.Board = queens.FullBoard(8)
	c.ID++
	return sent + message(func(*nqueensv1.Chunk) {})
}

func (h *hostile) forgeProgress(run string) (sent int) {
	for _, state := range []string{"running", "complete", "cancelled", "contradicted"} {
		total := "null"
		if state == "complete" {
			total = `"12345"`
		}
		sent += h.publish("nq.progress."+run, "", fmt.Appendf(nil,
			`{"protocol":%d,"run":%q,"n":%d,"symmetry":"mirror","state":%q,"done":1,"tasks":1,"percent":100,"solutions":"12345","total":%s}`,
			bus.Protocol, run, h.soak.n, state, total))
	}
	return sent
}

// forgeAnnouncement says that a run has ended, or belongs to a coordinator of another epoch, or that it refuses the
// results of some keys.
func (h *hostile) forgeAnnouncement(name string) int {
	m := struct {
		Protocol int `json:"protocol"`
		run.Announcement
	}{bus.Protocol, run.Announcement{
		Run: name, Epoch: []uint64{1, 2, 1 << 62, math.MaxUint64}[h.rng.IntN(4)], Weight: []int{0, 1, 4}[h.rng.IntN(3)],
		State:   []run.State{run.Running, run.Stopped, run.Complete, run.Cancelled}[h.rng.IntN(4)],
		Waiting: int(h.rng.Uint32() >> h.rng.IntN(30)), Threads: int(h.rng.Uint32() >> h.rng.IntN(30)),
	}}
	for range h.rng.IntN(300) {
		if c, ok := h.someChunk(name); ok {
			m.Obsolete = append(m.Obsolete, c.Id)
		}
	}
	for _, message := range h.soak.results {
		var r nqueensv1.ChunkResult
		if len(m.Quarantined) < 3 && proto.Unmarshal(message.Data, &r) == nil && r.Key != "" && h.rng.IntN(5) == 0 {
			m.Quarantined = append(m.Quarantined, r.Key)
		}
	}
	text, err := json.Marshal(m)
	if err != nil {
		h.soak.t.Fatal(err)
	}
	return h.publish("nq.live."+name, "", text)
}

// forgeRecord replaces the run's record: by garbage, by that of another coordinator or board, or by one that
// says that the run is cancelled.
func (h *hostile) forgeRecord(name string) int {
	subject := "$KV.nq_runs." + name
	record := map[string]any{"protocol": bus.Protocol, "run": name, "epoch": 7, "state": run.Running, "owner": "hostile", "redundancy": 1}
	if h.soak.keys == nil {
		ctx, cancel := context.WithTimeout(h.soak.t.Context(), time.Second)
		defer cancel()
		m, err := h.conn.RequestWithContext(ctx, "$JS.API.DIRECT.GET.KV_nq_runs."+subject, nil)
		if err != nil || json.Unmarshal(m.Data, &record) != nil {
			return 0
		}
	}
	epoch, _ := record["epoch"].(float64)
	old := time.Now().Add(-time.Hour)
	switch h.rng.IntN(5) {
	case 0:
		return h.publish(subject, "", h.garbage())
	case 1: // of the next coordinator
		record["epoch"], record["claim"], record["updated"] = uint64(epoch)+1, "hostile", old
	case 2:
		record["epoch"], record["claim"], record["updated"] = uint64(run.MaxEpoch), "hostile", old
	case 3:
		record["placed"], record["done"] = "none", 1<<40
	case 4:
		if name != h.soak.run {
			return 0
		}
		record["state"] = run.Cancelled
		h.cancelled[name] = true
	}
	data, err := json.Marshal(record)
	if err != nil {
		h.soak.t.Fatal(err)
	}
	return h.publish(subject, "", data)
}

// administer asks the server to remove what coordinators need, and to tell what workers need not know.
func (h *hostile) administer(run string) (sent int) {
	for _, request := range []struct{ subject, data string }{
		{"$JS.API.STREAM.PURGE.NQ_TASKS", `{"filter":"nq.task.` + run + `"}`},
		{"$JS.API.STREAM.PURGE.NQ_RESULTS", `{"filter":"nq.result.` + run + `"}`},
		{"$JS.API.STREAM.MSG.DELETE.NQ_TASKS", `{"seq":1}`},
		{"$JS.API.STREAM.INFO.NQ_TASKS", ""},
		{"$JS.API.STREAM.DELETE.NQ_RESULTS", ""},
		{"$JS.API.CONSUMER.DELETE.NQ_TASKS." + run, ""},
		{"$JS.API.CONSUMER.MSG.NEXT.NQ_RESULTS.any", ""},
		{"$JS.API.DIRECT.GET.KV_nq_runs.$KV.nq_runs." + run, ""},
	} {
		sent += h.publish(request.subject, "", []byte(request.data))
	}
	return sent
}
