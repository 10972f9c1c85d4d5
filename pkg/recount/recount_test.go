package recount_test

import (
	"context"
	"os"
	"sync/atomic"
	"testing"

	"nqueens/pkg/kernel"
	"nqueens/pkg/queens"
	"nqueens/pkg/recount"
)

// TestMain is also the child that Run starts.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == recount.Command {
		if err := recount.Serve(context.Background(), os.Stdin, os.Stdout); err != nil {
			_, _ = os.Stderr.WriteString(err.Error())
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func task(k string, deeper bool) recount.Task {
	board := queens.FullBoard(8)
	var first []queens.Prefix
	for column := range 8 {
		first = append(first, queens.Prefix{}.Place(&board, 1<<column))
	}
	return recount.Task{Board: board, Prefixes: first, Kernel: k, Deeper: deeper, Threads: 3}
}

// Every kernel of this machine recounts a task, also one row deeper, in this process and in a child.
func TestRecount(t *testing.T) {
	for _, k := range kernel.Available() {
		for _, deeper := range []bool{false, true} {
			job := task(k.Name, deeper)
			if got, err := recount.Count(t.Context(), &job, new(atomic.Uint64)); got != 92 || err != nil {
				t.Errorf("%s, deeper %v: %d, %v", k.Name, deeper, got, err)
			}
		}
	}
	if got, err := recount.Run(t.Context(), task("generic", true)); got != 92 || err != nil {
		t.Errorf("a child counts %d, %v", got, err)
	}
}

// If the child process can't count, Run returns an error.
func TestChildFails(t *testing.T) {
	if _, err := recount.Run(t.Context(), task("no such kernel", false)); err == nil {
		t.Error("a child counts by no kernel")
	}
}
