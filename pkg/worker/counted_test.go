package worker

import (
	"testing"

	"nqueens/pkg/run"
)

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
