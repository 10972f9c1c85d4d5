package coordinator_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"nqueens/pkg/coordinator"
	"nqueens/pkg/identity/identitytest"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/testkit"
)

// losers are workers whose loss counts: each has results of its own.
var losers = []string{"a", "b", "c"}

// search has a worker say that it holds chunks.
func (r *testRun) search(worker string, held ...run.HeldChunk) {
	r.cfg.Roster.ObserveHeartbeat(run.Heartbeat{
		Worker: worker, Key: identitytest.Of(worker).Key(), Kernel: "k", Threads: 1, Held: held,
	})
}

// If only a dead-lettered task and a dispute are left, the run ends and names both.
func TestBlockedByBoth(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for seconds")
	}
	t.Parallel()
	r := start(t, 6, nil)
	tasks := r.take(r.tasks())
	deadly, disputed := tasks[3].task.ID, tasks[5].task.ID
	for _, name := range losers {
		r.search(name, run.HeldChunk{Run: r.name, Chunk: tasks[3].chunk, Searching: true})
	}
	for i, d := range tasks {
		if d.task.ID == deadly {
			continue
		}
		r.publish(r.result(d, losers[i%3]))
		if d.task.ID == disputed {
			liar := r.result(d, "liar")
			liar.Counts[0].Count++
			r.publish(liar)
		}
	}
	_, err := r.end()
	for _, word := range []string{fmt.Sprintf("were lost while searching task %d", deadly), fmt.Sprintf("task %d was counted", disputed)} {
		if !errors.Is(err, queens.ErrIncomplete) || !strings.Contains(err.Error(), word) {
			t.Errorf("error %v does not say %s", err, word)
		}
	}
}

// Two counts of one task withhold the total. If no worker is connected to count it a third
// time, the run ends and names both.
func TestConflictWithholdsTheTotal(t *testing.T) {
	r := start(t, 6, nil)
	tasks := r.take(r.tasks())
	r.publish(r.result(tasks[0], "honest"))
	liar := r.result(tasks[0], "liar")
	liar.Counts[0].Count++
	r.publish(liar)
	for _, d := range tasks[1:] {
		r.publish(r.result(d, "honest"))
	}
	got, err := r.end()
	if !errors.Is(err, queens.ErrIncomplete) || got.Total != nil {
		t.Fatalf("total %v, error %v, want no total and %v", got.Total, err, queens.ErrIncomplete)
	}
	for _, word := range []string{fmt.Sprint("task ", tasks[0].task.ID), "honest", "liar"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("error %q does not name %s", err, word)
		}
	}
	if got.Snapshot.Disputes != 1 {
		t.Errorf("%d disputes, want 1", got.Snapshot.Disputes)
	}
}

// A task whose two counts contradict each other is published again, alone. The count of a third settles the dispute, whichever of them was accepted first,
// and also if the coordinator dies in between.
func TestConflictIsSettledByAnother(t *testing.T) {
	for _, first := range []string{"honest", "liar"} {
		for _, dies := range []bool{false, true} {
			t.Run(fmt.Sprint("first the ", first, ", dies: ", dies), func(t *testing.T) {
				r := start(t, 6, func(c *coordinator.Config) { c.DisputeTimeout = time.Hour })
				tasks := r.take(r.tasks())
				results := map[string]*queens.ChunkResult{"honest": r.result(tasks[0], "honest"), "liar": r.result(tasks[0], "liar")}
				results["liar"].Counts[0].Count++
				second := map[string]string{"honest": "liar", "liar": "honest"}[first]
				r.publish(results[first])
				r.publish(results[second])
				for _, d := range tasks[1:] {
					r.publish(r.result(d, "honest"))
				}
				if dies {
					testkit.Eventually(t, "the conflict is logged and all tasks are done", func() bool {
						return len(r.log.Lines("dispute: ")) > 0 && r.progress().Done == r.m.Tasks-1
					})
					r.restart()
				}
				again := r.next()
				for again.task.ID != tasks[0].task.ID || again.chunk == tasks[0].chunk {
					again = r.next()
				}
				if !again.alone {
					t.Error("the task came with others")
				}
				r.publish(r.result(again, "third"))
				if got := r.exact(); got.Snapshot.Disputes != 1 {
					t.Errorf("%d disputes, want 1", got.Snapshot.Disputes)
				}
			})
		}
	}
}

// A task is dead-lettered, and deleted from the queue, when workers of three keys were lost while
// searching it. When all others are counted the run ends without a total, and names the
// task, the workers, and a way to count it alone.
func TestTaskThatLosesWorkersIsDeadLettered(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for seconds")
	}
	t.Parallel()
	r := start(t, 6, nil)
	tasks := r.take(r.tasks())
	deadly := tasks[3].task.ID
	for _, name := range losers {
		r.search(name,
			run.HeldChunk{Run: r.name, Chunk: tasks[3].chunk, Searching: true}, run.HeldChunk{Run: "another", Chunk: tasks[4].chunk, Searching: true},
			run.HeldChunk{Run: r.name, Chunk: tasks[6].chunk}) // not begun
	}
	r.search("d", run.HeldChunk{Run: r.name, Chunk: tasks[5].chunk, Searching: true})
	for i, d := range tasks {
		if d.task.ID != deadly {
			r.publish(r.result(d, losers[i%3]))
			if err := d.lease.Ack(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	got, err := r.end()
	if !errors.Is(err, queens.ErrIncomplete) || got.Total != nil || got.Snapshot.Done != r.m.Tasks-1 {
		t.Fatalf("total %v, %d tasks done, error %v", got.Total, got.Snapshot.Done, err)
	}
	for _, word := range []string{"a", "b", "c", fmt.Sprintf("coordinator ledger %s --task %d | worker task", r.name, deadly)} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("error %q does not say %s", err, word)
		}
	}
	stream, err := r.admin.Stream(t.Context(), "NQ_TASKS")
	if err != nil {
		t.Fatal(err)
	}
	if info, err := stream.Info(t.Context()); err != nil || info.State.Msgs != 0 {
		t.Errorf("%d tasks stay on the server (error %v)", info.State.Msgs, err)
	}
}

// A sum beyond the published total ends the run at once, one below it at the end.
func TestContradictionWithTheKnownTotal(t *testing.T) {
	for name, wrong := range map[string]uint64{"beyond": 1 << 60, "below": 0} {
		t.Run(name, func(t *testing.T) {
			r := start(t, 6, nil)
			tasks := r.take(r.tasks())
			results := make([]*queens.ChunkResult, len(tasks))
			changed := false
			for i, d := range tasks {
				results[i] = r.result(d, "w")
				if !changed && results[i].Counts[0].Count > 0 {
					results[i].Counts[0].Count, changed = wrong, true
					if wrong > 0 {
						r.publish(results[i]) // alone it must be enough
						break
					}
				}
			}
			if wrong == 0 {
				for _, result := range results {
					r.publish(result)
				}
			}
			got, err := r.end()
			if !errors.Is(err, queens.ErrContradiction) || got.Total != nil {
				t.Fatalf("total %v, error %v, want no total and %v", got.Total, err, queens.ErrContradiction)
			}
		})
	}
}
