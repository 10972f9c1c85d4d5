package bus

import (
	"context"
	"fmt"
)

// Usage is what a stream holds, of all runs on the server.
type Usage struct {
	Messages uint64
	Bytes    uint64
	Limit    uint64 // Bytes at which the stream is full; 0 without a limit.
}

// Usage returns what the streams of tasks and of results hold.
func (b *Bus) Usage(ctx context.Context) (tasks, results Usage, err error) {
	if tasks, err = b.usage(ctx, tasksStream); err == nil {
		results, err = b.usage(ctx, resultsStream)
	}
	return tasks, results, err
}

func (b *Bus) usage(ctx context.Context, name string) (Usage, error) {
	stream, err := b.stream(ctx, name)
	if err != nil {
		return Usage{}, fmt.Errorf("stream %s: %w", name, err)
	}
	info := stream.CachedInfo()
	return Usage{Messages: info.State.Msgs, Bytes: info.State.Bytes, Limit: uint64(max(info.Config.MaxBytes, 0))}, nil
}
