package coordinator

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/coordinator/flight"
	"nqueens/pkg/ledger"
	"nqueens/pkg/progress"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/split"
	"nqueens/pkg/symmetry"
)

// recordedAnnouncements keeps the announcements that are published.
type recordedAnnouncements struct {
	mu            sync.Mutex
	announcements []run.Announcement
}

func (r *recordedAnnouncements) PublishAnnouncement(b run.Announcement) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.announcements = append(r.announcements, b)
	return nil
}

func (r *recordedAnnouncements) number() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.announcements)
}

// newTestCoordinator returns a coordinator of an empty board without a server. Its ledger is loaded, and it has read
// all results that there were.
func newTestCoordinator(t testing.TB, n, depth int, symmetries queens.Symmetry) (*Coordinator, *recordedAnnouncements) {
	t.Helper()
	l := createLedger(t, t.TempDir(), n, depth, symmetries, 0)
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	announcements := new(recordedAnnouncements)
	c := New(Config{
		Roster: progress.NewRoster(), CheckAfter: time.Second, RepublishAfter: time.Hour, DisputeTimeout: time.Second,
		OnSnapshot: func(run.Snapshot) {}, ReportEvery: time.Hour, Log: zerolog.Nop(),
	}, nil, nil, announcements, nil, l)
	if err := c.load(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.core.reconciled = true
	return c, announcements
}

// createLedger creates the ledger of an empty board, of a run with a share of spot checks.
func createLedger(t testing.TB, folder string, n, depth int, symmetries queens.Symmetry, share float64) *ledger.Ledger {
	t.Helper()
	classes, err := symmetry.Classes(n, symmetries)
	if err != nil {
		t.Fatal(err)
	}
	m, err := split.Plan(t.Context(), n, symmetries, classes, depth)
	if err != nil {
		t.Fatal(err)
	}
	l, err := ledger.Create(folder, ledger.Header{Run: "r", Created: time.Now(), Manifest: m, Trust: ledger.Trust{Redundancy: 1, SpotCheck: run.SpotCheck{Share: share}}})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// nextCommand returns the next command of flight, of a chunk that was not planned before.
func (c *core) nextCommand(t testing.TB) (flight.Command, bool) {
	t.Helper()
	if _, err := c.advance(time.Now()); err != nil {
		t.Fatal(err)
	}
	return c.flight.Next()
}

// publishChunk publishes the next chunk.
func (c *core) publishChunk(t testing.TB) flight.Command {
	t.Helper()
	command, ok := c.nextCommand(t)
	if !ok || command.Op != flight.Publish {
		t.Fatalf("the command is %+v (%v), want one to publish", command, ok)
	}
	c.completed(time.Now(), &outcome{Command: command, sequence: 1})
	return command
}

// heartbeat is that of a worker that holds chunks.
func heartbeat(worker string, threads int, chunks ...uint64) run.Heartbeat {
	h := run.Heartbeat{Worker: worker, Version: "1", Kernel: "k", Threads: threads}
	for _, chunk := range chunks {
		h.Held = append(h.Held, run.HeldChunk{Run: "r", Chunk: chunk, Searching: true})
	}
	return h
}

// An announcement says how many published chunks no worker holds, and names those that workers hold and that are not in
// flight, once the results that the server had at the start are recorded.
func TestAnnouncementNamesWhatIsHeldInVain(t *testing.T) {
	c, _ := newTestCoordinator(t, 8, 2, queens.Mirror)
	held := c.core.publishChunk(t).Chunk
	for range 2 {
		c.core.publishChunk(t)
	}
	c.cfg.Roster.ObserveHeartbeat(heartbeat("w", 3, held, 99))
	c.cfg.Roster.ObserveHeartbeat(run.Heartbeat{Worker: "x", Kernel: "k", Threads: 4, Held: []run.HeldChunk{{Run: "other", Chunk: 98}}})
	for _, reconciled := range []bool{false, true} {
		c.core.reconciled = reconciled
		b := c.core.announcement()
		if b.Waiting != 2 || b.Threads != 7 || b.Weight != 1 || b.Epoch != 1 || b.State != run.Running || b.Run != "r" {
			t.Errorf("announcement %+v, want 2 chunks waiting for 7 threads", b)
		}
		if obsolete := len(b.Obsolete) == 1 && b.Obsolete[0] == 99; obsolete != reconciled || !reconciled && len(b.Obsolete) > 0 {
			t.Errorf("reconciled %v: obsolete are %v", reconciled, b.Obsolete)
		}
		if err := b.Validate(); err != nil {
			t.Error(err)
		}
	}
}

// An announcement is valid whatever workers claim, or no worker would believe the run to be alive.
func TestAnnouncementIsValidWhateverWorkersClaim(t *testing.T) {
	c, _ := newTestCoordinator(t, 8, 2, queens.Mirror)
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
	b := c.core.announcement()
	if err := b.Validate(); err != nil || len(b.Obsolete) != run.MaxObsolete {
		t.Errorf("%v, or not %d obsolete chunks: %d", err, run.MaxObsolete, len(b.Obsolete))
	}
}

// Announcements come at once, every two seconds, and after greetings: of few workers soon, but greetings
// of many cannot flood all of them with announcements. Obsolete chunks are named once.
func TestGreetingsDoNotFlood(t *testing.T) {
	for _, c := range []struct{ workers, least, most int }{{1, 150, 200}, {10_000, 5, 11}} {
		synctest.Test(t, func(t *testing.T) {
			coordinator, announcements := newTestCoordinator(t, 8, 2, queens.Mirror)
			for i := range c.workers {
				h := heartbeat(fmt.Sprint(i), 1, 99)
				h.Key = fmt.Sprint("key", i%10)
				coordinator.cfg.Roster.ObserveHeartbeat(h)
			}
			coordinator.renewAnnouncement(time.Now())
			ctx, stop := context.WithCancel(t.Context())
			go func() { _ = coordinator.announcementLoop(ctx) }()
			for range 10_000 {
				coordinator.Greet()
				time.Sleep(time.Millisecond)
			}
			synctest.Wait()
			greeted := announcements.number()
			if greeted < c.least || greeted > c.most {
				t.Errorf("%d announcements to %d workers in 10 s, want %d to %d", greeted, c.workers, c.least, c.most)
			}
			time.Sleep(10 * run.AnnouncementInterval)
			stop()
			synctest.Wait()
			if n := announcements.number() - greeted; n < 9 || n > 12 {
				t.Errorf("%d announcements in 20 s without greetings", n)
			}
			for i, b := range announcements.announcements {
				if (len(b.Obsolete) > 0) != (i == 0) {
					t.Errorf("announcement %d names the obsolete chunks %v", i, b.Obsolete)
				}
			}
		})
	}
}

// An announcement goes out at once when work waits again after an announcement that said that none did, but not with
// every chunk.
func TestWorkThatWaitsAgainIsAnnounced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := newTestCoordinator(t, 8, 2, queens.Mirror)
		time.Sleep(time.Second)
		for i, want := range []struct{ greets, waiting int }{{1, 1}, {0, 1}, {0, 0}, {1, 3}} {
			switch i {
			case 2: // the announcement says that nothing waits, soon after the last
				c.shared.announcement.Store(&run.Announcement{})
			case 3:
				time.Sleep(changeInterval + 1)
			}
			if i != 2 {
				c.core.publishChunk(t)
			}
			c.announceWork(time.Now())
			if got := len(c.greetings); got != want.greets || c.shared.announcement.Load().Waiting != want.waiting {
				t.Errorf("step %d: %d greetings, announcement %+v, want %+v", i, got, c.shared.announcement.Load(), want)
			}
			for len(c.greetings) > 0 {
				<-c.greetings
			}
		}
	})
}
