package bus

import (
	"bytes"
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/proto"

	nqueensv1 "nqueens/proto/nqueens/v1"

	"nqueens/pkg/queens"
)

// EncodeAnnouncement encodes an announcement.
func EncodeAnnouncement(a *queens.Announcement) ([]byte, error) {
	return proto.Marshal(&nqueensv1.Announcement{
		Protocol: Protocol, Run: a.Run, Instance: a.Instance, State: string(a.State), Recorded: a.Recorded, Work: a.Work,
	})
}

// DecodeAnnouncement returns an announcement. The error wraps a [VersionError] if the coordinator has another version.
func DecodeAnnouncement(data []byte) (queens.Announcement, error) {
	return decode(data, func(d *decoder, m *nqueensv1.Announcement) queens.Announcement {
		a := queens.Announcement{
			Run: m.GetRun(), Instance: d.instance(m.GetInstance()), State: queens.State(m.GetState()), Recorded: m.GetRecorded(), Work: m.GetWork(),
		}
		d.valid(queens.ValidateRun(a.Run))
		d.valid(a.State.Validate())
		return a
	})
}

// EncodeWorkReply encodes the reply to a work request. It is also the reply to a message that can't be read: whatever its
// version, the receiver finds that of this program in it.
func EncodeWorkReply(r *queens.WorkReply) ([]byte, error) {
	m := &nqueensv1.WorkReply{Protocol: Protocol, Number: r.Number, Instance: r.Instance, Refused: encodeText(r.Refused)}
	for _, drop := range r.Drop {
		m.Drop = append(m.Drop, &nqueensv1.Range{First: drop.First, Tasks: drop.Tasks})
	}
	for i := range r.Chunks {
		m.Chunks = append(m.Chunks, encodeChunk(&r.Chunks[i]))
	}
	return proto.Marshal(m)
}

// EncodedChunkBytes bounds what a chunk takes in a reply, in bytes, from the number of its tasks and prefixes.
func EncodedChunkBytes(tasks, prefixes int) int {
	const fixed, task, prefix = 256, 3, 3*4 + 1
	return fixed + task*tasks + prefix*prefixes
}

func encodeChunk(c *queens.Chunk) *nqueensv1.Chunk {
	n := 0
	for _, prefixes := range c.Prefixes {
		n += len(prefixes)
	}
	masks := make([]uint32, 3*n)
	m := &nqueensv1.Chunk{
		First: c.First, Ticket: c.Ticket[:], Allow: c.Board.Allow[:c.Board.N], Prefixes: make([]uint32, len(c.Prefixes)),
		Cols: masks[:n], Left: masks[n : 2*n], Right: masks[2*n:],
	}
	i, rows, sameRow := 0, make([]uint32, n), true
	for task, prefixes := range c.Prefixes {
		m.Prefixes[task] = uint32(len(prefixes))
		for _, p := range prefixes {
			rows[i], m.Cols[i], m.Left[i], m.Right[i] = uint32(p.Row), p.Cols, p.Left, p.Right
			sameRow = sameRow && rows[i] == rows[0]
			i++
		}
	}
	if m.Row = rows; sameRow {
		m.Row = rows[:min(n, 1)]
	}
	return m
}

// DecodeWorkReply returns the reply to a work request. The error wraps a [VersionError] if the coordinator has another
// version.
func DecodeWorkReply(data []byte) (*queens.WorkReply, error) {
	return decode(data, func(d *decoder, m *nqueensv1.WorkReply) *queens.WorkReply {
		r := &queens.WorkReply{
			Number: m.GetNumber(), Instance: d.instance(m.GetInstance()), Refused: d.text(m.GetRefused()),
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
	cols, left, right, rows, sizes := m.GetCols(), m.GetLeft(), m.GetRight(), m.GetRow(), m.GetPrefixes()
	n := len(cols)
	d.check(len(sizes) <= queens.MaxChunkTasks, "a chunk of %d tasks, more than %d", len(sizes), queens.MaxChunkTasks)
	d.check(len(left) == n && len(right) == n && (len(rows) == n || len(rows) == 1),
		"lists of %d, %d and %d attacked columns with %d rows", n, len(left), len(right), len(rows))
	c.Range, c.Ticket, c.Board.N = d.tasks(m.GetFirst(), uint64(len(sizes))), d.ticket(m.GetTicket()), len(m.GetAllow())
	copy(c.Board.Allow[:], m.GetAllow())
	if d.valid(c.Board.Validate()); d.err != nil {
		return
	}
	all := make([]queens.Prefix, n)
	for i := range all {
		all[i] = queens.Prefix{Row: int(rows[min(i, len(rows)-1)]), Cols: cols[i], Left: left[i], Right: right[i]}
	}
	c.Prefixes = make([][]queens.Prefix, len(sizes))
	for i, size := range sizes {
		k := min(int(size), len(all))
		d.check(k == int(size), "a chunk of %d prefixes, fewer than its tasks have", n)
		c.Prefixes[i], all = all[:k:k], all[k:]
		d.valid(queens.ValidatePrefixes(&c.Board, c.First+uint64(i), c.Prefixes[i]))
	}
	d.check(len(all) == 0, "%d prefixes of no task", len(all))
}

// EncodeDeliveryReply encodes the reply to a delivery.
func EncodeDeliveryReply(r *queens.DeliveryReply) ([]byte, error) {
	m := &nqueensv1.DeliveryReply{Protocol: Protocol, Instance: r.Instance}
	for _, receipt := range r.Receipts {
		m.Receipts = append(m.Receipts, &nqueensv1.Receipt{Recorded: receipt.Recorded, Refused: encodeText(receipt.Refused)})
	}
	return proto.Marshal(m)
}

// DecodeDeliveryReply returns the reply to a delivery. The error wraps a [VersionError] if the coordinator has another
// version.
func DecodeDeliveryReply(data []byte) (*queens.DeliveryReply, error) {
	return decode(data, func(d *decoder, m *nqueensv1.DeliveryReply) *queens.DeliveryReply {
		r := &queens.DeliveryReply{Instance: d.instance(m.GetInstance()), Receipts: make([]queens.Receipt, len(m.GetReceipts()))}
		for i, receipt := range m.GetReceipts() {
			r.Receipts[i] = queens.Receipt{Recorded: receipt.GetRecorded(), Refused: d.text(receipt.GetRefused())}
			d.check(receipt.GetRecorded() == (receipt.GetRefused() == ""), "a receipt that is neither recorded nor refused, or both")
		}
		return r
	})
}

// snapshot is a snapshot on the wire.
type snapshot struct {
	Protocol uint64 `json:"protocol"`
	*queens.Snapshot
}

// encodeSnapshot encodes a snapshot, without its list of workers if that would make it too large.
func encodeSnapshot(s *queens.Snapshot) ([]byte, error) {
	data, err := json.Marshal(snapshot{Protocol, s})
	if err == nil && len(data) > queens.MaxSnapshotBytes {
		short := *s
		short.WorkerList = nil
		data, err = json.Marshal(snapshot{Protocol, &short})
	}
	return data, err
}

// DecodeSnapshot returns a valid snapshot of a run.
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
