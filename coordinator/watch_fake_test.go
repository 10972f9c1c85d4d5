//go:build unix

package main_test

import (
	"context"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"time"

	"nqueens/pkg/bus"
	"nqueens/pkg/cli/clitest"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// fake is a run that the test coordinates.
type fake struct {
	t      *testing.T
	server server
	bus    *bus.Bus
	run    string
	claim  *bus.Claim
	placed []queens.Square
}

func startFake(t *testing.T, placed ...queens.Square) *fake {
	t.Helper()
	return startFakeOn(t, startServer(t), placed...)
}

func startFakeOn(t *testing.T, server server, placed ...queens.Square) *fake {
	t.Helper()
	f := &fake{t: t, server: server, run: "n8-fake", placed: placed}
	f.bus = join(t, f.server.url)
	f.begin()
	return f
}

// begin claims the run.
func (f *fake) begin() {
	t := f.t
	t.Helper()
	if err := f.bus.Ensure(t.Context(), f.run); err != nil {
		t.Fatal(err)
	}
	var err error
	f.claim, err = f.bus.Registry().Claim(t.Context(), run.Record{
		Run: f.run, Owner: "the test", Created: time.Now(), Redundancy: 1,
		Manifest: queens.Manifest{SplitVersion: 1, N: 8, Symmetry: queens.None, Placed: f.placed, Tasks: 4, Classes: []queens.ClassPlan{
			{Class: queens.Class{Board: queens.FullBoard(8), Weight: 1}, Depth: 1, Batch: 2},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// decimal returns a number of solutions.
func decimal(x int64) *run.Decimal { return (*run.Decimal)(big.NewInt(x)) }

func (f *fake) snapshot(state run.State) run.Snapshot {
	return run.Snapshot{
		Run: f.run, N: 8, Symmetry: queens.None, Placed: f.placed, State: state,
		Done: 3, Tasks: 4, WorkDone: 0.7, Solutions: decimal(60),
	}
}

// end stores in the record how the run has ended, and the total of a complete one.
func (f *fake) end(state run.State, total *big.Int) {
	f.t.Helper()
	last := f.snapshot(state)
	if total != nil {
		last.SetTotal(total, &run.Confirmation{Redundancy: 1, Tasks: 4})
	}
	f.claim.SetSnapshot(&last)
	if err := f.claim.Renew(f.t.Context(), state, 4, 0); err != nil {
		f.t.Fatal(err)
	}
}

// publish publishes a snapshot until the watcher writes the pattern.
func (f *fake) publish(p *clitest.Process, s run.Snapshot, pattern string) {
	f.t.Helper()
	ctx, stop := context.WithCancel(f.t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		interval := time.NewTicker(50 * time.Millisecond)
		defer interval.Stop()
		for ctx.Err() == nil {
			_ = f.bus.Telemetry().PublishSnapshot(&s) // the next one may succeed
			select {
			case <-interval.C:
			case <-ctx.Done():
			}
		}
	}()
	p.Await(pattern)
	stop()
	<-ended
}

// The objects of watch --json are the snapshots: strictly decoded, they are what was published.
func TestWatchObjectsAreTheSnapshots(t *testing.T) {
	t.Parallel()
	f := startFake(t, queens.Square{Row: 0, Column: 0}, queens.Square{Row: 1, Column: 2})
	p := startWatchJSON(t, f.run, "--nats", f.server.url)
	seconds := func(d time.Duration) run.Seconds { return run.Seconds{Duration: d} }
	want := f.snapshot(run.Running)
	want.At, want.Elapsed, want.ETA = time.Unix(1e9, 0).UTC(), seconds(time.Minute), &run.ETA{Min: seconds(time.Second), Max: seconds(2 * time.Second)}
	want.Republished, want.Disputes, want.States, want.Bottleneck = 1, 2, run.TaskStates{InFlight: 1}, run.ByLedger
	want.WorkerList = []run.Worker{{Name: "w", Kernel: "generic", Threads: 2, Held: 1, Oldest: seconds(1500 * time.Millisecond)}}
	f.publish(p, want, `("oldest_s":1.5)`)
	first, _, _ := strings.Cut(p.Stdout(), "\n")
	var got run.Snapshot
	if err := run.DecodeStrict([]byte(first), run.MaxSnapshotBytes, &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%s is not %+v (error %v)", first, want, err)
	}
}

// Where no total is published, a watcher prints that of the record, whatever a snapshot says. If the server
// asks for no keys, anybody can write the record too: then it prints none, and says where the total is.
func TestWatchPrintsTheTotalOfTheRecord(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		flags []string
		exit  int
		want  string
	}{{"protected", []string{"--user", "bell", "--pass", "s3cret"}, 0, "93\n"}, {"open", nil, 1, ""}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := startServer(t, c.flags...)
			if c.flags != nil {
				server.url = strings.Replace(server.url, "//", "//bell:s3cret@", 1)
			}
			f := startFakeOn(t, server, queens.Square{Row: 0, Column: 0})
			p := startWatch(t, f.run, "--nats", f.server.url, "--log-level", "debug")
			p.Await(`("connected")`)
			f.end(run.Complete, big.NewInt(93))
			forged := f.snapshot(run.Complete)
			forged.Total = decimal(666)
			f.publish(p, forged, `("exit":1|93\n)`)
			if out := p.ExpectExit(c.exit); out != c.want || p.Lines("666") > 0 {
				t.Errorf("it printed %q, want %q", out, c.want)
			}
			if c.exit != 0 {
				p.Await(`(anybody who reaches it can write what it says of the run)`)
				p.Await(`"exit":1,.*(run n8-fake: the run is complete, as its record says, and its total is not shown: .*coordinator resume RUN, where its ledger is, prints it again)`)
			}
		})
	}
}
