//go:build liar

package main

import (
	"context"
	"sync/atomic"

	"nqueens/pkg/kernel"
	"nqueens/pkg/queens"
)

// counting returns a kernel whose every fourth count is wrong. scripts/accept shows with it that a worker that lies
// does not make a total wrong.
func counting(k kernel.Kernel) kernel.Kernel {
	honest := k.New
	k.New = func() (kernel.Counter, error) {
		c, err := honest()
		return &liar{Counter: c}, err
	}
	return k
}

// liar adds one to every fourth count.
type liar struct {
	kernel.Counter
	counts int
}

func (l *liar) Count(ctx context.Context, b *queens.Board, prefixes []queens.Prefix, pulse *atomic.Uint64) (uint64, error) {
	count, err := l.Counter.Count(ctx, b, prefixes, pulse)
	if l.counts++; err == nil && l.counts%4 == 0 {
		count++
	}
	return count, err
}
