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
