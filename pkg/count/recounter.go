package count

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"nqueens/pkg/kernel"
	"nqueens/pkg/queens"
)

// Recounter counts single tasks again. Any number of goroutines may call Count at a time: each call uses
// a counter of its own, and Count keeps the counters for later calls. The zero Recounter is ready.
type Recounter struct {
	// Kernel counts all tasks. If it is nil, [kernel.Other] chooses a kernel for each task.
	Kernel *kernel.Kernel

	mu   sync.Mutex
	idle map[string][]kernel.Counter // by the name of their kernel
}

// Count counts a task, by another kernel than those that counted it before. It returns the cause if ctx
// ends, or an error of the kernel.
func (r *Recounter) Count(ctx context.Context, task *queens.Task, counted ...string) (queens.TaskCount, error) {
	k := r.kernel(task.Board.N, counted)
	counter := r.takeIdle(k.Name)
	if counter == nil {
		var err error
		if counter, err = k.New(); err != nil {
			return queens.TaskCount{}, fmt.Errorf("kernel %s: %w", k.Name, err)
		}
	}
	start := time.Now()
	solutions, err := counter.Count(ctx, &task.Board, task.Prefixes, new(atomic.Uint64))
	if err != nil {
		return queens.TaskCount{}, errors.Join(err, closeCounter(k.Name, counter))
	}
	own := queens.TaskCount{
		Hash: task.Hash(), Count: solutions, Kernel: counter.LastKernel(), Elapsed: time.Since(start),
	}
	r.keep(k.Name, counter)
	return own, nil
}

// Close closes the counters. No call of Count may be under way, or follow.
func (r *Recounter) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var err error
	for name, counters := range r.idle {
		for _, c := range counters {
			err = errors.Join(err, closeCounter(name, c))
		}
	}
	return err
}

func (r *Recounter) kernel(n int, counted []string) kernel.Kernel {
	if r.Kernel != nil {
		return *r.Kernel
	}
	return kernel.Other(n, counted...)
}

// takeIdle returns an idle counter of the kernel of that name, or nil.
func (r *Recounter) takeIdle(name string) kernel.Counter {
	r.mu.Lock()
	defer r.mu.Unlock()
	idle := r.idle[name]
	if len(idle) == 0 {
		return nil
	}
	last := len(idle) - 1
	r.idle[name] = idle[:last]
	return idle[last]
}

// keep keeps a counter of the kernel of that name for a later call.
func (r *Recounter) keep(name string, c kernel.Counter) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.idle == nil {
		r.idle = make(map[string][]kernel.Counter)
	}
	r.idle[name] = append(r.idle[name], c)
}

func closeCounter(name string, c kernel.Counter) error {
	if err := c.Close(); err != nil {
		return fmt.Errorf("close kernel %s: %w", name, err)
	}
	return nil
}
