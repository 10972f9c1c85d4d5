//go:build unix

package main_test

import (
	"context"
	"errors"
	"path"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/proto"

	"nqueens/pkg/run"
	nqueensv1 "nqueens/proto/nqueens/v1"
)

// resultTally knows how many tasks each message of the stream of results has, so that a
// message is read once however often a test polls.
type resultTally struct {
	mu         sync.Mutex
	created    time.Time // of the stream
	reconnects uint64    // a server that was killed may have lost its last messages
	messages   []resultMessage
}

// resultMessage is a message of the stream of results.
type resultMessage struct {
	sequence uint64
	subject  string
	tasks    int // 1 if it is no result
}

// tasksWithResult returns the number of tasks that the results on matching subjects have,
// with repeated ones, or -1 if the stream does not exist.
func (v view) tasksWithResult(pattern string) (tasks int) {
	v.t.Helper()
	c := v.counted
	c.mu.Lock()
	defer c.mu.Unlock()
	there := v.ask(func(ctx context.Context) error {
		stream, err := v.js.Stream(ctx, "NQ_RESULTS")
		if err != nil {
			return err
		}
		info, err := stream.Info(ctx, jetstream.WithDeletedDetails(true))
		if err != nil {
			return err
		}
		last := c.last()
		if r := v.conn.Stats().Reconnects; !info.Created.Equal(c.created) || r != c.reconnects || info.State.LastSeq < last {
			c.created, c.reconnects, c.messages = info.Created, r, nil
			last = 0
		}
		if err := c.read(ctx, stream, max(last+1, info.State.FirstSeq), info.State.LastSeq); err != nil {
			return err
		}
		tasks = 0
		for _, m := range c.messages {
			matches, err := path.Match(pattern, m.subject)
			if err != nil {
				return err
			}
			if _, deleted := slices.BinarySearch(info.State.Deleted, m.sequence); matches && !deleted && m.sequence >= info.State.FirstSeq {
				tasks += m.tasks
			}
		}
		return nil
	})
	if !there {
		return -1
	}
	return tasks
}

func (c *resultTally) last() uint64 {
	if len(c.messages) == 0 {
		return 0
	}
	return c.messages[len(c.messages)-1].sequence
}

// read reads the messages of a range of the stream; some may be deleted.
func (c *resultTally) read(ctx context.Context, stream jetstream.Stream, from, to uint64) error {
	for sequence := from; sequence <= to; sequence++ {
		m := resultMessage{sequence: sequence}
		raw, err := stream.GetMsg(ctx, sequence)
		switch {
		case errors.Is(err, jetstream.ErrMsgNotFound): // no subject
		case err != nil:
			return err
		default:
			m.subject, m.tasks = raw.Subject, tasksIn(raw.Data)
		}
		c.messages = append(c.messages, m)
	}
	return nil
}

// tasksIn returns the number of tasks in a result; 1 if the message is no result.
func tasksIn(data []byte) int {
	var m nqueensv1.ChunkResult
	if proto.Unmarshal(data, &m) != nil {
		return 1
	}
	r, err := run.ParseStatement(m.GetStatement())
	if err != nil {
		return 1
	}
	return len(r.Counts)
}
