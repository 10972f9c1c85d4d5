package worker

import (
	"slices"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/identity/identitytest"
	"nqueens/pkg/kernel"
	"nqueens/pkg/run"
)

// A heartbeat names all chunks that a worker with many devices searches, although it holds many results
// that took longer.
func TestHeartbeatNamesAllBatches(t *testing.T) {
	const threads = 500
	cfg := Config{Name: "w", Identity: identitytest.Of("w"), Lease: time.Second, Log: zerolog.Nop()}
	for range 8 {
		cfg.Devices = append(cfg.Devices, Device{Kernel: kernel.Kernel{AtOnce: 1 << 10}, Threads: threads})
	}
	w := New(cfg, nil, nil, nil)
	defer w.setDeadlines(t.Context())()
	w.observe(run.Announcement{Run: "r", State: run.Running, Weight: 1})
	sv := w.shares.hold("r", time.Now())
	sv.begin(time.Now(), 1)
	sv.finish(time.Millisecond, true)
	var loans []run.Loan
	for id := range uint64(3 * run.MaxHeld) {
		loans = append(loans, run.Loan{Chunk: run.Chunk{Run: "r", ID: id + 1}})
	}
	w.accept(loans...)
	for _, h := range slices.Clone(w.ready[:run.MaxHeld]) {
		h.stage, h.searched = reporting, time.Hour
		w.takeBack(h)
	}
	for i := range cfg.Devices {
		w.beginBatch(&cfg.Devices[i])
	}
	searched, named := w.Status().Searching, 0
	list, busy := w.heldChunks(), w.busyThreads()
	for _, h := range list {
		if h.Searching {
			named++
		}
	}
	if searched < run.MaxHeld/2 || named != searched || busy != w.threads {
		t.Errorf("a heartbeat names %d of %d chunks in search, and %d of %d busy threads", named, searched, busy, w.threads)
	}
}

// A worker remembers the last 65536 tasks that it counted, by run, and no more.
func TestCountedTasksAreForgotten(t *testing.T) {
	t.Parallel()
	var c CountedTasks
	has := func(name string, hash uint64) bool {
		return c.hasAny(name, []run.TaskCount{{Hash: 1 << 40}, {Hash: hash}})
	}
	if has("r", 1) {
		t.Error("remembers a task before any")
	}
	for hash := range uint64(countedSize + 10) {
		c.add("r", []run.TaskCount{{Hash: hash}, {Hash: hash}}) // twice makes no difference
	}
	for hash, want := range map[uint64]bool{0: false, 9: false, 10: true, countedSize: true, countedSize + 9: true, countedSize + 10: false} {
		if has("r", hash) != want {
			t.Errorf("remembers task %d: %v, want %v", hash, !want, want)
		}
	}
	if has("s", 100) {
		t.Error("takes a task of another run for one that it counted")
	}
	if len(c.set) != countedSize || len(c.order) != countedSize {
		t.Errorf("keeps %d and %d tasks", len(c.set), len(c.order))
	}
}

// A worker keeps no more chunks of a run ready than it has searched, and no more than half of its
// share of what is queued.
func TestTargetFollowsWhatIsSearched(t *testing.T) {
	now := time.Now()
	w := &Worker{threads: 1, shares: make(shares)}
	w.shares.set("r", 1, now)
	for searched, want := range []float64{1, 1, 2, 3, 4, 5, 5, 5} {
		k := &knownRun{queued: 100, announcement: run.Announcement{Threads: 10}}
		if got := w.target("r", k); got != want {
			t.Errorf("after %d chunks %v should be ready, want %v", searched, got, want)
		}
		sv := w.shares.hold("r", now)
		sv.begin(now, 1)
		now = now.Add(time.Millisecond)
		sv.finish(time.Millisecond, true)
	}
}
