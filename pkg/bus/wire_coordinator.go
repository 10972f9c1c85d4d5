package bus

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/bits"
	"slices"

	"google.golang.org/protobuf/proto"

	nqueensv1 "nqueens/proto/nqueens/v1"

	"nqueens/pkg/halves"
	"nqueens/pkg/queens"
)

// EncodeAnnouncement encodes an announcement.
func EncodeAnnouncement(a *queens.Announcement) ([]byte, error) {
	return proto.Marshal(&nqueensv1.Announcement{
		Protocol: Protocol, Run: a.Run, Instance: a.Instance, State: string(a.State),
		Recorded: a.Recorded, Work: a.Work,
	})
}

// DecodeAnnouncement returns an announcement. The error wraps a [VersionError] if the coordinator
// has another version.
func DecodeAnnouncement(data []byte) (queens.Announcement, error) {
	return decode(data, new(nqueensv1.Announcement),
		func(d *decoder, m *nqueensv1.Announcement) queens.Announcement {
			a := queens.Announcement{
				Run: m.GetRun(), Instance: d.instance(m.GetInstance()), State: queens.State(m.GetState()),
				Recorded: m.GetRecorded(), Work: m.GetWork(),
			}
			d.valid(queens.ValidateRun(a.Run))
			d.valid(a.State.Validate())
			return a
		})
}

// runOfOtherVersion returns the run of an announcement of any version, or "" if the announcement
// has none where this version has it.
func runOfOtherVersion(data []byte) string {
	m := new(nqueensv1.Announcement)
	if (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(data, m) != nil {
		return ""
	}
	return m.GetRun()
}

// EncodeWorkReply encodes the reply to a work request.
func EncodeWorkReply(r *queens.WorkReply) ([]byte, error) {
	m := &nqueensv1.WorkReply{Protocol: Protocol, Number: r.Number, Instance: r.Instance,
		Refused: encodeText(r.Refused), Kept: uint64(r.Kept)}
	for _, drop := range r.Drop {
		m.Drop = append(m.Drop, &nqueensv1.Range{First: drop.First, Tasks: drop.Tasks})
	}
	for i := range r.Chunks {
		m.Chunks = append(m.Chunks, encodeChunk(&r.Chunks[i]))
	}
	return proto.Marshal(m)
}

// EncodedChunkBytes returns how many bytes of a reply a chunk with these numbers of tasks and
// prefixes takes at most.
func EncodedChunkBytes(tasks, prefixes int) int {
	const fixed, task, prefix = 256, 3, 3 * 4
	return fixed + task*tasks + prefix*prefixes
}

func encodeChunk(c *queens.Chunk) *nqueensv1.Chunk {
	m := &nqueensv1.Chunk{First: c.First, Ticket: c.Ticket[:]}
	if len(c.Sets) > 0 {
		m.N, m.FirstSet = uint32(c.Board.N), c.Sets[0].First
		for _, sets := range c.Sets {
			m.Sets = append(m.Sets, uint32(sets.Number))
		}
		return m
	}
	m.Allow, m.Prefixes = c.Board.Allow[:c.Board.N], make([]uint32, len(c.Prefixes))
	for task, prefixes := range c.Prefixes {
		m.Prefixes[task] = uint32(len(prefixes))
		// once, if all tasks have as many prefixes
		m.Masks = slices.Grow(m.Masks, 3*len(prefixes)*(len(c.Prefixes)-task))
		for _, p := range prefixes {
			m.Masks = append(m.Masks, p.Cols, p.Left, p.Right)
		}
	}
	return m
}

// DecodeWorkReply returns the reply to a work request. The error wraps a [VersionError] if the
// coordinator has another version.
func DecodeWorkReply(data []byte) (*queens.WorkReply, error) {
	return decode(data, new(nqueensv1.WorkReply),
		func(d *decoder, m *nqueensv1.WorkReply) *queens.WorkReply {
			r := &queens.WorkReply{
				Number: m.GetNumber(), Instance: d.instance(m.GetInstance()), Refused: d.text(m.GetRefused()),
				Kept: d.duration(m.GetKept()),
				Drop: make([]queens.Range, len(m.GetDrop())), Chunks: make([]queens.Chunk, len(m.GetChunks())),
			}
			for i, drop := range m.GetDrop() {
				r.Drop[i] = d.tasks(drop.GetFirst(), drop.GetTasks())
			}
			for i, chunk := range m.GetChunks() {
				d.chunk(chunk, &r.Chunks[i])
			}
			return r
		})
}

func (d *decoder) chunk(m *nqueensv1.Chunk, c *queens.Chunk) {
	c.Ticket = d.ticket(m.GetTicket())
	if m.GetN() != 0 {
		d.setsChunk(m, c)
	} else {
		d.prefixChunk(m, c)
	}
}

// setsChunk reads a chunk of row sets.
func (d *decoder) setsChunk(m *nqueensv1.Chunk, c *queens.Chunk) {
	sizes, next := m.GetSets(), m.GetFirstSet()
	d.check(len(sizes) <= queens.MaxChunkTasks, "a chunk of %d tasks, more than %d", len(sizes),
		queens.MaxChunkTasks)
	d.check(m.GetN() <= queens.MaxN, "a board of side %d, more than %d", m.GetN(), queens.MaxN)
	d.check(len(m.GetAllow())+len(m.GetPrefixes())+len(m.GetMasks()) == 0,
		"a chunk of row sets with prefixes")
	c.Range = d.tasks(m.GetFirst(), uint64(len(sizes)))
	if d.err != nil {
		return
	}
	c.Board, c.Sets = queens.FullBoard(int(m.GetN())), make([]queens.RowSets, len(sizes))
	for i, size := range sizes {
		c.Sets[i] = queens.RowSets{First: next, Number: uint64(size)}
		d.valid(c.Sets[i].Validate())
		next += uint64(size)
	}
	all := halves.Sets(c.Board.N)
	d.check(next <= all, "row sets up to number %d, of a board with %d", next, all)
}

// prefixChunk reads a chunk of prefixes.
func (d *decoder) prefixChunk(m *nqueensv1.Chunk, c *queens.Chunk) {
	d.check(m.GetFirstSet() == 0 && len(m.GetSets()) == 0, "a chunk of prefixes with row sets")
	sizes, masks := m.GetPrefixes(), m.GetMasks()
	d.check(len(sizes) <= queens.MaxChunkTasks, "a chunk of %d tasks, more than %d", len(sizes),
		queens.MaxChunkTasks)
	c.Range, c.Board.N = d.tasks(m.GetFirst(), uint64(len(sizes))), len(m.GetAllow())
	copy(c.Board.Allow[:], m.GetAllow())
	d.valid(c.Board.Validate())
	if d.err != nil {
		return
	}
	all := make([]queens.Prefix, len(masks)/3)
	for i := range all {
		mask := masks[3*i : 3*i+3]
		all[i] = queens.Prefix{Row: bits.OnesCount32(mask[0]), Cols: mask[0], Left: mask[1],
			Right: mask[2]}
	}
	c.Prefixes = make([][]queens.Prefix, len(sizes))
	for i, size := range sizes {
		k := min(int(size), len(all))
		d.check(k == int(size), "a chunk of %d masks, fewer than its tasks have", len(masks))
		c.Prefixes[i], all = all[:k:k], all[k:]
		d.valid(queens.ValidatePrefixes(&c.Board, c.First+uint64(i), c.Prefixes[i]))
	}
	d.check(len(all) == 0 && len(masks)%3 == 0, "a chunk of %d masks, more than its tasks have",
		len(masks))
}

// EncodeDeliveryReply encodes the reply to a delivery.
func EncodeDeliveryReply(r *queens.DeliveryReply) ([]byte, error) {
	m := &nqueensv1.DeliveryReply{Protocol: Protocol, Instance: r.Instance}
	for _, receipt := range r.Receipts {
		m.Receipts = append(m.Receipts,
			&nqueensv1.Receipt{Recorded: receipt.Recorded, Refused: encodeText(receipt.Refused)})
	}
	return proto.Marshal(m)
}

// DecodeDeliveryReply returns the reply to a delivery. The error wraps a [VersionError] if the
// coordinator has another version.
func DecodeDeliveryReply(data []byte) (*queens.DeliveryReply, error) {
	return decode(data, new(nqueensv1.DeliveryReply),
		func(d *decoder, m *nqueensv1.DeliveryReply) *queens.DeliveryReply {
			r := &queens.DeliveryReply{Instance: d.instance(m.GetInstance()),
				Receipts: make([]queens.Receipt, len(m.GetReceipts()))}
			for i, receipt := range m.GetReceipts() {
				r.Receipts[i] = queens.Receipt{Recorded: receipt.GetRecorded(),
					Refused: d.text(receipt.GetRefused())}
				d.check(receipt.GetRecorded() == (receipt.GetRefused() == ""),
					"a receipt that is neither recorded nor refused, or both")
			}
			return r
		})
}

// snapshot is a snapshot on the wire.
type snapshot struct {
	Protocol uint64 `json:"protocol"`
	*queens.Snapshot
}

// encodeSnapshot encodes a snapshot, without its list of workers if the message would be too large.
func encodeSnapshot(s *queens.Snapshot) ([]byte, error) {
	data, err := json.Marshal(snapshot{Protocol, s})
	if err == nil && len(data) > queens.MaxSnapshotBytes {
		short := *s
		short.WorkerList = nil
		data, err = json.Marshal(snapshot{Protocol, &short})
	}
	return data, err
}

// DecodeSnapshot decodes a snapshot. It refuses one that is invalid or of another run.
func DecodeSnapshot(run string, data []byte) (*queens.Snapshot, error) {
	if len(data) > queens.MaxSnapshotBytes {
		return nil, fmt.Errorf("a snapshot of %d bytes, more than %d", len(data), queens.MaxSnapshotBytes)
	}
	s := snapshot{Snapshot: new(queens.Snapshot)}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	err := d.Decode(&s) // the version comes first
	switch {
	case s.Protocol != Protocol && (err == nil || s.Protocol > 0):
		return nil, &VersionError{s.Protocol}
	case err != nil:
		return nil, err
	case s.Run != run || d.More():
		return nil, fmt.Errorf("a snapshot of another run than %s, or more than one", run)
	}
	return s.Snapshot, s.Snapshot.Validate()
}
