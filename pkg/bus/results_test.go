package bus_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"nqueens/pkg/bus"
	"nqueens/pkg/bus/bustest"
	"nqueens/pkg/bus/bustest/conformance"
	"nqueens/pkg/identity/identitytest"
	"nqueens/pkg/run"
	"nqueens/pkg/testkit"
)

// Results come in the order of the stream, although cores verify them at the same time and some take
// much longer than others.
func TestReadKeepsTheOrder(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	const number = 200
	for id := range uint64(number) {
		r := result("n8-a", id+1)
		if id%5 == 0 {
			r.Counts = slices.Repeat(r.Counts, run.MaxChunk/2)
			r = *identitytest.Seal(&r)
		}
		publishResult(t, s.bus, r)
	}
	read := read(t, s.other)
	for id := range uint64(number) {
		check(t, "the next chunk", receive(t, read.Results, "a result").Chunk, id+1)
		check(t, "its sequence", receive(t, read.Positions, "its position").Sequence, id+1)
	}
}

func TestUnreadableResultsAreCounted(t *testing.T) {
	t.Parallel()
	var log testkit.Log
	s := newScene(t, logTo(&log))
	flood := append([]byte{0xff, 0xfe}, make([]byte, 3000)...)
	for range 3 {
		s.raw(t, "nq.result.n8-a", flood)
	}
	s.raw(t, "nq.result.n8-a", otherVersion(t))
	s.raw(t, "nq.result.n8-a", nil)
	read := read(t, s.bus)
	publishResult(t, s.other, result("n8-a", 7))
	s.raw(t, "nq.result.n8-a", flood)
	publishResult(t, s.other, result("n8-a", 8))
	check(t, "the result that comes", receive(t, read.Results, "a result").Chunk, 7)
	check(t, "the result that comes", receive(t, read.Results, "a result").Chunk, 8)
	check(t, "rejected messages", s.bus.Rejected(), 6)
	check(t, "log lines about garbage", len(log.Lines("fffe0000")), 1)
	check(t, "log lines about versions", len(log.Lines("version 5")), 1)
	check(t, "log lines", len(log.Lines("")), 2)
}

// Read on an empty server creates the streams.
func TestReadCreatesTheStreams(t *testing.T) {
	t.Parallel()
	server := bustest.Server(t)
	read := read(t, bustest.Connect(t, server))
	_, js := bustest.Admin(t, server)
	testkit.Eventually(t, "streams and consumer are there", func() bool {
		_, noStream := js.Stream(t.Context(), results)
		_, noConsumer := js.Consumer(t.Context(), tasks, "n8-a")
		return noStream == nil && noConsumer == nil
	})
	publishResult(t, bustest.Connect(t, server), result("n8-a", 7))
	check(t, "the result that comes", receive(t, read.Results, "a result").Chunk, 7)
}

// While results cannot be read, Read waits and logs the reason once.
func TestReadLogsOnceWhyItWaits(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: runs without -short")
	}
	t.Parallel()
	var log testkit.Log
	s := newScene(t)
	wrong := s.stream(t, tasks).Config
	wrong.MaxAge = time.Hour
	update(t, s, wrong)
	lookups := s.watch(t, "$JS.API.STREAM.INFO."+tasks)
	read := read(t, bustest.Connect(t, s.server, logTo(&log)))
	for range 3 {
		receive(t, lookups, "another lookup")
	}
	if lines := log.Lines(""); len(lines) != 1 || !strings.Contains(lines[0], "its maximum age is 1h") {
		t.Errorf("after 3 lookups it has logged %q, want the reason once", lines)
	}
	wrong.MaxAge = 0
	update(t, s, wrong)
	publishResult(t, s.other, result("n8-a", 7))
	check(t, "the result that comes", receive(t, read.Results, "a result").Chunk, 7)
	if lines := log.Lines(""); len(lines) != 1 {
		t.Errorf("it has logged %q, want the reason once", lines)
	}
}

// When the stream is nearly full, Read removes the results of runs without a record, which any worker can publish; but
// nothing while the record of its own run is missing, as after a loss of all records.
func TestReadMakesRoom(t *testing.T) {
	t.Parallel()
	var log testkit.Log
	s := newScene(t, logTo(&log))
	claim(t, s.other, record("n8-b"))
	publishResult(t, s.other, result("n8-b", 1))
	for i := range 30 {
		s.raw(t, []string{"nq.result.n99-none", "nq.result.n99-none", "nq.result.NONE"}[i%3], make([]byte, 1000))
	}
	info := s.stream(t, results)
	info.Config.MaxBytes = int64(info.State.Bytes) + 8
	update(t, s, info.Config)
	read := read(t, s.bus)
	testkit.Eventually(t, "a log line about the nearly full stream", func() bool { return len(log.Lines("nearly full: workers")) == 1 })
	check(t, "results while there is no record of the own run", s.stream(t, results).State.Msgs, 31)
	claim(t, s.other, record("n8-a"))
	testkit.Eventually(t, "the results of runs without a record are removed", func() bool { return s.stream(t, results).State.Msgs == 1 })
	publishResult(t, s.other, result("n8-a", 7))
	check(t, "the result that comes", receive(t, read.Results, "a result").Chunk, 7)
	check(t, "log lines about it", len(log.Lines(`"runs":2,"messages":30`)), 1)
	check(t, "results of a run with a record", s.stored(t, results, "nq.result.n8-b"), 1)
	s.raw(t, "nq.result.*", make([]byte, 30_000))
	testkit.Eventually(t, "the result of a run with the name * is removed", func() bool { return s.stream(t, results).State.Msgs == 0 })
	publishResult(t, s.other, result("n8-a", 8))
	read.Await(t, 8)
	check(t, "log lines about the nearly full stream", len(log.Lines("nearly full: workers")), 1)
}

func TestReadLeavesNoGoroutine(t *testing.T) {
	s := newScene(t)
	publishResult(t, s.bus, result("n8-a", 7))
	read := read(t, s.bus)
	receive(t, read.Results, "a result")
	read.End(t)
	testkit.NoGoroutines(t, "nats.go/jetstream")
}

// read reads the results of run n8-a until the test ends.
func read(t *testing.T, b *bus.Bus) *conformance.Reader {
	t.Helper()
	return readAfter(t, b, run.StreamPosition{})
}

func readAfter(t *testing.T, b *bus.Bus, after run.StreamPosition) *conformance.Reader {
	t.Helper()
	return conformance.Read(t, b.Results(), "n8-a", after)
}
