package coordinator

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/ledger"
	"nqueens/pkg/progress"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/split"
	"nqueens/pkg/symmetry"
)

// recordedBeats keeps the beats that are published.
type recordedBeats struct {
	mu    sync.Mutex
	beats []run.Beat
}

func (r *recordedBeats) PublishBeat(b run.Beat) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.beats = append(r.beats, b)
	return nil
}

func (r *recordedBeats) number() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.beats)
}

// newTestCoordinator returns a coordinator of an empty board of side 8 without a server.
func newTestCoordinator(t *testing.T) (*Coordinator, *recordedBeats) {
	t.Helper()
	classes, err := symmetry.Classes(8, queens.Mirror)
	if err != nil {
		t.Fatal(err)
	}
	m, err := split.Plan(t.Context(), 8, queens.Mirror, classes, 2)
	if err != nil {
		t.Fatal(err)
	}
	l, err := ledger.Create(t.TempDir(), ledger.Header{Run: "r", Created: time.Now(), Manifest: m})
	if err != nil {
		t.Fatal(err)
	}
	beats := new(recordedBeats)
	c := New(Config{
		Roster: progress.NewRoster(), CheckAfter: time.Second, RepublishAfter: time.Hour, DisputeTimeout: time.Second,
		OnProgress: func(run.Progress) {}, ReportEvery: time.Hour, Log: zerolog.Nop(),
	}, nil, nil, beats, nil, l)
	t.Cleanup(func() {
		c.window.close()
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return c, beats
}

// heartbeat is that of a worker that holds chunks.
func heartbeat(worker string, threads int, chunks ...uint64) run.Heartbeat {
	h := run.Heartbeat{Worker: worker, Version: "1", Kernel: "k", Threads: threads}
	for _, chunk := range chunks {
		h.Held = append(h.Held, run.HeldChunk{Run: "r", Chunk: chunk, Searching: true})
	}
	return h
}

// A beat says how many published chunks no worker holds, and names those that workers hold and
// that are not in flight, once the results that the server had at the start are recorded.
func TestBeatNamesWhatIsHeldInVain(t *testing.T) {
	c, _ := newTestCoordinator(t)
	for range 3 {
		c.window.publish(t)
	}
	c.window.fill() // one that is not published yet
	held := c.window.tasks[0].chunk.id
	c.cfg.Roster.ObserveHeartbeat(heartbeat("w", 3, held, 99))
	c.cfg.Roster.ObserveHeartbeat(run.Heartbeat{Worker: "x", Kernel: "k", Threads: 4, Held: []run.HeldChunk{{Run: "other", Chunk: 98}}})
	for _, reconciled := range []bool{false, true} {
		c.reconciled = reconciled
		c.updateBeat()
		b := c.beat.Load()
		if b.Waiting != 2 || b.Threads != 7 || b.Weight != 1 || b.Epoch != 1 || b.State != run.Running || b.Run != "r" {
			t.Errorf("beat %+v, want 2 chunks waiting for 7 threads", b)
		}
		if obsolete := len(b.Obsolete) == 1 && b.Obsolete[0] == 99; obsolete != reconciled || !reconciled && len(b.Obsolete) > 0 {
			t.Errorf("reconciled %v: obsolete are %v", reconciled, b.Obsolete)
		}
		if err := b.Validate(); err != nil {
			t.Error(err)
		}
	}
}

// A beat is valid whatever workers claim, or no worker would believe the run to be alive.
func TestBeatIsValidWhateverWorkersClaim(t *testing.T) {
	c, _ := newTestCoordinator(t)
	c.reconciled = true
	var many []uint64
	for id := range uint64(run.MaxObsolete) {
		many = append(many, id+1)
	}
	for i := range 1 << 14 {
		h := heartbeat(fmt.Sprint(i), 1<<16+1)
		h.Key = fmt.Sprint("key", i%10)
		c.cfg.Roster.ObserveHeartbeat(h)
	}
	c.cfg.Roster.ObserveHeartbeat(heartbeat("a", 1, many...))
	c.cfg.Roster.ObserveHeartbeat(heartbeat("b", 1, 1<<40, 1<<41))
	c.updateBeat()
	if err := c.beat.Load().Validate(); err != nil || len(c.beat.Load().Obsolete) != run.MaxObsolete {
		t.Errorf("%v, or not %d obsolete chunks: %d", err, run.MaxObsolete, len(c.beat.Load().Obsolete))
	}
}

// Beats come at once, every two seconds, and after greetings: of few workers soon, but greetings
// of many cannot flood all of them with beats. Obsolete chunks are named once.
func TestGreetingsDoNotFlood(t *testing.T) {
	for _, c := range []struct{ workers, least, most int }{{1, 150, 200}, {10_000, 5, 11}} {
		synctest.Test(t, func(t *testing.T) {
			coordinator, beats := newTestCoordinator(t)
			for i := range c.workers {
				h := heartbeat(fmt.Sprint(i), 1, 99)
				h.Key = fmt.Sprint("key", i%10)
				coordinator.cfg.Roster.ObserveHeartbeat(h)
			}
			coordinator.reconciled = true
			coordinator.updateBeat()
			ctx, stop := context.WithCancel(t.Context())
			go func() { _ = coordinator.beatLoop(ctx) }()
			for range 10_000 {
				coordinator.Greet()
				time.Sleep(time.Millisecond)
			}
			synctest.Wait()
			greeted := beats.number()
			if greeted < c.least || greeted > c.most {
				t.Errorf("%d beats to %d workers in 10 s, want %d to %d", greeted, c.workers, c.least, c.most)
			}
			time.Sleep(10 * run.BeatInterval)
			stop()
			synctest.Wait()
			if n := beats.number() - greeted; n < 9 || n > 12 {
				t.Errorf("%d beats in 20 s without greetings", n)
			}
			for i, b := range beats.beats {
				if (len(b.Obsolete) > 0) != (i == 0) {
					t.Errorf("beat %d names the obsolete chunks %v", i, b.Obsolete)
				}
			}
		})
	}
}

// A beat goes out at once when work waits again after a beat that said that none did, but not with
// every chunk.
func TestWorkThatWaitsAgainIsAnnounced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := newTestCoordinator(t)
		time.Sleep(time.Second)
		for i, want := range []struct{ greets, waiting int }{{1, 1}, {0, 1}, {0, 0}, {1, 3}} {
			switch i {
			case 2: // the beat says that nothing waits, soon after the last
				c.beat.Store(&run.Beat{})
			case 3:
				time.Sleep(changeInterval + 1)
			}
			if i != 2 {
				c.window.publish(t)
			}
			c.announceWork()
			if got := len(c.greetings); got != want.greets || c.beat.Load().Waiting != want.waiting {
				t.Errorf("step %d: %d greetings, beat %+v, want %+v", i, got, c.beat.Load(), want)
			}
			for len(c.greetings) > 0 {
				<-c.greetings
			}
		}
	})
}

// While results wait for their tasks to be looked up, the ledger's position stays before them:
// after a crash they are read again.
func TestPositionStaysBeforePendingResults(t *testing.T) {
	c, _ := newTestCoordinator(t)
	var results []queens.ChunkResult
	var last queens.Task
	for task := range split.Tasks(&c.collector.manifest) {
		last = task
		results = append(results, queens.ChunkResult{
			Run: "r", Manifest: c.collector.manifest.Hash, Chunk: task.ID + 1, First: task.ID, Worker: "w",
			Counts: []queens.TaskCount{{Hash: task.Hash(), Kernel: "k"}},
		})
	}
	issued := c.window.publish(t)
	at := run.StreamPosition{Created: time.Now(), Sequence: 1}
	pending := delivery{result: results[last.ID], position: at}
	at.Sequence = 2
	if err := c.receive([]delivery{pending, {result: results[issued.first], position: at}}); err != nil {
		t.Fatal(err)
	}
	if got := c.ledger.Position().Sequence; got != 0 || c.ledger.Len() != 1 {
		t.Errorf("the position is %d with %d results, want 0 with the issued one", got, c.ledger.Len())
	}
	if err := c.handleFound([]queens.Task{last}); err != nil {
		t.Fatal(err)
	}
	if got := c.ledger.Position().Sequence; got != 2 || c.ledger.Len() != 2 {
		t.Errorf("the position is %d with %d results, want 2 with both", got, c.ledger.Len())
	}
}
