package halves

import (
	"math/bits"
	"sync"
)

// The join counts the pairs of a western and an eastern half-board that have no diagonal in common.
// The half-boards of the longer list go into bins of masks that have their first bits in common.
// Half-boards of the other list that have none of these bits, which are a few ranges of the sorted
// list, are compared with a whole bin at once.

// sorted is a list of half-boards, sorted by their first bits, which are the highest. A nil sorted
// is an empty list.
type sorted struct {
	masks []uint64
	// Masks from[i] to from[i+1]-1 have the first bits i, depth in number.
	from []uint32
}

// cells makes room for a list that is sorted by the given number of bits.
func (s *sorted) cells(depth int) { s.from = make([]uint32, 1<<depth+1) }

// before returns the number of masks whose first bits are less than the given ones.
func (s *sorted) before(cell int) int {
	if s == nil {
		return 0
	}
	return int(s.from[cell])
}

// joiner counts pairs.
type joiner struct {
	bits, depth int // of the masks, and of those by which the lists are sorted
	east        sorted
	// Western half-boards that count once, and those that count twice.
	westOnce, westTwice sorted

	// The lists whose masks go into bins, and those that are compared with them: for either, the
	// masks that count once and those that count twice.
	binned, streamed [2]*sorted

	mu   sync.Mutex // in a phase; between two phases only the goroutine of Count is here
	cell int        // the first bits of the next mask for a bin
	at   [2]int     // the next mask of each list
}

// start makes join begin.
func (j *joiner) start() {
	east, west := [2]*sorted{&j.east}, [2]*sorted{&j.westOnce, &j.westTwice}
	if len(j.east.masks) > len(j.westOnce.masks)+len(j.westTwice.masks) {
		j.binned, j.streamed = east, west
	} else {
		j.binned, j.streamed = west, east
	}
	j.cell, j.at = 0, [2]int{}
}

// join is a phase of a crew. It counts the pairs that have no diagonal in common, and adds their
// numbers to what the members have found.
func (j *joiner) join(m *member) {
	for m.stays() {
		p, ok := j.take(m.bin.words())
		if !ok || !m.poll() || !j.compare(m, p) {
			return
		}
	}
}

// part is what goes into a bin: masks that count once, and masks that count twice. They have the
// same first bits, depth in number: those of prefix.
type part struct {
	once, twice   []uint64
	from          [2]int // where they begin in their lists
	prefix, depth int
}

// compatible returns what the first bits of a mask must be to have nothing in common with the
// prefix: one of size values from any set of the bits of free on. Trailing zeros of the prefix make
// the size.
func (p *part) compatible() (free, size int) {
	free = ^p.prefix & (1<<p.depth - 1)
	low := bits.TrailingZeros(uint(p.prefix) | 1<<p.depth)
	return free >> low << low, 1 << low
}

// take returns the next part that fits into a number of words, or false if none is left. A part has
// all masks that have its first bits, unless these are more masks than fit, and no more bits are
// sorted.
func (j *joiner) take(words int) (p part, ok bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for j.cell < 1<<j.depth {
		height, numbers := 0, j.numbers(1)
		for height < j.depth && j.cell>>height&1 == 0 {
			wider := j.numbers(2 << height)
			if wordsFor(wider[0])+wordsFor(wider[1]) > words {
				break
			}
			numbers = wider
			height++
		}
		p = part{from: j.at, prefix: j.cell >> height, depth: j.depth - height}
		p.once = j.next(0, min(numbers[0], 64*words))
		p.twice = j.next(1, min(numbers[1], 64*(words-wordsFor(len(p.once)))))
		if len(p.once) == numbers[0] && len(p.twice) == numbers[1] {
			j.cell += 1 << height
		}
		if len(p.once)+len(p.twice) > 0 {
			return p, true
		}
	}
	return part{}, false
}

// numbers returns how many masks of each list are next in a number of cells.
func (j *joiner) numbers(cells int) (numbers [2]int) {
	for i, list := range j.binned {
		numbers[i] = list.before(j.cell+cells) - j.at[i]
	}
	return numbers
}

// next takes the next masks of a list for bins.
func (j *joiner) next(list, masks int) []uint64 {
	if masks == 0 {
		return nil
	}
	from := j.at[list]
	j.at[list] += masks
	return j.binned[list].masks[from : from+masks]
}

// streamBlock is the greatest number of masks that a bin is compared with between two polls.
const streamBlock = 1 << 11

// compare counts the pairs of a part. It returns false if poll did.
func (j *joiner) compare(m *member, p part) bool {
	m.bin.load(p.once, p.twice, max(1, (j.bits-p.depth+chunk-1)/chunk))
	for i, list := range j.streamed {
		if list == nil {
			continue
		}
		if !j.stream(m, p, list) {
			return false
		}
		m.found += uint64(1+i) * m.bin.take()
	}
	return true
}

// stream compares the bin of a part with the masks of a list that its prefix leaves.
func (j *joiner) stream(m *member, p part, list *sorted) bool {
	free, size := p.compatible()
	shift := j.depth - p.depth
	for value := 0; ; {
		from, end := list.from[value<<shift], list.from[(value+size)<<shift]
		for ; from < end; from += streamBlock {
			m.bin.count(list.masks[from:min(end, from+streamBlock)])
			if end-from > streamBlock && !m.poll() {
				return false
			}
		}
		value = (value - free) & free
		if value == 0 {
			return true
		}
	}
}
