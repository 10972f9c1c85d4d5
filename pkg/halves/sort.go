package halves

import "slices"

// sorter sorts masks by their first bits, by radix.
type sorter struct {
	scratch []uint64 // as long as the longest list
	poll    func() bool
}

const (
	// digit is the greatest number of bits by which a pass sorts.
	digit = 11
	// sortBlock is the number of masks between two polls.
	sortBlock = 1 << 18
)

// sort sorts masks of the given number of bits by their first depth bits.
func (s *sorter) sort(masks []uint64, bits, depth int) {
	from, to := masks, s.scratch[:len(masks)]
	passes := (depth + digit - 1) / digit
	for pass := range passes {
		low, high := depth*pass/passes, depth*(pass+1)/passes
		s.distribute(to, from, bits-depth+low, high-low)
		from, to = to, from
	}
	if passes%2 == 1 {
		copy(masks, from)
	}
}

// distribute copies masks from one slice to another, sorted by the given number of bits from bit
// low on. Masks that have these bits in common keep their order.
func (s *sorter) distribute(to, from []uint64, low, bits int) {
	var starts [1 << digit]uint32
	last := uint64(1)<<bits - 1
	for block := range slices.Chunk(from, sortBlock) {
		for _, m := range block {
			starts[m>>(low&63)&last%(1<<digit)]++
		}
		if !s.poll() {
			return
		}
	}
	sum := uint32(0)
	for i, n := range starts[:last+1] {
		starts[i] = sum
		sum += n
	}
	for block := range slices.Chunk(from, sortBlock) {
		for _, m := range block {
			start := &starts[m>>(low&63)&last%(1<<digit)]
			to[*start] = m
			*start++
		}
		if !s.poll() {
			return
		}
	}
}

// cells sets from to where the masks with each value of their first depth bits begin: those with
// value i are masks from[i] to from[i+1]-1. The masks must be sorted by these bits.
func (s *sorter) cells(from []uint32, masks []uint64, bits, depth int) []uint32 {
	from = from[:1<<depth+1]
	clear(from)
	shift := bits - depth
	for block := range slices.Chunk(masks, sortBlock) {
		for _, m := range block {
			from[m>>(shift&63)+1]++
		}
		if !s.poll() {
			return from
		}
	}
	for i := range 1 << depth {
		from[i+1] += from[i]
	}
	return from
}
