package halves

// sorter sorts a list of masks by their first bits, by radix, in phases of a crew.
type sorter struct {
	crew *crew
	// For each block of the list and each digit, a number of masks, and then the place of the next.
	places []uint32

	list     *sorted
	from, to []uint64 // a pass moves masks
	// A digit has the given number of bits above shift.
	shift, width int

	count, move, divide func(m *member) // the phases
}

const (
	// digitBits is the greatest number of bits by which a pass sorts.
	digitBits = 11
	// sortBlock is the number of masks of a block, which is a unit of each phase.
	sortBlock = 1 << 16
)

// reserve makes room for lists of the given length.
func (s *sorter) reserve(crew *crew, masks int) {
	s.crew, s.places = crew, make([]uint32, placesOf(masks))
	s.count, s.move, s.divide = s.countBlocks, s.moveBlocks, s.divideBlocks
}

// placesOf returns the greatest number of places for lists of the given length.
func placesOf(masks int) int { return blocksOf(masks) << ((depthOf(masks) + 1) / 2) }

func blocksOf(masks int) int { return (masks + sortBlock - 1) / sortBlock }

// sort sorts a list of masks of the given number of bits by their first depth bits, at most
// 2·digitBits, in two passes. It needs scratch memory for as many masks.
func (s *sorter) sort(list *sorted, scratch []uint64, bits, depth int) {
	s.list, scratch = list, scratch[:len(list.masks)]
	s.shift, s.width = bits-depth, depth/2
	s.pass(list.masks, scratch)
	s.shift, s.width = s.shift+s.width, depth-s.width
	s.pass(scratch, list.masks)
	s.shift, s.width = bits-depth, depth
	list.from = list.from[:1<<depth+1]
	s.crew.run(s.divide)
	// The last cells have no mask.
	cells := list.from
	if last := len(list.masks) - 1; last >= 0 {
		cells = cells[list.masks[last]>>s.shift+1:]
	}
	for i := range cells {
		cells[i] = uint32(len(list.masks))
	}
}

// pass moves masks and sorts them by a digit. Masks with the same digit keep their order.
func (s *sorter) pass(from, to []uint64) {
	s.from, s.to = from, to
	s.crew.run(s.count)
	blocks, digits := blocksOf(len(from)), 1<<s.width
	sum := uint32(0)
	for digit := range digits {
		for block := range blocks {
			place := &s.places[block*digits+digit]
			sum, *place = sum+*place, sum
		}
	}
	s.crew.run(s.move)
}

// block returns a block of masks.
func block(masks []uint64, i int) []uint64 {
	from := i * sortBlock
	return masks[from:min(from+sortBlock, len(masks))]
}

// placesIn returns the places of a block.
func (s *sorter) placesIn(block int) []uint32 {
	return s.places[block<<s.width : (block+1)<<s.width]
}

// countBlocks counts the masks of each digit.
func (s *sorter) countBlocks(m *member) {
	for {
		i, ok := m.take(blocksOf(len(s.from)))
		if !ok {
			return
		}
		places := s.placesIn(i)
		clear(places)
		last := uint64(len(places) - 1)
		for _, x := range block(s.from, i) {
			places[x>>(s.shift&63)&last]++
		}
	}
}

// moveBlocks moves the masks to their places.
func (s *sorter) moveBlocks(m *member) {
	to := s.to
	for {
		i, ok := m.take(blocksOf(len(s.from)))
		if !ok {
			return
		}
		places := s.placesIn(i)
		last := uint64(len(places) - 1)
		for _, x := range block(s.from, i) {
			place := &places[x>>(s.shift&63)&last]
			to[*place] = x
			*place++
		}
	}
}

// divideBlocks divides the sorted list by the first bits of its masks: it sets list.from, up to the
// first bits of the last mask.
func (s *sorter) divideBlocks(m *member) {
	for {
		i, ok := m.take(blocksOf(len(s.list.masks)))
		if !ok {
			return
		}
		at, cell := uint32(i*sortBlock), uint64(0)
		if i > 0 {
			cell = s.list.masks[at-1]>>(s.shift&63) + 1
		}
		for _, x := range block(s.list.masks, i) {
			for ; cell <= x>>(s.shift&63); cell++ {
				s.list.from[cell] = at
			}
			at++
		}
	}
}
