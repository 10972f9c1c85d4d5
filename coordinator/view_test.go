//go:build unix

package main_test

import (
	"context"
	"fmt"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"nqueens/pkg/bus"
	"nqueens/pkg/cli/clitest"
	"nqueens/pkg/testkit"
)

// view is what NATS's own client sees of a server.
type view struct {
	t    *testing.T
	conn *nats.Conn
	js   jetstream.JetStream
}

func inspect(t *testing.T, url string) view {
	t.Helper()
	conn, err := nats.Connect(url, nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	return view{t: t, conn: conn, js: js}
}

// tasks returns the number of tasks that wait for a worker, and of those that
// workers hold; negative numbers where the server does not say.
func (v view) tasks() (waiting, held int) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	consumer, err := v.js.Consumer(ctx, "NQ_TASKS", "workers")
	if err != nil {
		return -1, -1
	}
	info := consumer.CachedInfo()
	return int(info.NumPending), info.NumAckPending
}

// messages returns the number of messages on a subject of a stream, or -1.
func (v view) messages(stream, subject string) int {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	s, err := v.js.Stream(ctx, stream)
	if err != nil {
		return -1
	}
	info, err := s.Info(ctx, jetstream.WithSubjectFilter(subject))
	if err != nil {
		return -1
	}
	sum := 0
	for _, n := range info.State.Subjects {
		sum += int(n)
	}
	return sum
}

// results returns the number of results on the server, of all runs.
func (v view) results() int { return v.messages("NQ_RESULTS", ">") }

// startFrozen starts the first worker of a run of so many tasks, and stops it with
// SIGSTOP in the middle of one. It returns the number of tasks that the worker has
// taken and not reported: when it goes on, it will report the first of them.
func (v view) startFrozen(url string, tasks int) (worker *clitest.Process, unreported int) {
	v.t.Helper()
	v.eventually("all tasks are published", func() bool { waiting, _ := v.tasks(); return waiting == tasks })
	worker = startWorker(v.t, url)
	taken := func() int {
		waiting, _ := v.tasks()
		results := v.results()
		if waiting < 0 || results < 0 {
			return 0
		}
		return tasks - waiting - results
	}
	for {
		// It asks for the second when it has the first.
		v.eventually("the worker has taken two tasks", func() bool { return taken() >= 2 })
		worker.Signal(syscall.SIGSTOP)
		// What it said last may still be on its way.
		const quiet = 300 * time.Millisecond
		unreported = taken()
		for since := time.Now(); time.Since(since) < quiet; time.Sleep(quiet / 20) {
			if now := taken(); now != unreported {
				unreported, since = now, time.Now()
			}
		}
		if unreported >= 2 {
			return worker, unreported
		}
		if waiting, _ := v.tasks(); waiting == 0 {
			v.t.Fatal("the worker was too fast to be stopped in the middle of a task")
		}
		worker.Signal(syscall.SIGCONT)
	}
}

// eventually polls until a condition of the server holds. It fails only when the numbers
// of tasks and results have not changed for a long time.
func (v view) eventually(what string, holds func() bool) {
	v.t.Helper()
	before, since := "", time.Now()
	for looks := 1; !holds(); looks++ {
		time.Sleep(5 * time.Millisecond)
		if looks%1000 > 0 {
			continue
		}
		waiting, held := v.tasks()
		now := fmt.Sprintf("%d tasks wait, %d are held, %d have a result", waiting, held, v.results())
		if now != before {
			before, since = now, time.Now()
		}
		if time.Since(since) > testkit.Stall {
			v.t.Fatalf("not within %v: %s (%s)", testkit.Stall, what, now)
		}
	}
}

// join connects this process to a cluster's server, to play a worker.
func join(t *testing.T, url string) *bus.Bus {
	t.Helper()
	b, err := bus.Connect(bus.Config{URL: url, Name: "test", Lease: bus.DefaultLease, Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// brake takes one task and holds it, so that the run can't end before release is
// called, which hands it back.
func brake(t *testing.T, b *bus.Bus) (release func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testkit.Stall)
	defer cancel()
	_, lease, err := b.Queue().Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	held, stop := context.WithCancel(t.Context())
	var holding sync.WaitGroup
	holding.Go(func() {
		tick := time.NewTicker(bus.DefaultLease / 4)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				_ = lease.Extend() // fails while the server is away: the next one may do
			case <-held.Done():
				return
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
