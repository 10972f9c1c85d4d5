package count_test

import (
	"context"
	"os"
	"sync/atomic"
	"testing"

	"nqueens/pkg/count"
	"nqueens/pkg/kernel"
	"nqueens/pkg/queens"
)

// TestMain runs the tests, or the recount if InChild started this process.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == count.RecountCommand {
		if err := count.ServeRecount(context.Background(), os.Stdin, os.Stdout); err != nil {
			_, _ = os.Stderr.WriteString(err.Error())
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func recountOf(k string, deeper bool) count.Recount {
	board := queens.FullBoard(8)
	var first []queens.Prefix
	for column := range 8 {
		first = append(first, queens.Prefix{}.Place(&board, 1<<column))
	}
	return count.Recount{Board: board, Prefixes: first, Kernel: k, Deeper: deeper}
}

// Every kernel of this machine recounts a task, with and without Deeper. A child process recounts it with kernel generic.
func TestRecountInChild(t *testing.T) {
	for _, k := range kernel.Available() {
		for _, deeper := range []bool{false, true} {
			job := recountOf(k.Name, deeper)
			if got, err := job.Run(t.Context(), new(atomic.Uint64)); got != 92 || err != nil {
				t.Errorf("%s, deeper %v: %d, %v", k.Name, deeper, got, err)
			}
		}
	}
	job := recountOf("generic", true)
	if got, err := job.InChild(t.Context()); got != 92 || err != nil {
		t.Errorf("a child counts %d, %v", got, err)
	}
}

// If the child process can't count, InChild returns an error.
func TestChildFails(t *testing.T) {
	job := recountOf("no such kernel", false)
	if _, err := job.InChild(t.Context()); err == nil {
		t.Error("a child counts by no kernel")
	}
}
