package halves

// sorter sorts a list of masks by their first bits, by radix, in phases of a crew.
type sorter struct {
	crew    *crew
	scratch []uint64 // has room for the longest list
	// For each block of the list and each digit, a number of masks, and then the place of the next.
	places []uint32

	list *sorted
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
	s.crew, s.scratch = crew, make([]uint64, masks)
	s.places = make([]uint32, placesOf(masks))
	s.count, s.move, s.divide = s.countBlocks, s.moveBlocks, s.divideBlocks
}

// placesOf returns the greatest number of places for lists of the given length.
func placesOf(masks int) int { return blocksOf(masks) << min(digitBits, depthOf(masks)) }

func blocksOf(masks int) int { return (masks + sortBlock - 1) / sortBlock }

// sort sorts a list of masks of the given number of bits by their first depth bits, at most
// 2·digitBits.
func (s *sorter) sort(list *sorted, bits, depth int) {
	s.list = list
	s.shift, s.width = bits-depth, depth
	if depth > digitBits {
		s.width = depth / 2
		s.pass()
		s.shift, s.width = s.shift+s.width, depth-s.width
	}
	s.pass()
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

// pass sorts the list by a digit. Masks with the same digit keep their order.
func (s *sorter) pass() {
	s.crew.run(s.count)
	blocks, digits := blocksOf(len(s.list.masks)), 1<<s.width
	sum := uint32(0)
	for digit := range digits {
		for block := range blocks {
			place := &s.places[block*digits+digit]
			sum, *place = sum+*place, sum
		}
	}
	s.crew.run(s.move)
	to := s.scratch[:len(s.list.masks)]
	s.list.masks, s.scratch = to, s.list.masks[:cap(s.list.masks)]
}

// block returns a block of the list.
func (s *sorter) block(i int) []uint64 {
	from := i * sortBlock
	return s.list.masks[from:min(from+sortBlock, len(s.list.masks))]
}

// placesIn returns the places of a block.
func (s *sorter) placesIn(block int) []uint32 {
	return s.places[block<<s.width : (block+1)<<s.width]
}

// countBlocks counts the masks of each digit.
func (s *sorter) countBlocks(m *member) {
	for {
		i, ok := m.take(blocksOf(len(s.list.masks)))
		if !ok {
			return
		}
		places := s.placesIn(i)
		clear(places)
		last := uint64(len(places) - 1)
		for _, x := range s.block(i) {
			places[x>>(s.shift&63)&last]++
		}
	}
}

// moveBlocks moves the masks to their places.
func (s *sorter) moveBlocks(m *member) {
	to := s.scratch[:len(s.list.masks)]
	for {
		i, ok := m.take(blocksOf(len(s.list.masks)))
		if !ok {
			return
		}
		places := s.placesIn(i)
		last := uint64(len(places) - 1)
		for _, x := range s.block(i) {
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
		for _, x := range s.block(i) {
			for ; cell <= x>>(s.shift&63); cell++ {
				s.list.from[cell] = at
			}
			at++
		}
	}
}
