package bus

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	nqueensv1 "nqueens/proto/nqueens/v1"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// Chunks in the wire format, encoded and decoded. Messages come from outside, so the decoder
// checks everything in them.

// encodeChunk encodes a chunk, with the hash of each task.
func encodeChunk(c *run.Chunk) ([]byte, error) {
	tasks := make([]*nqueensv1.TaskPrefixes, len(c.Tasks))
	for i := range c.Tasks {
		task := c.Task(i)
		tasks[i] = encodePrefixes(task.Prefixes)
		tasks[i].Hash = task.Hash()
	}
	return proto.Marshal(&nqueensv1.Chunk{
		Protocol: Protocol,
		Run:      c.Run,
		Id:       c.ID,
		Suspect:  c.Suspect,
		N:        uint32(c.Board.N),
		Allow:    c.Board.Allow[:c.Board.N],
		First:    c.First,
		Size:     uint32(len(tasks)),
		Tasks:    tasks,
		Manifest: c.Manifest[:],
	})
}

// encodePrefixes returns the wire form of a task's prefixes, without its hash.
func encodePrefixes(prefixes []queens.Prefix) *nqueensv1.TaskPrefixes {
	masks := make([]uint32, 3*len(prefixes))
	m := &nqueensv1.TaskPrefixes{
		Cols: masks[:len(prefixes)], Left: masks[len(prefixes) : 2*len(prefixes)], Right: masks[2*len(prefixes):],
	}
	sameRow := true
	for i, p := range prefixes {
		m.Cols[i], m.Left[i], m.Right[i] = p.Cols, p.Left, p.Right
		sameRow = sameRow && p.Row == prefixes[0].Row
	}
	for _, p := range prefixes {
		m.Row = append(m.Row, uint32(p.Row))
		if sameRow {
			break
		}
	}
	return m
}

// decodeChunk returns a valid chunk. The hash of each task is that of its content.
func decodeChunk(subject string, data []byte) (run.Chunk, error) {
	var m nqueensv1.Chunk
	if err := unmarshal(data, &m); err != nil {
		return run.Chunk{}, err
	}
	tasks := m.GetTasks()
	switch {
	case m.GetN() > queens.MaxN || int(m.GetN()) != len(m.GetAllow()):
		return run.Chunk{}, fmt.Errorf("chunk of side %d with %d rows of allowed squares", m.GetN(), len(m.GetAllow()))
	case uint64(len(tasks)) != uint64(m.GetSize()):
		return run.Chunk{}, fmt.Errorf("chunk of %d tasks has %d", m.GetSize(), len(tasks))
	case len(m.GetManifest()) != len(queens.ManifestHash{}):
		return run.Chunk{}, fmt.Errorf("chunk with a manifest's hash of %d bytes", len(m.GetManifest()))
	}
	c := run.Chunk{
		Run: m.GetRun(), ID: m.GetId(), Suspect: m.GetSuspect(), First: m.GetFirst(),
		Manifest: queens.ManifestHash(m.GetManifest()), Board: queens.Board{N: int(m.GetN())},
		Tasks: make([][]queens.Prefix, len(tasks)),
	}
	copy(c.Board.Allow[:], m.GetAllow())
	var err error
	for i, task := range tasks {
		if c.Tasks[i], err = decodePrefixes(task); err != nil {
			return run.Chunk{}, fmt.Errorf("task %d of chunk %016x: %w", i, c.ID, err)
		}
	}
	if err := validate(&c, subject, taskSubject(c.Run)); err != nil {
		return run.Chunk{}, err
	}
	for i := range tasks {
		task := c.Task(i)
		if hash := task.Hash(); hash != tasks[i].GetHash() {
			return run.Chunk{}, fmt.Errorf("task %d of run %s says hash %016x, its content has %016x",
				task.ID, task.Run, tasks[i].GetHash(), hash)
		}
	}
	return c, nil
}

// decodePrefixes returns the prefixes of a task; they may be invalid.
func decodePrefixes(m *nqueensv1.TaskPrefixes) ([]queens.Prefix, error) {
	row, cols, left, right := m.GetRow(), m.GetCols(), m.GetLeft(), m.GetRight()
	n := len(cols)
	if len(left) != n || len(right) != n || (len(row) != n && len(row) != 1) {
		return nil, fmt.Errorf("lists of %d, %d and %d attacked columns with %d rows", n, len(left), len(right), len(row))
	}
	prefixes := make([]queens.Prefix, n)
	for i := range prefixes {
		prefixes[i] = queens.Prefix{Row: int(row[min(i, len(row)-1)]), Cols: cols[i], Left: left[i], Right: right[i]}
	}
	return prefixes, nil
}
