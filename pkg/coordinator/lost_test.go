package coordinator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/testkit"
)

// loser plays workers that are lost while they search chunks, beside those of the fleet.
type loser struct {
	*simulation
	deadly func(task uint64) bool // kills who searches it
	died   map[uint64]time.Time   // when a worker took a chunk last that killed it
	deaths int
	alone  []uint64 // tasks that the coordinator has counted in a process of its own
	fails  bool     // these counts fail
	err    error    // of the run
	// keyOf, unless nil, is the key of the next worker that dies; otherwise those of the fleet do in turn.
	keyOf func(deaths int) string
}

// newLoser starts a simulation with honest workers of these keys, each of which has counted a chunk. They
// die of the deadly tasks.
func newLoser(t *testing.T, redundancy int, deadly func(task uint64) bool, keys ...string) *loser {
	l := &loser{
		simulation: &simulation{t: t, rng: testkit.Rand(t), folder: t.TempDir(), created: time.Now(), trust: ledger.Trust{Redundancy: redundancy}},
		deadly:     deadly, died: make(map[uint64]time.Time),
	}
	l.create()
	l.takes, l.ended = l.survives, func(err error) { l.err = err }
	l.c.cfg.Alone = func(context.Context, *queens.Task) (queens.TaskCount, error) { panic("see countAlone") }
	for _, key := range keys {
		l.fleet = append(l.fleet, &player{name: key, admitted: true})
	}
	l.greet()
	l.until("every key has counted something", func() bool {
		return !slices.ContainsFunc(l.fleet, func(p *player) bool { return l.c.ledger.Chunks(p.name) == 0 })
	})
	return l
}

func harmless(uint64) bool { return false }

// until lets everybody work, and counts what the coordinator counts alone, until done.
func (l *loser) until(what string, done func() bool) {
	l.t.Helper()
	for step := 1; l.err == nil && !done(); step++ {
		if step == 100_000 {
			l.t.Fatalf("%s: %d of %d tasks are counted", what, l.c.ledger.Len(), l.c.collector.manifest.Tasks)
		}
		l.play(step)
		l.countAlone()
	}
}

// survives reports whether a worker of the fleet that takes a chunk lives on. The next one takes it once the
// lease of a dead one has lapsed.
func (l *loser) survives(_ *player, c *queens.Chunk) bool {
	for i := range c.Tasks {
		task := l.c.window.tasks[c.First+uint64(i)]
		if !l.deadly(c.First+uint64(i)) || task == nil {
			continue
		}
		if time.Since(l.died[c.ID]) > 20*time.Second {
			l.deaths++
			l.died[c.ID] = time.Now()
			key := l.fleet[len(task.lost)%len(l.fleet)].name
			if l.keyOf != nil {
				key = l.keyOf(l.deaths)
			}
			l.lose(key, fmt.Sprint("victim", l.deaths), c.ID)
		}
		return false
	}
	return true
}

// countAlone does what aloneLoop does.
func (l *loser) countAlone() {
	select {
	case task := <-l.c.alone.tasks:
		l.alone = append(l.alone, task.ID)
		if err := task.Validate(); err != nil {
			l.t.Fatal(err)
		}
		v := verdict{task: task, count: queens.TaskCount{Hash: task.Hash(), Count: countOf(task.Hash()), Kernel: "generic"}}
		if l.fails {
			v.err = errors.New("signal: killed")
		}
		l.err = l.c.countedLost(&v)
	default:
	}
}

// lose has a worker of a key search chunks, and fall silent.
func (l *loser) lose(key, worker string, chunks ...uint64) {
	h := heartbeat(worker, 1, chunks...)
	h.Key, h.Admission = key, []byte{1}
	l.c.cfg.Roster.ObserveHeartbeat(h)
}

// inFlight returns the chunks that are published.
func (l *loser) inFlight() (chunks []uint64) {
	for id, c := range l.c.window.chunks {
		if c.streamSeq != 0 {
			chunks = append(chunks, id)
		}
	}
	return chunks
}

// expire lets the workers that are silent be lost.
func (l *loser) expire() {
	time.Sleep(time.Minute)
	l.greet()
	l.err = l.c.sweep()
	l.c.window.lookUp(l.t)
}

func (l *loser) exact() {
	l.t.Helper()
	if wrong := l.wrongTasks(); l.err != nil || len(wrong) > 0 || !l.c.collector.complete() {
		l.t.Errorf("error %v, wrong tasks %v, %d tasks are counted", l.err, wrong, l.c.ledger.Len())
	}
	l.stop()
}

// However many workers one key invents, and has fall silent while they search every chunk of the run, and
// whatever keys do that have counted nothing, no task is dead-lettered, and the run ends with its total.
func TestInventedWorkersDoNotEndARun(t *testing.T) {
	for _, keys := range [][]string{{"hostile"}, {"new1", "new2", "new3", "new4"}} {
		synctest.Test(t, func(t *testing.T) {
			l := newLoser(t, 1, harmless, "honest", "hostile")
			l.fleet = l.fleet[:1]
			for round := range 20 {
				for i := range 5 {
					l.lose(keys[i%len(keys)], fmt.Sprint("phantom", round, i), l.inFlight()...)
				}
				l.expire()
				if l.c.window.deadLettered > 0 {
					t.Fatalf("%d tasks are dead-lettered after %d rounds", l.c.window.deadLettered, round+1)
				}
				for step := range 20 {
					l.play(step)
				}
			}
			l.until("the run ends", func() bool { return l.c.collector.complete() })
			l.exact()
		})
	}
}

// A task that workers of three keys were lost with is counted by the coordinator itself, when all others are
// counted, and in a process of its own. The run ends with its total.
func TestDeadLettersAreCountedAloneAtTheEnd(t *testing.T) {
	for _, redundancy := range []int{1, 2} {
		synctest.Test(t, func(t *testing.T) {
			const deadly = 20
			l := newLoser(t, redundancy, func(id uint64) bool { return id == deadly || id == deadly+1 }, "a", "b", "c")
			l.until("a task is counted alone", func() bool { return len(l.alone) > 0 })
			if left := l.c.collector.manifest.Tasks - l.c.collector.agreedLen; left != 1 || l.c.window.deadLettered != 1 {
				t.Errorf("after the first, %d tasks are left, of which %d are dead-lettered", left, l.c.window.deadLettered)
			}
			l.until("the run ends", func() bool { return l.c.collector.complete() })
			if !slices.Equal(l.alone, []uint64{deadly, deadly + 1}) {
				t.Errorf("the coordinator has counted the tasks %v alone, want %d and the next", l.alone, deadly)
			}
			if c := l.c.ledger.Confirmation(); c.Redundancy != 0 || l.c.ledger.Voters(deadly-1) != redundancy {
				t.Errorf("with redundancy %d, the counts of the coordinator alone make it %+v", redundancy, c)
			}
			l.exact()
		})
	}
}

// Where all workers have one key, or each worker that is started again has a new one, a task that kills each
// of them is counted by the coordinator too at the end: the run does not wait for ever.
func TestDeadlyTaskOfAFleetWithFewKnownKeys(t *testing.T) {
	for name, keyOf := range map[string]func(int) string{
		"one key": nil, "new keys": func(deaths int) string { return fmt.Sprint("new", deaths) },
	} {
		synctest.Test(t, func(t *testing.T) {
			const deadly = 40
			l := newLoser(t, 1, func(id uint64) bool { return id == deadly }, "fleet")
			l.keyOf = keyOf
			l.until("the run ends", func() bool { return l.c.collector.complete() })
			if !slices.Contains(l.alone, deadly) || len(l.alone) > queens.MaxChunk {
				t.Errorf("%s: the coordinator has counted the tasks %v alone, after %d losses", name, l.alone, l.deaths)
			}
			l.exact()
		})
	}
}

// If the process that counts them dies too, the run ends: the error names the tasks, ten of them at most.
func TestRunGivesUpWhatNobodyCanCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const deadly = 25
		l := newLoser(t, 1, func(id uint64) bool { return id >= 10 && id < 10+deadly }, "a")
		l.fails = true
		l.until("the run ends", func() bool { return l.c.collector.complete() })
		if !errors.Is(l.err, queens.ErrIncomplete) || len(l.alone) != deadly {
			t.Fatalf("error %v after counts of %v", l.err, l.alone)
		}
		text := l.err.Error()
		if strings.Count(text, "were lost while searching task") != 10 || !strings.HasSuffix(text, "and 15 more") || !strings.Contains(text, "signal: killed") || len(text) > 10_000 {
			t.Errorf("the error has %d bytes: %.1000s", len(text), text)
		}
		l.stop()
	})
}

// What a worker holds is published again as soon as its key is quarantined, and not once its lease lapses.
func TestChunksOfAQuarantinedKeyArePublishedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const task = 40
		l := newLoser(t, 1, func(id uint64) bool { return id == task }, "honest", "wrong")
		l.takes = func(*player, *queens.Chunk) bool { return false }
		l.expire() // those who died of the task
		l.until("its chunk is in flight", func() bool {
			t := l.c.window.tasks[task]
			return t != nil && t.chunk != nil && t.chunk.streamSeq != 0
		})
		chunk := l.c.window.tasks[task].chunk.id
		l.lose("wrong", "w", chunk)
		l.takes = nil
		if err := l.c.quarantine(&queens.Result{Run: "r", Key: "wrong", Worker: "w", Task: task, Kernel: "k", Admitted: true}, 1); err != nil {
			t.Fatal(err)
		}
		for l.c.window.chunks[chunk] != nil {
			if _, ok := l.c.window.nextRequest(); !ok {
				t.Fatal("its chunk stays in flight")
			}
			l.request()
		}
		l.until("the run ends", func() bool { return l.c.collector.complete() })
		l.exact()
	})
}

// While workers are idle, the log names the worker that holds chunks and reports no result, and says what to
// do. It does so once in a while.
func TestLogNamesTheWorkerThatKeepsOthersIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := newTestCoordinator(t)
		var log bytes.Buffer
		c.cfg.Log = zerolog.New(&log)
		chunk := c.window.publish(t).chunk
		for range 30 {
			h := heartbeat("hoarder", 1, chunk)
			h.Key = "its key"
			c.cfg.Roster.ObserveHeartbeat(h)
			c.cfg.Roster.ObserveHeartbeat(heartbeat("idle", 4))
			if err := c.sweep(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(4 * time.Second)
		}
		if text := log.String(); strings.Count(text, "reports no result") != 1 || !strings.Contains(text, `"worker":"hoarder","key":"its key","chunks":1`) || !strings.Contains(text, "keys revoke") {
			t.Errorf("the log: %s", text)
		}
	})
}

// However many workers fall silent at once, the log names some, and then says how many more there were.
func TestLogOfLostWorkersIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := newTestCoordinator(t)
		var log bytes.Buffer
		c.cfg.Log = zerolog.New(&log)
		c.window.publish(t)
		for i := range 4000 {
			c.cfg.Roster.ObserveHeartbeat(heartbeat(fmt.Sprint(i), 1))
		}
		for range 3 {
			time.Sleep(time.Minute)
			if err := c.sweep(); err != nil {
				t.Fatal(err)
			}
		}
		if text := log.String(); strings.Count(text, `"worker lost"`) != 100 || !strings.Contains(text, `"workers":3900,"message":"more workers were lost`) {
			t.Errorf("the log has %d lines on lost workers: %.2000s", strings.Count(text, `"worker lost"`), text)
		}
	})
}
