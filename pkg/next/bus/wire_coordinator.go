package bus

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/proto"

	nqueensv1 "nqueens/pkg/next/nqueensv1"

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
	var m nqueensv1.Announcement
	if err := unmarshal(data, maxSmall, &m); err != nil {
		return queens.Announcement{}, err
	}
	a := queens.Announcement{
		Run: m.GetRun(), Instance: m.GetInstance(), State: queens.State(m.GetState()), Recorded: m.GetRecorded(), Work: m.GetWork(),
	}
	_, err := decodeInstance(a.Instance)
	return a, cmp.Or(err, queens.ValidateRun(a.Run), a.State.Validate())
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
	i, sameRow := 0, true
	for task, prefixes := range c.Prefixes {
		m.Prefixes[task] = uint32(len(prefixes))
		for _, p := range prefixes {
			m.Cols[i], m.Left[i], m.Right[i] = p.Cols, p.Left, p.Right
			sameRow = sameRow && p.Row == c.Prefixes[0][0].Row
			i++
		}
	}
	for _, prefixes := range c.Prefixes {
		for _, p := range prefixes {
			if len(m.Row) == 0 || !sameRow {
				m.Row = append(m.Row, uint32(p.Row))
			}
		}
	}
	return m
}

// DecodeWorkReply returns the reply to a work request. The error wraps a [VersionError] if the coordinator has another
// version.
func DecodeWorkReply(data []byte) (*queens.WorkReply, error) {
	var m nqueensv1.WorkReply
	if err := unmarshal(data, len(data), &m); err != nil {
		return nil, err
	}
	r := &queens.WorkReply{Number: m.GetNumber(), Drop: make([]queens.Range, len(m.GetDrop())), Chunks: make([]queens.Chunk, len(m.GetChunks()))}
	var err1, err2 error
	r.Instance, err1 = decodeInstance(m.GetInstance())
	r.Refused, err2 = decodeText(m.GetRefused())
	if err := cmp.Or(err1, err2); err != nil {
		return nil, err
	}
	for i, drop := range m.GetDrop() {
		if r.Drop[i], err1 = decodeRange(drop.GetFirst(), drop.GetTasks()); err1 != nil {
			return nil, err1
		}
	}
	for i, chunk := range m.GetChunks() {
		if err := decodeChunk(chunk, &r.Chunks[i]); err != nil {
			return nil, fmt.Errorf("a chunk: %w", err)
		}
	}
	return r, nil
}

func decodeChunk(m *nqueensv1.Chunk, c *queens.Chunk) (err error) {
	cols, left, right, rows, sizes := m.GetCols(), m.GetLeft(), m.GetRight(), m.GetRow(), m.GetPrefixes()
	n := len(cols)
	switch {
	case len(sizes) == 0 || len(sizes) > queens.MaxChunkTasks:
		return fmt.Errorf("%d tasks, not 1 to %d", len(sizes), queens.MaxChunkTasks)
	case len(left) != n || len(right) != n || len(rows) != n && len(rows) != 1:
		return fmt.Errorf("lists of %d, %d and %d attacked columns with %d rows", n, len(left), len(right), len(rows))
	case len(m.GetAllow()) > queens.MaxN:
		return fmt.Errorf("%d rows", len(m.GetAllow()))
	}
	if c.Range, err = decodeRange(m.GetFirst(), uint64(len(sizes))); err != nil {
		return err
	}
	if c.Ticket, err = decodeTicket(m.GetTicket()); err != nil {
		return err
	}
	c.Board.N = len(m.GetAllow())
	copy(c.Board.Allow[:], m.GetAllow())
	if err := c.Board.Validate(); err != nil {
		return err
	}
	all := make([]queens.Prefix, n)
	for i := range all {
		all[i] = queens.Prefix{Row: int(rows[min(i, len(rows)-1)]), Cols: cols[i], Left: left[i], Right: right[i]}
	}
	c.Prefixes = make([][]queens.Prefix, len(sizes))
	for task, size := range sizes {
		if int(size) > len(all) {
			return fmt.Errorf("task %d has %d prefixes, the message %d", c.First+uint64(task), size, len(all))
		}
		c.Prefixes[task], all = all[:size:size], all[size:]
		if err := queens.ValidatePrefixes(&c.Board, c.First+uint64(task), c.Prefixes[task]); err != nil {
			return err
		}
	}
	if len(all) > 0 {
		return fmt.Errorf("%d prefixes of no task", len(all))
	}
	return nil
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
	var m nqueensv1.DeliveryReply
	if err := unmarshal(data, len(data), &m); err != nil {
		return nil, err
	}
	r := &queens.DeliveryReply{Receipts: make([]queens.Receipt, len(m.GetReceipts()))}
	var err error
	if r.Instance, err = decodeInstance(m.GetInstance()); err != nil {
		return nil, err
	}
	for i, receipt := range m.GetReceipts() {
		if r.Receipts[i].Refused, err = decodeText(receipt.GetRefused()); err != nil {
			return nil, err
		}
		if r.Receipts[i].Recorded = receipt.GetRecorded(); r.Receipts[i].Recorded == (r.Receipts[i].Refused != "") {
			return nil, fmt.Errorf("a receipt with recorded %t and refused %q", receipt.GetRecorded(), r.Receipts[i].Refused)
		}
	}
	return r, nil
}

// snapshot is a snapshot on the wire.
type snapshot struct {
	Protocol int `json:"protocol"`
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
	var version struct {
		Protocol uint64 `json:"protocol"`
	}
	if err := json.Unmarshal(data, &version); err != nil {
		return nil, err
	}
	if version.Protocol != Protocol {
		return nil, &VersionError{version.Protocol}
	}
	s := snapshot{Snapshot: new(queens.Snapshot)}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one value")
	}
	if s.Snapshot == nil || s.Run != run {
		return nil, fmt.Errorf("a snapshot of another run than %s", run)
	}
	return s.Snapshot, s.Snapshot.Validate()
}
