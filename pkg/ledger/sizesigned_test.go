package ledger

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/testkit"
)

// Signatures add at most 40 bytes a task to the pages of the file, in chunks of 32 tasks that end in any order within a
// window. Larger chunks have fewer signatures.
func TestSizeOfSignatures(t *testing.T) {
	plain, signed := sizeOfTasks(t, false), sizeOfTasks(t, true)
	t.Logf("%.1f bytes a task, signed %.1f", plain, signed)
	if signed-plain > 40 {
		t.Errorf("signatures add %.1f bytes a task, more than 40", signed-plain)
	}
}

// sizeOfTasks returns what the pages with results and reports take, in bytes for each task.
func sizeOfTasks(t *testing.T, signed bool) float64 {
	t.Helper()
	const tasks, chunk = 1 << 14, 32
	rng := rand.New(rand.NewPCG(1, 2))
	l, err := Create(t.TempDir(), headerOf(tasks))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	order := make([]int, tasks/chunk)
	for i := range order {
		order[i] = i
	}
	for i := range order {
		j := i + rng.IntN(min(1+2048/chunk, len(order)-i))
		order[i], order[j] = order[j], order[i]
	}
	var batch []run.Result
	for i, o := range order {
		batch = append(batch, chunkOfResults(rng, o*chunk, chunk, signed)...)
		if len(batch) >= 1024 || i == len(order)-1 {
			if _, err := l.Accept(batch, 0, run.StreamPosition{Sequence: uint64(i + 1)}); err != nil {
				t.Fatal(err)
			}
			batch = nil
		}
	}
	size := 0
	err = l.view(func(tx *bbolt.Tx) error {
		for _, bucket := range [][]byte{resultsBucket, statementsBucket} {
			s := tx.Bucket(bucket).Stats()
			size += s.LeafAlloc + s.BranchAlloc
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return float64(size) / tasks
}

// chunkOfResults returns the results of consecutive tasks as a large run has them, as one worker
// reports them.
func chunkOfResults(rng *rand.Rand, first, tasks int, signed bool) []run.Result {
	worker := rng.IntN(64)
	c := run.ChunkResult{
		Run: "n20-20261120-153012-ab12", Chunk: rng.Uint64(), First: uint64(first),
		Worker: fmt.Sprintf("worker-%d", worker), Counted: time.Unix(1<<30, 0),
	}
	for range tasks {
		c.Counts = append(c.Counts, run.TaskCount{
			Hash: rng.Uint64(), Count: rng.Uint64N(1 << 32), Kernel: "avx512", Elapsed: time.Duration(rng.IntN(1 << 31)),
		})
	}
	if signed {
		c.Sealed = &run.Sealed{Key: fmt.Sprintf("U%055d", worker), Statement: c.Statement(), Signature: make([]byte, 64)}
	}
	var results []run.Result
	for i := range c.Counts {
		r := c.Result(i, 1)
		r.Admitted = signed
		results = append(results, r)
	}
	return results
}

// ExpectedSize is right to a quarter for any number of tasks whose results come in chunks that are
// signed.
func TestExpectedSize(t *testing.T) {
	for _, tasks := range []int{0, 1, 50, 300, 1000, 10_000, 50_000} {
		if tasks > 10_000 && !testkit.Full() {
			continue
		}
		rng := rand.New(rand.NewPCG(1, 2))
		h := headerOf(uint64(tasks))
		h.Manifest.N, h.Manifest.Classes[0].Board = 20, queens.FullBoard(20) // does not fit on a page
		for len(h.Manifest.Classes) < 40 {
			h.Manifest.Classes = append(h.Manifest.Classes, h.Manifest.Classes[0])
			h.Manifest.Classes[len(h.Manifest.Classes)-1].First = uint64(tasks)
		}
		l, err := Create(t.TempDir(), h)
		if err != nil {
			t.Fatal(err)
		}
		chunk := 32 + tasks/1000
		for first := 0; first < tasks; first += chunk {
			if _, err := l.Accept(chunkOfResults(rng, first, min(chunk, tasks-first), true), 0, run.StreamPosition{Sequence: uint64(first + 1)}); err != nil {
				t.Fatal(err)
			}
		}
		info, err := l.file.Stat()
		if err != nil {
			t.Fatal(err)
		}
		expected := ExpectedSize(uint64(tasks))
		if ratio := float64(info.Size()) / float64(expected); ratio < 0.75 || ratio > 1.25 {
			t.Errorf("%d tasks take %d bytes, want about %d", tasks, info.Size(), expected)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}
