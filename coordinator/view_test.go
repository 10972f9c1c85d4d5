//go:build unix

package main_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"nqueens/pkg/bus"
	"nqueens/pkg/identity/identitytest"
	"nqueens/pkg/run"
	"nqueens/pkg/testkit"
)

// view is a connection to a server by NATS's own client.
type view struct {
	t       *testing.T
	conn    *nats.Conn
	js      jetstream.JetStream
	counted *resultTally
}

func inspect(t *testing.T, url string, options ...nats.Option) view {
	t.Helper()
	conn, err := nats.Connect(url, append(options, nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	return view{t: t, conn: conn, js: js, counted: new(resultTally)}
}

// ask asks the server until it answers, or says that there is no such stream or consumer.
func (v view) ask(question func(ctx context.Context) error) (there bool) {
	v.t.Helper()
	testkit.Eventually(v.t, "the server answers", func() bool {
		ctx, cancel := context.WithTimeout(v.t.Context(), 5*time.Second)
		defer cancel()
		err := question(ctx)
		there = err == nil
		return there || errors.Is(err, jetstream.ErrStreamNotFound) || errors.Is(err, jetstream.ErrConsumerNotFound)
	})
	return there
}

// tasks returns the number of chunks that wait for a worker, and of those that workers hold,
// of all runs; -1 if no run has a consumer. Before the first results a chunk has one task.
func (v view) tasks() (waiting, held int) {
	v.t.Helper()
	consumers := 0
	v.ask(func(ctx context.Context) error {
		waiting, held, consumers = 0, 0, 0
		stream, err := v.js.Stream(ctx, "NQ_TASKS")
		if err != nil {
			return err
		}
		list := stream.ListConsumers(ctx)
		for info := range list.Info() {
			consumers++
			waiting += int(info.NumPending)
			held += info.NumAckPending
		}
		return list.Err()
	})
	if consumers == 0 {
		return -1, -1
	}
	return waiting, held
}

// messages returns the number of messages on a subject of a stream, or -1 if the stream
// does not exist.
func (v view) messages(stream, subject string) int {
	v.t.Helper()
	sum := 0
	there := v.ask(func(ctx context.Context) error {
		s, err := v.js.Stream(ctx, stream)
		if err != nil {
			return err
		}
		info, err := s.Info(ctx, jetstream.WithSubjectFilter(subject))
		if err != nil {
			return err
		}
		sum = 0
		for _, n := range info.State.Subjects {
			sum += int(n)
		}
		return nil
	})
	if !there {
		return -1
	}
	return sum
}

// eventually polls until a condition of the server holds. It fails only when the numbers
// of tasks and results have not changed for a long time.
func (v view) eventually(what string, holds func() bool) {
	v.t.Helper()
	before, since := "", time.Now()
	for looks := 1; !holds(); looks++ {
		elapse(v.t, 5*time.Millisecond)
		if looks%1000 > 0 {
			continue
		}
		waiting, held := v.tasks()
		now := fmt.Sprintf("%d chunks wait, %d are held, %d tasks have a result", waiting, held, v.tasksWithResult("nq.result.*"))
		if now != before {
			before, since = now, time.Now()
		}
		if time.Since(since) > testkit.Stall {
			v.t.Fatalf("not within %v: %s (%s)", testkit.Stall, what, now)
		}
	}
}

// join connects the test to a cluster's server as a worker does.
func join(t *testing.T, url string) *bus.Bus {
	t.Helper()
	return joinAs(t, url, bus.Credentials{})
}

// joinAs connects the test to a server that asks for credentials.
func joinAs(t *testing.T, url string, credentials bus.Credentials) *bus.Bus {
	t.Helper()
	b, err := bus.Connect(bus.Config{URL: url, Credentials: credentials, Name: "test", Lease: bus.DefaultLease, Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// takeChunk takes a chunk of a run as a worker does.
func takeChunk(t *testing.T, b *bus.Bus, name string) (loan run.Loan) {
	t.Helper()
	queue := b.Queue()
	defer queue.Close()
	testkit.Eventually(t, "a chunk of run "+name+" can be taken", func() bool {
		loans, err := queue.Take(t.Context(), name, 1)
		if err != nil || len(loans) == 0 {
			return false
		}
		loan = loans[0]
		return true
	})
	return loan
}

// brake takes one chunk of a run and holds it, so that the run can't end before release,
// which returns the chunk to the queue. Before the first result the chunk has one task.
func brake(t *testing.T, b *bus.Bus, name string) (release func()) {
	t.Helper()
	return hold(t, b, takeChunk(t, b, name))
}

// hold extends the lease of a chunk until release, which returns it to the queue. Heartbeats name the chunk
// from shortly before a coordinator looks for it: otherwise it would be published again.
func hold(t *testing.T, b *bus.Bus, loan run.Loan) (release func()) {
	t.Helper()
	const quiet = 12 * time.Second // it looks after 15 s
	lease, begun := loan.Lease, time.Now()
	held, stop := context.WithCancel(t.Context())
	var holding sync.WaitGroup
	holding.Go(func() {
		tick := time.NewTicker(bus.DefaultLease / 4)
		defer tick.Stop()
		h := run.Heartbeat{Worker: "brake", Kernel: "none", Threads: 1, Busy: 1, Held: []run.HeldChunk{{Run: loan.Chunk.Run, Chunk: loan.Chunk.ID}}}
		for {
			h.Leaving = held.Err() != nil
			if time.Since(begun) > quiet {
				_ = b.Telemetry().PublishHeartbeat(h, identitytest.Of("brake")) // fails while the server is away
			}
			if h.Leaving {
				return
			}
			select {
			case <-tick.C:
				_ = lease.Extend() // fails while the server is away: the next one may do
			case <-held.Done():
			}
		}
	})
	return func() {
		t.Helper()
		stop()
		holding.Wait()
		if err := lease.Release(); err != nil {
			t.Fatal(err)
		}
	}
}

// listen returns a function that returns the tasks and results published since its last
// call.
func listen(t *testing.T, v view) (heard func() []*nats.Msg) {
	t.Helper()
	subscription, err := v.conn.SubscribeSync("nq.>")
	if err != nil {
		t.Fatal(err)
	}
	return func() (list []*nats.Msg) {
		t.Helper()
		for _, m := range received(t, v, subscription) {
			if strings.HasPrefix(m.Subject, "nq.task.") || strings.HasPrefix(m.Subject, "nq.result.") {
				list = append(list, m)
			}
		}
		return list
	}
}

// received returns the messages of a subscription since the last call.
func received(t *testing.T, v view, subscription *nats.Subscription) (list []*nats.Msg) {
	t.Helper()
	if err := v.conn.Flush(); err != nil {
		t.Fatal(err)
	}
	pending, _, err := subscription.Pending()
	for range pending {
		var m *nats.Msg
		if m, err = subscription.NextMsg(testkit.Stall); err != nil {
			break
		}
		list = append(list, m)
	}
	if err != nil {
		t.Fatal(err)
	}
	return list
}
