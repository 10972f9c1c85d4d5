package halves

import "slices"

// sorter sorts masks by their first bits, by radix.
type sorter struct {
	scratch []uint64 // has room for the longest list
	poll    func() bool
}

const (
	// digit is the greatest number of bits by which a pass sorts. Two passes are enough for
	// depthOf.
	digit = 11
	// sortBlock is the number of masks between two polls.
	sortBlock = 1 << 18
)

// sort sorts a list of masks of the given number of bits by their first depth bits, at most
// 2·digit.
func (s *sorter) sort(list *sorted, bits, depth int) {
	list.from = list.from[:1<<depth+1]
	shift := bits - depth
	if !s.cells(list, shift) {
		return
	}
	low := 0
	if depth > digit {
		low = depth / 2
		if !s.pass(list, shift, depth, 0, low) {
			return
		}
	}
	s.pass(list, shift, depth, low, depth)
}

// cells sets list.from: masks[from[i]] to masks[from[i+1]-1] will be the masks with the value i
// above the given number of bits. It returns false if poll did.
func (s *sorter) cells(list *sorted, shift int) bool {
	clear(list.from)
	for block := range slices.Chunk(list.masks, sortBlock) {
		for _, m := range block {
			list.from[m>>(shift&63)+1]++
		}
		if !s.poll() {
			return false
		}
	}
	for i := 1; i < len(list.from); i++ {
		list.from[i] += list.from[i-1]
	}
	return true
}

// pass sorts a list by the digit that has bits low to high-1 of the first depth bits, which begin
// above shift. Masks with the same digit keep their order. It returns false if poll did.
func (s *sorter) pass(list *sorted, shift, depth, low, high int) bool {
	var starts [1 << digit]uint32
	mask := uint64(1)<<(high-low) - 1
	for i := range 1 << depth {
		starts[uint64(i)>>low&mask%(1<<digit)] += list.from[i+1] - list.from[i]
	}
	sum := uint32(0)
	for i := range mask + 1 {
		sum, starts[i%(1<<digit)] = sum+starts[i%(1<<digit)], sum
	}
	to := s.scratch[:len(list.masks)]
	shift += low
	for block := range slices.Chunk(list.masks, sortBlock) {
		for _, m := range block {
			start := &starts[m>>(shift&63)&mask%(1<<digit)]
			to[*start] = m
			*start++
		}
		if !s.poll() {
			return false
		}
	}
	list.masks, s.scratch = to, list.masks
	return true
}
