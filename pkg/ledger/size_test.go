package ledger_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
)

// shuffledInWindow returns the tasks 0..n-1 in an order in which a run may end them: the next
// is any of those in its window.
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

// typical is a result as large runs have them.
func typical(rng *rand.Rand, task uint64) queens.Result {
	r := result(task, rng.Uint64N(1<<40), 1+rng.Uint32N(64))
	r.Attempt, r.Elapsed = 1, 1e9+r.Elapsed
	return r
}

// acceptMany enters tasks in groups.
func acceptMany(t testing.TB, l *ledger.Ledger, rng *rand.Rand, tasks []uint64, group int) {
	t.Helper()
	batch := make([]queens.Result, 0, group)
	for len(tasks) > 0 {
		batch = batch[:0]
		for _, task := range tasks[:min(group, len(tasks))] {
			batch = append(batch, typical(rng, task))
		}
		accept(t, l, position(l.Len()+uint64(len(batch))), batch...)
		tasks = tasks[len(batch):]
	}
}

// A task takes at most 100 bytes on disk, where tasks end in order, nearly in order,
// and in any order within a large window. The last, which takes long, is left out under
// the race detector, to which it is nothing new.
func TestSizeOnDisk(t *testing.T) {
	cases := []struct{ tasks, window, group int }{
		{100_000, 1, 1024},
		{50_000, 1000, 256},
		{200_000, 16384, 512},
	}
	if underRace {
		cases = cases[:2]
	}
	for _, c := range cases {
		rng := rand.New(rand.NewPCG(1, 2))
		folder := t.TempDir()
		l := create(t, folder, uint64(c.tasks))
		acceptMany(t, l, rng, shuffledInWindow(rng, c.tasks, c.window), c.group)
		closed(t, l)
		info, err := os.Stat(filepath.Join(folder, file))
		if err != nil {
			t.Fatal(err)
		}
		bytes := float64(info.Size()) / float64(c.tasks)
		t.Logf("window %d: %.1f bytes a task", c.window, bytes)
		if bytes > 100 {
			t.Errorf("window %d: %.1f bytes a task, more than 100", c.window, bytes)
		}
	}
}

// A ledger is about as large as is expected of it, to a quarter, whatever the number of
// tasks, when they come a few at a time.
func TestExpectedSize(t *testing.T) {
	for _, tasks := range []int{0, 1, 50, 100, 300, 1000, 3000, 10_000, 30_000, 100_000} {
		rng := rand.New(rand.NewPCG(1, 2))
		folder := t.TempDir()
		l := create(t, folder, uint64(tasks))
		acceptMany(t, l, rng, shuffledInWindow(rng, tasks, 20), 4+tasks/1000)
		closed(t, l)
		info, err := os.Stat(filepath.Join(folder, file))
		if err != nil {
			t.Fatal(err)
		}
		expected := ledger.ExpectedSize(uint64(tasks))
		if ratio := float64(info.Size()) / float64(expected); ratio < 0.75 || ratio > 1.25 {
			t.Errorf("%d tasks take %d bytes, %d were expected", tasks, info.Size(), expected)
		}
	}
}

// In memory a task takes a bit, whether it is accepted or not.
func TestSizeInMemory(t *testing.T) {
	const tasks = 10_000_000
	folder := t.TempDir()
	l := create(t, folder, tasks)
	rng := rand.New(rand.NewPCG(1, 2))
	acceptMany(t, l, rng, shuffledInWindow(rng, 100_000, 1000), 1000)
	closed(t, l)
	before := heap()
	l = open(t, openWriter, folder)
	if used := heap() - before; used > 4<<20 {
		t.Errorf("it holds %d bytes", used)
	}
	runtime.KeepAlive(l)
}

func heap() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
