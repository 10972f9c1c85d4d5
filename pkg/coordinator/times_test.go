package coordinator

import (
	"math"
	"math/big"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/coordinator/flight"
	"nqueens/pkg/ledger"
	"nqueens/pkg/progress"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// The times of a run and its history are those of the run, however often its coordinator is killed: no time in which one
// worked on it is lost, nor any solution, and each new coordinator knows at once how long the rest takes.
func TestTimesOfARunThatIsKilled(t *testing.T) {
	const lives, seconds = 12, 35
	base := worldFolder(t)
	folder := filepath.Join(base, "0")
	if err := createLedger(t, folder, 12, 4, queens.None, 0).Close(); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		var last run.Snapshot
		for life := range lives {
			c := loadTimed(t, folder)
			if first := c.measure(time.Now()); first.Elapsed.Duration < last.Elapsed.Duration-2*time.Second || life > 0 && first.ETA != nil {
				t.Errorf("life %d begins with %v elapsed and the forecast %v, without workers; the one before ended at %v", life, first.Elapsed, first.ETA, last.Elapsed)
			}
			for second := range seconds {
				c.cfg.Roster.ObserveHeartbeat(run.Heartbeat{Worker: "w", Kernel: "k", Threads: 2, Held: []run.HeldChunk{{Run: "r", Chunk: 1, Searching: true}}})
				last = c.measure(time.Now())
				if left := time.Duration(float64(c.manifest.Tasks-last.Done) / 5 * float64(time.Second)); life > 0 && (last.ETA == nil || last.ETA.Min.Duration > left || last.ETA.Max.Duration < left) {
					t.Fatalf("life %d, second %d: the forecast is %+v, want %v", life, second, last.ETA, left)
				}
				time.Sleep(time.Second)
				c.countTasks(t, 5)
			}
			last = c.measure(time.Now())
			killed := folder
			folder = filepath.Join(base, strconv.Itoa(life+1))
			if err := os.CopyFS(folder, os.DirFS(killed)); err != nil { // what a kill leaves
				t.Fatal(err)
			}
			if life == lives-1 {
				checkHistory(t, c, &last)
			}
			if err := c.ledger.Close(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Hour) // nobody works on it
		}
		if whole := lives * seconds * time.Second; last.Elapsed.Duration < whole-lives*2*time.Second || last.Elapsed.Duration > whole {
			t.Errorf("%v elapsed, want %v", last.Elapsed, whole)
		}
	})
}

// loadTimed returns the core of the run in a folder.
func loadTimed(t *testing.T, folder string) *core {
	t.Helper()
	l, err := ledger.Open(t.Context(), folder, nil)
	if err != nil {
		t.Fatal(err)
	}
	cfg := &Config{Roster: progress.NewRoster(), CheckAfter: time.Minute, RepublishAfter: time.Hour, DisputeTimeout: time.Second, Log: zerolog.Nop()}
	c, err := newCore(t.Context(), time.Now(), cfg, l)
	if err != nil {
		t.Fatal(err)
	}
	c.reconcile(time.Now())
	return c
}

// countTasks has a worker count so many chunks of a task, each with 7 solutions.
func (c *core) countTasks(t *testing.T, tasks int) {
	t.Helper()
	for tasks > 0 {
		command, ok := c.nextCommand(t)
		if !ok {
			t.Fatal("nothing is to be counted")
		}
		if command.Op != flight.Publish {
			continue
		}
		c.completed(time.Now(), &outcome{Command: command, sequence: 1})
		r := run.ChunkResult{Run: "r", Manifest: c.manifest.Hash, Chunk: command.Chunk, First: command.First, Worker: "w"}
		for _, task := range c.index.Range(command.First, command.Tasks) {
			r.Counts = append(r.Counts, run.TaskCount{Hash: task.Hash(), Count: 7, Kernel: "k", Elapsed: time.Hour})
		}
		if err := c.deliver(time.Now(), []delivery{{result: r}}); err != nil {
			t.Fatal(err)
		}
		tasks -= command.Tasks
	}
}

// checkHistory holds the history of a run with a constant rate to its times and its solutions.
func checkHistory(t *testing.T, c *core, last *run.Snapshot) {
	t.Helper()
	h := c.ledger.History()
	samples := h.Samples()
	if rest, ok := h.Rest(); ok {
		samples = append(samples, rest)
	}
	at, found := time.Duration(0), 0.0
	for i, s := range samples {
		rate := s.Solutions / (s.To - s.From).Seconds()
		if s.From != at || i > 0 && math.Abs(rate/35-1) > 0.6 || s.To-s.From > 15*time.Second {
			t.Errorf("sample %d, from %v to %v after %v, has the rate %v, want 35", i, s.From, s.To, at, rate)
		}
		at, found = s.To, found+s.Solutions
	}
	all, _ := new(big.Float).SetInt((*big.Int)(last.Solutions)).Float64()
	if at != last.Elapsed.Duration || found != all {
		t.Errorf("the history has %v solutions in %v, want %v in %v", found, at, all, last.Elapsed)
	}
}
