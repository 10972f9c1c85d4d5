package ledger_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"time"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

func Example() {
	folder, err := os.MkdirTemp("", "run")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(folder) }()
	manifest := queens.Manifest{
		SplitVersion: 1, N: 4, Symmetry: queens.None, Tasks: 4,
		Classes: []queens.ClassPlan{{Class: queens.Class{Board: queens.FullBoard(4), Weight: 1}, Depth: 1, Batch: 1}},
	}
	l, err := ledger.Create(folder, ledger.Header{Run: "n4", Created: time.Now(), Manifest: manifest, Trust: ledger.Trust{Redundancy: 1}})
	if err != nil {
		fmt.Println(err)
		return
	}
	results := []run.Result{
		{Task: 1, Count: 1, Worker: "a", Key: "key-a", Admitted: true, Kernel: "generic", Attempt: 1},
		{Task: 1, Count: 1, Worker: "b", Key: "key-b", Admitted: true, Kernel: "generic", Attempt: 2},
		{Task: 2, Count: 7, Worker: "a", Key: "key-a", Admitted: true, Kernel: "generic", Attempt: 1},
		{Task: 2, Count: 1, Worker: "b", Key: "key-b", Admitted: true, Kernel: "generic", Attempt: 2},
		{Task: 2, Count: 1, Worker: "c", Key: "key-c", Admitted: true, Kernel: "generic", Attempt: 3},
	}
	verdicts, err := l.Accept(results, 0, run.StreamPosition{Sequence: 5})
	fmt.Println(verdicts[1] == ledger.Confirmed, verdicts[3] == ledger.Conflict, verdicts[4] == ledger.Settled, err, l.Close())

	// What was accepted is on disk.
	if l, err = ledger.Open(context.Background(), folder, nil); err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = l.Close() }()
	for r, err := range l.Range(0, math.MaxUint64) {
		fmt.Printf("task %d: %d by %s (%v)\n", r.Task, r.Count, r.Worker, err)
	}
	fmt.Printf("%d of %d tasks, %d dispute\n", l.Len(), manifest.Tasks, len(l.Disputes()))
	// Output:
	// true true true <nil> <nil>
	// task 1: 1 by a (<nil>)
	// task 2: 1 by b (<nil>)
	// 2 of 4 tasks, 1 dispute
}
