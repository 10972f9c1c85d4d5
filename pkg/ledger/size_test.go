package ledger_test

import (
	"math/rand/v2"
	"runtime"
	"testing"

	"nqueens/pkg/ledger"
	"nqueens/pkg/run"
)

// shuffledInWindow returns the tasks 0..n-1 in an order in which a run may complete them:
// the next is any of the first few that remain.
func shuffledInWindow(rng *rand.Rand, n, window int) []uint64 {
	tasks := make([]uint64, n)
	for i := range tasks {
		tasks[i] = uint64(i)
	}
	for i := range tasks {
		j := i + rng.IntN(min(window, n-i))
		tasks[i], tasks[j] = tasks[j], tasks[i]
	}
	return tasks
}

// typical returns a result as large runs have.
func typical(rng *rand.Rand, task uint64) run.Result {
	r := result(task, rng.Uint64N(1<<40), 1+rng.Uint32N(64))
	r.Attempt, r.Elapsed = 1, 1e9+r.Elapsed
	return r
}

// acceptMany accepts a result of each task, in groups.
func acceptMany(t testing.TB, l *ledger.Ledger, rng *rand.Rand, tasks []uint64, group int) {
	t.Helper()
	batch := make([]run.Result, 0, group)
	for len(tasks) > 0 {
		batch = batch[:0]
		for _, task := range tasks[:min(group, len(tasks))] {
			batch = append(batch, typical(rng, task))
		}
		accept(t, l, position(l.Len()+uint64(len(batch))), batch...)
		tasks = tasks[len(batch):]
	}
}

// A task takes at most 100 bytes on disk if tasks end in order, or in any order within a window. Each of the two has a
// fill of the pages with which it takes more.
func TestSizeOnDisk(t *testing.T) {
	const tasks = 50_000
	for _, window := range []int{1, 1000} {
		rng := rand.New(rand.NewPCG(1, 2))
		folder := t.TempDir()
		l := create(t, folder, tasks)
		acceptMany(t, l, rng, shuffledInWindow(rng, tasks, window), 1024)
		closed(t, l)
		if bytes := float64(len(fileBytes(t, folder))) / tasks; bytes > 100 {
			t.Errorf("window %d: %.1f bytes a task, more than 100", window, bytes)
		}
	}
}

// A task takes a byte and a bit of memory, accepted or not.
func TestSizeInMemory(t *testing.T) {
	const tasks = 10_000_000
	folder := t.TempDir()
	l := create(t, folder, tasks)
	rng := rand.New(rand.NewPCG(1, 2))
	acceptMany(t, l, rng, shuffledInWindow(rng, 20_000, 1000), 1000)
	closed(t, l)
	before := heap()
	l = open(t, openWriter, folder)
	if used := heap() - before; used > 12<<20 {
		t.Errorf("%d tasks take %d bytes of memory", tasks, used)
	}
	runtime.KeepAlive(l)
}

func heap() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
