package count

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"nqueens/pkg/halves"
	"nqueens/pkg/kernel"
	"nqueens/pkg/queens"
)

// Kernels are the kernels that count tasks, one for each method.
type Kernels struct {
	Prefixes kernel.Kernel
	Halves   halves.Kernel // the zero value is the default of this machine
	// Memory limits what the method halves takes; nil is no limit.
	Memory *Memory
}

// HalvesNamed returns the kernel of the method halves for one of the method prefixes: that of the
// same name, which uses the same instructions, or else the default of this machine, as for auto and
// devices.
func HalvesNamed(name string) halves.Kernel {
	k, err := halves.Choose(name)
	if err != nil {
		return halves.Available()[0]
	}
	return k
}

// halves returns the kernel of the method halves.
func (k *Kernels) halves() halves.Kernel {
	if k.Halves.Name == "" {
		return halves.Available()[0]
	}
	return k.Halves
}

// SelfTest tests all kernels: see [kernel.SelfTest] and [halves.SelfTest].
func (k *Kernels) SelfTest(ctx context.Context) error {
	if err := kernel.SelfTest(ctx, k.Prefixes); err != nil {
		return err
	}
	return halves.SelfTest(ctx, k.halves())
}

// Searcher counts tasks of any method on one thread. Only one of its methods may run at a time.
type Searcher struct {
	// Note is for the log, if it is not empty: see [kernel.Noted].
	Note    string
	methods map[queens.Method]searcher
}

// searcher counts tasks of one method. It returns the counts of the tasks that were counted before
// an error.
type searcher interface {
	count(ctx context.Context, tasks []queens.Task, pulse *atomic.Uint64) ([]queens.TaskCount, error)
}

// WithSearcher makes a Searcher, calls the function use with it, and frees what it holds. The
// errors are those of [kernel.Kernel.WithCounter].
func (k *Kernels) WithSearcher(use func(*Searcher) error) (err error) {
	memory := k.Memory
	if memory == nil {
		memory = NewMemory(0, 1)
		defer func() { err = errors.Join(err, memory.Close()) }()
	}
	return k.Prefixes.WithCounter(func(c kernel.Counter) error {
		s := &Searcher{methods: map[queens.Method]searcher{
			queens.Prefixes: &prefixSearcher{k.Prefixes.Name, c},
			queens.Halves:   &setSearcher{k.halves(), memory},
		}}
		if noted, ok := c.(kernel.Noted); ok {
			s.Note = noted.Note()
		}
		return use(s)
	})
}

// Count counts tasks of one method. With an error, it returns the counts of the tasks
// that were counted before. While the search advances, Count increments pulse. If ctx ends, Count
// returns context.Cause(ctx) within 50 ms. A searcher that helps another one first ends its unit of
// work, which takes up to some tenths of a second for the largest boards.
func (s *Searcher) Count(
	ctx context.Context, tasks []queens.Task, pulse *atomic.Uint64,
) ([]queens.TaskCount, error) {
	if len(tasks) == 0 {
		return nil, nil
	}
	return s.methods[tasks[0].Method()].count(ctx, tasks, pulse)
}

// prefixSearcher counts the completions of prefixes.
type prefixSearcher struct {
	name    string
	counter kernel.Counter
}

func (s *prefixSearcher) count(
	ctx context.Context, tasks []queens.Task, pulse *atomic.Uint64,
) ([]queens.TaskCount, error) {
	counts, err := kernel.CountTasks(ctx, s.counter, tasks, pulse)
	for i := range counts {
		counts[i].Kernel = s.name
	}
	return counts, err
}

// setSearcher counts row sets. The time of a task is that of all searchers that have counted it.
type setSearcher struct {
	by     halves.Kernel
	memory *Memory
}

func (s *setSearcher) count(
	ctx context.Context, tasks []queens.Task, pulse *atomic.Uint64,
) (counts []queens.TaskCount, err error) {
	var c *setCounter
	defer func() { s.memory.give(c) }()
	for i := range tasks {
		if n := tasks[i].Board.N; c == nil || c.n != n {
			s.memory.give(c)
			if c, err = s.memory.take(ctx, n, s.by, pulse); err != nil {
				return counts, err
			}
		}
		start, sets := time.Now(), tasks[i].Sets
		count, err := c.Count(ctx, sets.First, sets.Number, pulse)
		if err != nil {
			return counts, err
		}
		pulse.Add(1) // the search of a small task may end before it increments the pulse
		counts = append(counts, queens.TaskCount{
			Count: count, Kernel: queens.HalvesPrefix + s.by.Name, Elapsed: time.Since(start) + c.Helped(),
		})
	}
	return counts, nil
}

// ByDepthFirst counts a task of the method halves by the other method: see [halves.Recount]. It
// returns errors as [halves.Recount] and [kernel.Kernel.WithCounter] do.
func ByDepthFirst(
	ctx context.Context, k kernel.Kernel, task *queens.Task,
) (queens.TaskCount, error) {
	counted, start := queens.TaskCount{Kernel: k.Name}, time.Now()
	err := k.WithCounter(func(c kernel.Counter) (err error) {
		sets, pulse := task.Sets, new(atomic.Uint64)
		counted.Count, err = halves.Recount(ctx, c, task.Board.N, sets.First, sets.Number, pulse)
		return err
	})
	counted.Elapsed = time.Since(start)
	return counted, err
}

// Differing returns kernels of which that of the method differs from the named ones, which have
// counted a task, if this machine has such a kernel: see [kernel.Differing].
func Differing(m queens.Method, names ...string) Kernels {
	if m == queens.Prefixes {
		return Kernels{Prefixes: kernel.Differing(names...)}
	}
	by := halves.Available()
	chosen := by[len(by)-1]
	for i := len(by) - 1; i >= 0; i-- {
		if !slices.Contains(names, queens.HalvesPrefix+by[i].Name) {
			chosen = by[i]
		}
	}
	return Kernels{Prefixes: kernel.Reference(), Halves: chosen}
}
