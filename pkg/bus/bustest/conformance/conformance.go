// Package conformance tests what packages coordinator and worker rely on of a bus: the one over NATS passes it, and
// the server in memory. Only tests import it.
package conformance

import (
	"context"
	"fmt"
	"reflect"
	"testing"
	"time"

	"nqueens/pkg/identity/identitytest"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/testkit"
)

// Bus is a connection to a server, with what packages coordinator and worker need of it.
type Bus struct {
	Ensure    func(ctx context.Context, run string) error
	Tasks     Tasks
	Queue     func() Queue // for one goroutine each
	Results   Results
	Claim     func(ctx context.Context, r run.Record) (Claim, error)
	Record    func(ctx context.Context, run string) (run.Record, error)
	Cancel    func(ctx context.Context, run string) error
	Telemetry Telemetry
}

// Tasks is the coordinator's side of the queue of chunks.
type Tasks interface {
	Publish(ctx context.Context, chunk *run.Chunk) (sequence uint64, err error)
	Has(ctx context.Context, run string, chunk, sequence uint64) (queued, taken bool, err error)
	Delete(ctx context.Context, run string, chunk, sequence uint64) error
	Purge(ctx context.Context, run string) error
}

// Queue is the worker's side of it.
type Queue interface {
	Take(ctx context.Context, run string, most int) ([]run.Loan, error)
	Park(run string)
	Parked() <-chan run.Loan
	Close()
}

// Results is the stream of results.
type Results interface {
	Publish(ctx context.Context, r *run.ChunkResult) error
	Read(ctx context.Context, run string, after run.StreamPosition,
		each func(run.ChunkResult, run.StreamPosition), caughtUp func(asOf time.Time)) error
	Trim(ctx context.Context, run string, at run.StreamPosition) error
}

// Claim is a coordinator's hold on a run.
type Claim interface {
	Epoch() uint64
	Renew(ctx context.Context, state run.State, done, lost uint64) error
}

// Telemetry carries heartbeats and announcements.
type Telemetry interface {
	PublishHeartbeat(h run.Heartbeat, signer run.Signer) error
	SubscribeHeartbeats(each func(run.Heartbeat)) (unsubscribe func(), err error)
	PublishAnnouncement(b run.Announcement) error
	SubscribeAnnouncements(each func(run.Announcement)) (unsubscribe func(), err error)
}

// TestServer is a server under test.
type TestServer interface {
	// Connect connects to the server as another process does. The connection ends with the test.
	Connect(t *testing.T) Bus
	// Save keeps a copy of what the server holds.
	Save(t *testing.T)
	// RollBack has the server forget what came after Save, and keep its names and times of creation. Before
	// other connections reach the server again, it calls publish with a new one.
	RollBack(t *testing.T, publish func(Bus))
	// DeleteStreams deletes the queue and the results.
	DeleteStreams(t *testing.T)
	// DeleteRecord deletes the record of a run.
	DeleteRecord(t *testing.T, run string)
}

// Test tests what packages coordinator and worker rely on, with a new server for each property. Start
// starts a server whose leases have that length; in runs a test where Start works.
//
// The queue:
//   - Take returns the chunks that wait, as they were published and in that order, none for another run, and
//     no more than it was asked for.
//   - A chunk goes to one worker at a time. It comes again, to any worker: at once when it was released, after
//     the delay when it was postponed, and when a lease that nobody extends has lapsed.
//   - Redelivered counts the deliveries before this one.
//   - A chunk that was acknowledged, deleted or purged never comes again. A late acknowledgement is no error.
//   - A parked request brings one chunk, published before or after it.
//   - A closed queue keeps no chunk: one that nobody received goes to other workers. Leases outlive it.
//   - A chunk that is published again is stored once. Other chunks of the same tasks are stored too.
//   - Has finds a chunk from its Publish to its acknowledgement, says whether a worker has taken it, and finds no
//     other message under its sequence.
//
// The results:
//   - A result that Publish returned nil for comes to every Read from an earlier position, in the order of the
//     positions, until it is trimmed or the server loses it.
//   - Read begins after a position of the stream. It begins with the first result if the stream was replaced, or
//     has lost the result at the position, even if it has grown again since.
//   - Read calls caughtUp when all results that were stored before the time of the call's argument have come,
//     again and again. The times grow.
//   - Trim keeps the results after the position, and those of other runs.
//   - A result that was changed after its worker signed it never comes.
//
// The records:
//   - Each claim has an epoch of its own, above that of the record and that of the claimant's ledger.
//   - Only the newest claim can be renewed; the error of the others wraps [run.ErrIncomplete]. After a
//     cancellation nobody has or gets the run; the error wraps [run.ErrCancelled].
//   - A deleted record is made again by the next renewal. Of two claims with one epoch the newer one holds.
//
// Heartbeats and announcements:
//   - They come as they were sent, to everybody who subscribes, until unsubscribe was called. Those of one
//     connection have growing times.
func Test(t *testing.T, start func(t *testing.T, lease time.Duration) TestServer,
	in func(t *testing.T, test func(t *testing.T)),
) {
	const long = time.Hour
	for _, property := range []struct {
		name  string
		lease time.Duration
		holds func(t *testing.T, s *conforming)
	}{
		{"Take returns published chunks", long, takeReturnsPublishedChunks},
		{"runs are apart", long, runsAreApart},
		{"Take takes no more than asked", long, takeTakesNoMore},
		{"queues share chunks", long, queuesShareChunks},
		{"released chunks come at once", long, releasedChunksComeAtOnce},
		{"postponed chunks come later", long, postponedChunksComeLater},
		{"leases lapse unless extended", time.Second, leasesLapseUnlessExtended},
		{"Redelivered counts deliveries", 300 * time.Millisecond, redeliveredCountsDeliveries},
		{"acknowledged chunks are gone", 300 * time.Millisecond, acknowledgedChunksAreGone},
		{"late acknowledgements are harmless", 300 * time.Millisecond, lateAckIsHarmless},
		{"deleted chunks are gone", 300 * time.Millisecond, deletedChunksAreGone},
		{"purged chunks are gone", 300 * time.Millisecond, purgedChunksAreGone},
		{"Park brings one chunk", long, parkBringsOneChunk},
		{"a closed queue keeps no chunk", long, closedQueueKeepsNothing},
		{"chunks are stored once", long, chunksAreStoredOnce},
		{"Has finds chunks", long, hasFindsChunks},
		{"Has finds no other message", long, hasFindsNoOtherMessage},
		{"Read delivers results", long, readDeliversResults},
		{"Read begins after a position", long, readBeginsAfterAPosition},
		{"Read notices another stream", long, readNoticesAnotherStream},
		{"Read notices lost results, and more in their place", long, readNoticesLostResults(6)},
		{"Read notices lost results, and as many in their place", long, readNoticesLostResults(3)},
		{"Read notices lost results, and fewer in their place", long, readNoticesLostResults(1)},
		{"Read catches up", long, readCatchesUp},
		{"Trim keeps what is needed", long, trimKeepsWhatIsNeeded},
		{"changed results never come", long, changedResultsNeverCome},
		{"claims have growing epochs", long, claimsHaveGrowingEpochs},
		{"the newest claim holds", long, newestClaimHolds},
		{"of concurrent claims one holds", long, oneClaimHolds},
		{"a deleted record is restored", long, deletedRecordIsRestored},
		{"the newest claim of one epoch holds", long, newestClaimOfOneEpochHolds},
		{"cancelled runs end", long, cancelledRunsEnd},
		{"heartbeats come", long, heartbeatsCome},
		{"announcements come", long, announcementsCome},
	} {
		t.Run(property.name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				property.holds(t, newConforming(t, start(t, property.lease), property.lease))
			})
		})
	}
}

// The runs of the tests.
const run1, run2 = "n8-a", "n8-b"

// conforming is a server with the streams of two runs, and two connections to it.
type conforming struct {
	TestServer
	lease      time.Duration
	bus, other Bus
}

func newConforming(t *testing.T, server TestServer, lease time.Duration) *conforming {
	t.Helper()
	s := &conforming{TestServer: server, lease: lease, bus: server.Connect(t), other: server.Connect(t)}
	s.ensure(t)
	return s
}

// ensure makes what is missing. A real server that still deletes a stream may fail for a while.
func (s *conforming) ensure(t *testing.T) {
	t.Helper()
	testkit.Eventually(t, "the streams of two runs are there", func() bool {
		return s.bus.Ensure(t.Context(), run1) == nil && s.bus.Ensure(t.Context(), run2) == nil
	})
}

// Chunk returns a valid chunk of two tasks, on a board of side 8.
func Chunk(name string, id uint64) run.Chunk {
	board := queens.FullBoard(8)
	c := run.Chunk{Run: name, ID: id, Board: board, First: 10 * id}
	for i := range uint64(2) {
		c.Tasks = append(c.Tasks, []queens.Prefix{
			queens.Prefix{}.Place(&board, 1<<((id+i)%8)),
			queens.Prefix{}.Place(&board, 1<<((id+i+1)%8)),
		})
	}
	return c
}

// Result returns a valid result of that chunk, which worker w has signed.
func Result(name string, id uint64) run.ChunkResult {
	return *identitytest.Seal(&run.ChunkResult{
		Run: name, Chunk: id, First: 10 * id, Worker: "w", Counted: time.Unix(1_800_000_000, 7).UTC(),
		Counts: []run.TaskCount{{Hash: 1, Count: 4, Kernel: "generic"}, {Hash: 2, Count: 5, Kernel: "generic"}},
	})
}

// Record returns the record of a run as its ledger has it before the first claim.
func Record(name string) run.Record {
	board := queens.FullBoard(8)
	return run.Record{
		Run: name, Owner: "host-a", Created: time.Date(2026, 11, 20, 15, 30, 12, 0, time.UTC), Redundancy: 1,
		Manifest: queens.Manifest{SplitVersion: 1, N: 8, Symmetry: "none", Tasks: 4, Hash: [32]byte{1, 2, 3}, Classes: []queens.ClassPlan{
			{Class: queens.Class{Board: board, Weight: 1}, Depth: 1, Batch: 2},
		}},
	}
}

func check[T any](t *testing.T, what string, have, want T) {
	t.Helper()
	if !reflect.DeepEqual(have, want) {
		t.Errorf("%s: %v, want %v", what, have, want)
	}
}

// must fails the test if there is an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// receive returns the next value from a channel.
func receive[T any](t *testing.T, from <-chan T, what string, args ...any) (next T) {
	t.Helper()
	select {
	case next = <-from:
	case <-time.After(testkit.Stall):
		t.Fatalf("not within %v: %s", testkit.Stall, fmt.Sprintf(what, args...))
	}
	return next
}
