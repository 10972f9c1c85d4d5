package agreement

import "math/bits"

// bitmap is a set of tasks, a bit each.
type bitmap struct {
	words []uint64
	count uint64 // of the tasks in it
}

func newBitmap(tasks uint64) bitmap { return bitmap{words: make([]uint64, (tasks+63)/64)} }

func (b *bitmap) has(id uint64) bool { return b.words[id/64]>>(id%64)&1 != 0 }

// put adds or removes a task.
func (b *bitmap) put(id uint64, in bool) {
	if b.has(id) == in {
		return
	}
	b.words[id/64] ^= 1 << (id % 64)
	if in {
		b.count++
	} else {
		b.count--
	}
}

// next returns the first task in the set from id on, and whether there is one.
func (b *bitmap) next(id uint64) (uint64, bool) {
	word := id / 64
	if word >= uint64(len(b.words)) {
		return 0, false
	}
	for rest := b.words[word] >> (id % 64) << (id % 64); ; rest = b.words[word] {
		if rest != 0 {
			return word*64 + uint64(bits.TrailingZeros64(rest)), true
		}
		if word++; word == uint64(len(b.words)) {
			return 0, false
		}
	}
}

// queue is tasks in order.
type queue []uint64

func (q *queue) push(id uint64) { *q = append(*q, id) }

// pop removes the first task. The queue must not be empty.
func (q *queue) pop() uint64 {
	first := (*q)[0]
	*q = (*q)[1:]
	return first
}
