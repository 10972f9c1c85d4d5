package conformance

import (
	"context"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"nqueens/pkg/run"
	"nqueens/pkg/testkit"
)

func publish(t *testing.T, b Bus, name string, ids ...uint64) (sequences []uint64) {
	t.Helper()
	for _, id := range ids {
		c := Chunk(name, id)
		sequence, err := b.Tasks.Publish(t.Context(), &c)
		must(t, err)
		sequences = append(sequences, sequence)
	}
	return sequences
}

// queue returns a queue that is closed when the test ends.
func queue(t *testing.T, b Bus) Queue {
	q := b.Queue()
	t.Cleanup(q.Close)
	return q
}

// take takes that many chunks of a run, which may have to be returned to the queue first.
func take(t *testing.T, q Queue, name string, number int) (loans []run.Loan) {
	t.Helper()
	testkit.Eventually(t, "the chunks of run "+name+" come", func() bool {
		more, _ := q.Take(t.Context(), name, number-len(loans)) // it fails if the server is slow
		loans = append(loans, more...)
		return len(loans) == number
	})
	return loans
}

func ids(loans []run.Loan) (ids []uint64) {
	for _, loan := range loans {
		ids = append(ids, loan.Chunk.ID)
	}
	return ids
}

// quiet checks that no chunk of the first run comes for that long.
func quiet(t *testing.T, b Bus, d time.Duration) {
	t.Helper()
	q := queue(t, b)
	q.Park(run1)
	select {
	case loan := <-q.Parked():
		t.Errorf("chunk %d of run %s comes", loan.Chunk.ID, loan.Chunk.Run)
	case <-time.After(d):
	}
}

// settled is how long to wait for something that must not happen, without a lease that lapses.
const settled = 100 * time.Millisecond

func takeReturnsPublishedChunks(t *testing.T, s *conforming) {
	publish(t, s.bus, run1, 1, 2, 3, 4, 5)
	q := queue(t, s.other)
	taken := take(t, q, run1, 2)
	taken = append(taken, take(t, q, run1, 3)...)
	check(t, "chunks", ids(taken), []uint64{1, 2, 3, 4, 5})
	for i, loan := range taken {
		if want := Chunk(run1, loan.Chunk.ID); !reflect.DeepEqual(loan.Chunk, want) {
			t.Errorf("%+v arrives as %+v", want, loan.Chunk)
		}
		if loan.Queued > 4-i {
			t.Errorf("%d chunks wait behind chunk %d of 5", loan.Queued, i+1)
		}
	}
	check(t, "chunks behind the last one", taken[4].Queued, 0)
	more, err := q.Take(t.Context(), run1, 10)
	if len(more) > 0 || err != nil {
		t.Errorf("%d more chunks come (error %v)", len(more), err)
	}
}

func runsAreApart(t *testing.T, s *conforming) {
	publish(t, s.bus, run2, 1, 2, 3)
	q := queue(t, s.other)
	q.Park(run1)
	publish(t, s.bus, run2, 4)
	publish(t, s.bus, run1, 5)
	check(t, "the chunk that comes for one run", receive(t, q.Parked(), "a chunk").Chunk.ID, 5)
	others := take(t, q, run2, 4)
	check(t, "the chunks that come for the other run", ids(others), []uint64{1, 2, 3, 4})
	check(t, "the run of a chunk", others[0].Chunk.Run, run2)
	quiet(t, s.other, settled)
}

func takeTakesNoMore(t *testing.T, s *conforming) {
	publish(t, s.bus, run1, 1, 2, 3)
	first, second := queue(t, s.bus), queue(t, s.other)
	check(t, "the first chunks", ids(take(t, first, run1, 1)), []uint64{1})
	check(t, "the others", ids(take(t, second, run1, 2)), []uint64{2, 3})
	for _, most := range []int{0, -1} {
		if loans, err := first.Take(t.Context(), run1, most); len(loans) > 0 || err != nil {
			t.Errorf("Take of %d chunks: %d chunks (error %v)", most, len(loans), err)
		}
	}
}

func queuesShareChunks(t *testing.T, s *conforming) {
	const total = 60
	all := make(chan run.Loan, 2*total)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var queues sync.WaitGroup
	for i := range 4 {
		q := []Bus{s.bus, s.other}[i%2].Queue()
		queues.Go(func() {
			defer q.Close()
			for ctx.Err() == nil {
				loans, _ := q.Take(ctx, run1, 1+i)
				for _, loan := range loans {
					all <- loan
				}
				q.Park(run1)
				select {
				case loan := <-q.Parked():
					all <- loan
				case <-ctx.Done():
				}
			}
		})
	}
	for id := range uint64(total) {
		publish(t, s.bus, run1, id+1)
	}
	seen := make(map[uint64]bool)
	for range total {
		next := receive(t, all, "another chunk than %d others", len(seen))
		if seen[next.Chunk.ID] {
			t.Errorf("chunk %d is delivered twice", next.Chunk.ID)
		}
		seen[next.Chunk.ID] = true
		must(t, next.Lease.Ack(t.Context()))
	}
	stop()
	queues.Wait()
}

func releasedChunksComeAtOnce(t *testing.T, s *conforming) {
	publish(t, s.bus, run1, 7)
	loan := take(t, queue(t, s.bus), run1, 1)[0]
	q := queue(t, s.other)
	q.Park(run1)
	time.Sleep(settled) // the request waits
	must(t, loan.Lease.Release())
	check(t, "the chunk that comes", receive(t, q.Parked(), "the chunk").Chunk.ID, 7)
}

func postponedChunksComeLater(t *testing.T, s *conforming) {
	const delay = time.Second
	publish(t, s.bus, run1, 7)
	q := queue(t, s.bus)
	loan := take(t, q, run1, 1)[0]
	start := time.Now()
	must(t, loan.Lease.Postpone(delay))
	take(t, q, run1, 1)
	if since := time.Since(start); since < delay*9/10 {
		t.Errorf("it comes again after %v", since)
	}
}

// A process that stalls may extend a lease too late: then the test is tried again.
func leasesLapseUnlessExtended(t *testing.T, s *conforming) {
	for tries := uint64(1); !leaseLastsWhileExtended(t, s, tries); tries++ {
		if tries == 10 {
			t.Fatalf("a lease lapsed %d times while it was extended", tries)
		}
		t.Log("the lease lapsed while it was extended: this process or the server may have stalled; trying again")
	}
}

// leaseLastsWhileExtended returns false if the lease lapsed before it was extended for the last time, or too
// soon after that.
func leaseLastsWhileExtended(t *testing.T, s *conforming, id uint64) bool {
	publish(t, s.bus, run1, id)
	extended := time.Now()
	held := take(t, queue(t, s.bus), run1, 1)[0]
	other := queue(t, s.other)
	other.Park(run1)
	for deadline := extended.Add(2 * s.lease); time.Now().Before(deadline); {
		select {
		case again := <-other.Parked():
			must(t, again.Lease.Ack(t.Context()))
			return false
		case <-time.After(s.lease / 4):
			extended = time.Now()
			must(t, held.Lease.Extend())
		}
	}
	again := receive(t, other.Parked(), "the chunk, after its lease has lapsed")
	must(t, again.Lease.Ack(t.Context()))
	return time.Since(extended) >= s.lease*9/10
}

func redeliveredCountsDeliveries(t *testing.T, s *conforming) {
	publish(t, s.bus, run1, 7)
	one, other := queue(t, s.bus), queue(t, s.other)
	first := take(t, one, run1, 1)[0].Lease
	check(t, "redelivered at first", first.Redelivered(), 0)
	must(t, first.Release())
	check(t, "redelivered after a release", take(t, other, run1, 1)[0].Lease.Redelivered(), 1)
	third := take(t, one, run1, 1)[0].Lease
	check(t, "redelivered after its lease lapsed", third.Redelivered(), 2)
	must(t, third.Postpone(time.Millisecond))
	check(t, "redelivered after it was postponed", take(t, other, run1, 1)[0].Lease.Redelivered(), 3)
	publish(t, s.bus, run2, 8)
	check(t, "another chunk redelivered", take(t, other, run2, 1)[0].Lease.Redelivered(), 0)
}

func acknowledgedChunksAreGone(t *testing.T, s *conforming) {
	publish(t, s.bus, run1, 7)
	must(t, take(t, queue(t, s.bus), run1, 1)[0].Lease.Ack(t.Context()))
	quiet(t, s.other, 3*s.lease)
}

// A worker that was suspended beyond its lease acknowledges a chunk that another worker has by then.
func lateAckIsHarmless(t *testing.T, s *conforming) {
	publish(t, s.bus, run1, 7)
	late := take(t, queue(t, s.bus), run1, 1)[0].Lease
	second := take(t, queue(t, s.other), run1, 1)[0].Lease
	if err := late.Extend(); err != nil {
		t.Errorf("extend the lapsed lease: %v", err)
	}
	for name, lease := range map[string]run.Lease{"late": late, "second": second} {
		if err := lease.Ack(t.Context()); err != nil {
			t.Errorf("%s acknowledgement: %v", name, err)
		}
	}
	quiet(t, s.other, 3*s.lease)
	publish(t, s.bus, run1, 8)
	check(t, "the next chunk", ids(take(t, queue(t, s.bus), run1, 1)), []uint64{8})
}

// Neither a chunk that waits nor one that a worker holds comes after it was deleted.
func deletedChunksAreGone(t *testing.T, s *conforming) {
	sequences := publish(t, s.bus, run1, 1, 2)
	held := take(t, queue(t, s.bus), run1, 1)[0]
	check(t, "the chunk that is held", held.Chunk.ID, 1)
	for i, sequence := range sequences {
		for range 2 { // the second time it is gone
			must(t, s.other.Tasks.Delete(t.Context(), run1, uint64(i)+1, sequence))
		}
	}
	quiet(t, s.other, 4*s.lease)
	if err := held.Lease.Ack(t.Context()); err != nil {
		t.Errorf("late acknowledgement: %v", err)
	}
	publish(t, s.bus, run1, 3)
	check(t, "the next chunk", ids(take(t, queue(t, s.bus), run1, 1)), []uint64{3})
}

func purgedChunksAreGone(t *testing.T, s *conforming) {
	publish(t, s.bus, run1, 1, 2)
	publish(t, s.bus, run2, 3)
	take(t, queue(t, s.bus), run1, 1)
	must(t, s.other.Tasks.Purge(t.Context(), run1))
	quiet(t, s.other, 3*s.lease)
	check(t, "the chunks of the other run", ids(take(t, queue(t, s.bus), run2, 1)), []uint64{3})
}

// There is one parked request of a queue and run at a time, however often Park is called.
func parkBringsOneChunk(t *testing.T, s *conforming) {
	q := queue(t, s.other)
	for range 5 {
		q.Park(run1)
		q.Park(run2)
	}
	publish(t, s.bus, run1, 1, 2, 3)
	check(t, "the chunk that comes", receive(t, q.Parked(), "a chunk").Chunk.ID, 1)
	check(t, "the others", ids(take(t, queue(t, s.bus), run1, 2)), []uint64{2, 3})
	q.Park(run1)
	publish(t, s.bus, run1, 4)
	check(t, "the chunk that comes", receive(t, q.Parked(), "another chunk").Chunk.ID, 4)
	check(t, "further chunks", len(q.Parked()), 0)
}

func closedQueueKeepsNothing(t *testing.T, s *conforming) {
	publish(t, s.bus, run1, 1, 2, 3)
	q := s.bus.Queue()
	held := take(t, q, run1, 2)
	q.Park(run1) // brings chunk 3
	q.Park(run2)
	time.Sleep(settled) // the requests are at the server
	q.Close()
	publish(t, s.bus, run2, 4)
	if err := held[0].Lease.Ack(t.Context()); err != nil {
		t.Errorf("acknowledgement: %v", err)
	}
	if err := held[1].Lease.Release(); err != nil {
		t.Errorf("release: %v", err)
	}
	came := ids(take(t, queue(t, s.other), run1, 2))
	slices.Sort(came)
	check(t, "the chunks for others", came, []uint64{2, 3})
	other := take(t, queue(t, s.other), run2, 1)
	check(t, "those of the other run", ids(other), []uint64{4})
	check(t, "their deliveries before", other[0].Lease.Redelivered(), 0)
	if _, err := q.Take(t.Context(), run1, 1); err == nil {
		t.Error("a closed queue takes chunks")
	}
}

func chunksAreStoredOnce(t *testing.T, s *conforming) {
	first := publish(t, s.bus, run1, 7)
	check(t, "the sequence of the duplicate", publish(t, s.bus, run1, 7), first)
	check(t, "the sequence of the duplicate of another process", publish(t, s.other, run1, 7), first)
	again := Chunk(run1, 7)
	again.ID = 9
	_, err := s.bus.Tasks.Publish(t.Context(), &again)
	must(t, err)
	publish(t, s.bus, run2, 7)
	check(t, "chunks", ids(take(t, queue(t, s.bus), run1, 2)), []uint64{7, 9})
	quiet(t, s.other, settled)
	check(t, "chunks of the other run", ids(take(t, queue(t, s.bus), run2, 1)), []uint64{7})
}

// has returns whether a chunk of the first run is queued, and taken.
func has(t *testing.T, b Bus, id, sequence uint64) [2]bool {
	t.Helper()
	queued, taken, err := b.Tasks.Has(t.Context(), run1, id, sequence)
	must(t, err)
	return [2]bool{queued, taken}
}

func hasFindsChunks(t *testing.T, s *conforming) {
	first, second := publish(t, s.bus, run1, 7)[0], publish(t, s.bus, run1, 8)[0]
	check(t, "queued and taken while it waits", has(t, s.other, 7, first), [2]bool{true, false})
	held := take(t, queue(t, s.bus), run1, 1)[0].Lease
	testkit.Eventually(t, "it is queued and taken", func() bool { return has(t, s.other, 7, first) == [2]bool{true, true} })
	check(t, "queued and taken, of the one behind it", has(t, s.other, 8, second), [2]bool{true, false})
	must(t, held.Postpone(100_000*time.Hour))
	check(t, "queued and taken after it was postponed", has(t, s.other, 7, first), [2]bool{true, true})
	must(t, held.Ack(t.Context()))
	check(t, "queued and taken after the acknowledgement", has(t, s.other, 7, first), [2]bool{false, false})
	check(t, "queued and taken beyond the last sequence", has(t, s.other, 9, second+1), [2]bool{false, false})
}

// A queue that is made again counts from 1 again.
func hasFindsNoOtherMessage(t *testing.T, s *conforming) {
	sequence := publish(t, s.bus, run1, 7)[0]
	s.DeleteStreams(t)
	s.ensure(t)
	check(t, "the sequence of another chunk", publish(t, s.bus, run2, 7)[0], sequence)
	check(t, "queued and taken", has(t, s.bus, 7, sequence), [2]bool{false, false})
	must(t, s.bus.Tasks.Delete(t.Context(), run1, 7, sequence))
	check(t, "the other chunk after Delete", ids(take(t, queue(t, s.bus), run2, 1)), []uint64{7})
}
