package bus

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// Finding is what [Bus.Check] found about one need of a coordinator.
type Finding struct {
	Need  string // for people: "max_payload"
	Found string // what the server has
	Err   error  // why that is not enough, and what to do; nil if it is
}

// Check returns whether the server has what a coordinator needs, one finding a need. It creates nothing but a stream
// that it deletes again, and changes nothing. What is missing, but a count would create, is no error.
func (b *Bus) Check(ctx context.Context) (findings []Finding) {
	add := func(need, found string, err error) { findings = append(findings, Finding{need, found, err}) }
	add("server", "nats-server "+b.conn.ConnectedServerVersion()+" at "+b.Server(), b.Connected())
	payload := b.conn.MaxPayload()
	add("max_payload", fmt.Sprintf("%d bytes", payload), checkPayload(payload))
	account, err := ask(ctx, b, b.js.AccountInfo)
	if err != nil {
		add("JetStream", "", b.noStreams(err))
		return findings
	}
	exist := 0
	for _, want := range []jetstream.StreamConfig{tasksConfig(), resultsConfig(), bucketConfig()} {
		stream, err := b.stream(ctx, want.Name)
		switch {
		case errors.Is(err, jetstream.ErrStreamNotFound):
			add("stream "+want.Name, "not there yet: a count creates it", nil)
			continue
		case err != nil:
			add("stream "+want.Name, "", err)
			continue
		}
		exist++
		have := stream.CachedInfo().Config
		add("stream "+want.Name, fmt.Sprintf("replicas: %d", have.Replicas), checkStream(&have, &want))
	}
	limits := account.Limits
	add("streams of the account", used(int64(account.Streams), int64(limits.MaxStreams), ""),
		room("streams", int64(limits.MaxStreams), int64(account.Streams), int64(4-exist)))
	add("consumers of the account", used(int64(account.Consumers), int64(limits.MaxConsumers), ""),
		room("consumers", int64(limits.MaxConsumers), int64(account.Consumers), 2))
	needed := int64(0)
	if exist < 3 {
		needed = int64(minTaskBytes+maxResultBytes) * int64(b.replicas())
	}
	stored := int64(account.Store)
	add("disk of the account", used(stored>>20, limits.MaxStore>>20, " MiB"), room("bytes on disk", limits.MaxStore, stored, needed))
	add("a new stream", fmt.Sprintf("replicas: %d", b.replicas()), b.probe(ctx))
	return findings
}

// probe makes a stream with the replicas that are asked for, and deletes it.
func (b *Bus) probe(ctx context.Context) error {
	name := "NQ_PROBE_" + randomText()
	_, err := b.createStream(ctx, jetstream.StreamConfig{
		Name: name, Description: "shows whether the server can make a stream", Subjects: []string{"nq.probe." + name},
		Storage: jetstream.FileStorage, MaxBytes: 1 << 10, Replicas: b.replicas(),
	}, true)
	return errors.Join(err, b.deleteStream(ctx, name))
}

// checkPayload returns an error if the greatest message that the server takes is too small.
func checkPayload(have int64) error {
	if have >= minMsgSize {
		return nil
	}
	return fmt.Errorf("max_payload is %d, and at least %d is needed: raise it in the server's configuration", have, minMsgSize)
}

// room returns an error if an account whose limit that is, -1 for none, has no room for more.
func room(what string, limit, used, more int64) error {
	if limit < 0 || used+more <= limit {
		return nil
	}
	return fmt.Errorf("the account may have %d %s and has %d, and %d more are needed: raise the limit of the account", limit, what, used, more)
}

// used says how much of a limit, -1 for none, is used.
func used(n, limit int64, unit string) string {
	if limit < 0 {
		return fmt.Sprintf("%d%s used, no limit", n, unit)
	}
	return fmt.Sprintf("%d of %d%s used", n, limit, unit)
}

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
