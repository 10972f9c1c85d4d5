package split

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"iter"
	"sync"

	"nqueens/pkg/parallel"
	"nqueens/pkg/queens"
)

// rangePrefixes bounds the prefixes of a range of a pass, which then takes about a millisecond in the memory near a core.
const rangePrefixes = 1 << 14

// ranges divides the tasks into ranges, in order.
func (x *Index) ranges() iter.Seq[queens.Range] {
	return func(yield func(queens.Range) bool) {
		for i := range x.classes {
			c := &x.classes[i]
			most := uint64(max(rangePrefixes/c.Batch, 1))
			for first := c.First; first < c.end(); first += most {
				if !yield(queens.Range{First: first, Tasks: min(most, c.end()-first)}) {
					return
				}
			}
		}
	}
}

// InOrder passes over all tasks on all cores: it calls work with each range of tasks, several at a time, and done with the
// results in the order of the ids, one call at a time. The tasks are overwritten when work returns. Errors are those of
// [parallel.InOrder].
func InOrder[T any](ctx context.Context, x *Index, work func(tasks []queens.Task) (T, error), done func(T) error) error {
	buffers := sync.Pool{New: func() any { return new(buffer) }}
	return parallel.InOrder(ctx, x.ranges(), func(_ context.Context, r queens.Range) (T, error) {
		b := buffers.Get().(*buffer)
		defer buffers.Put(b)
		b.fill(x, r.First, r.End())
		return work(b.tasks)
	}, done)
}

// hash returns the hash of all tasks for their manifest, and calls each, if it is not nil, with the hashes of single tasks, in order of id.
func (x *Index) hash(ctx context.Context, each func(hashes []uint64)) (sum queens.Bytes32, err error) {
	hash := sha256.New()
	var bytes []byte
	err = InOrder(ctx, x, func(tasks []queens.Task) ([]uint64, error) {
		hashes := make([]uint64, len(tasks))
		var hasher queens.Hasher
		for i := range tasks {
			hashes[i] = hasher.Hash(&tasks[i])
		}
		return hashes, nil
	}, func(hashes []uint64) error {
		bytes = bytes[:0]
		for _, h := range hashes {
			bytes = binary.LittleEndian.AppendUint64(bytes, h)
		}
		hash.Write(bytes)
		if each != nil {
			each(hashes)
		}
		return nil
	})
	hash.Sum(sum[:0])
	return sum, err
}
