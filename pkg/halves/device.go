package halves

import (
	"context"
	"math/bits"
	"sync/atomic"
)

// Device joins lists of half-boards, in place of the threads that have made them. A [Counter] has a
// Device of its own, and makes one call at a time.
type Device interface {
	// Join returns the number of pairs of a mask in a bin and a streamed mask that have no bit in
	// common, as [Lists] says. While it works, it increments pulse. If ctx ends first, Join returns
	// within 50 ms, and its result is wrong. The errors are those of the device.
	Join(ctx context.Context, l *Lists, pulse *atomic.Uint64) (pairs uint64, err error)
	// Close frees what the device holds. The caller must call it once, after all other methods.
	Close() error
}

// Room is the greatest size of [Lists].
type Room struct {
	Masks int // of all lists together
	Cells int // elements of each of [Lists.Cells]
}

// WithDevice returns a kernel that joins on devices. The function open opens a device whose bins
// have room for 64 masks in each of the given number of words. The loops that make half-boards are
// those of the fastest kernel of this machine.
func WithDevice(name string, words int, open func(Room) (Device, error)) Kernel {
	k := Available()[0]
	k.Name, k.words, k.open = name, words, open
	return k
}

// Lists are two lists of half-boards, as masks, and the units of their join. The masks of one list
// go into bins, those of the other are streamed past them. Either list has first the masks that
// count once, and then those that count twice.
type Lists struct {
	Binned, Streamed [2][]uint64
	// The masks of cell c are Streamed[i][Cells[i][c]:Cells[i][c+1]]. If Cells[1] is nil, Streamed[1]
	// is empty.
	Cells [2][]uint32

	joiner *joiner
	words  int // of a bin
	// What is left of a part, which is cut into units. Each cut halves the last one.
	rest [32]Unit
	left int
}

// Unit is a part of a join: a bin, and the streamed masks that are compared with it. These are the
// masks of Size cells from cell First + v on, for each set v of the bits of Free.
type Unit struct {
	// The masks of the bin are Binned[0][From[0]:To[0]] and Binned[1][From[1]:To[1]].
	From, To          [2]uint32
	First, Free, Size uint32
	// Bits is the number of bits to compare, at least 1: the lowest ones. The other bits have nothing
	// in common.
	Bits uint32
}

// unitCells is the greatest number of cells of a unit. A cell has about ten masks, so that a unit
// takes much less time than a join, and a device has many of them.
const unitCells = 1 << 12

// set sets the lists of a joiner that has started.
func (l *Lists) set(j *joiner, words int) {
	*l = Lists{joiner: j, words: words}
	for i := range j.binned {
		if list := j.binned[i]; list != nil {
			l.Binned[i] = list.masks
		}
		if list := j.streamed[i]; list != nil {
			l.Streamed[i], l.Cells[i] = list.masks, list.from
		}
	}
}

// Next sets the first elements of a slice to the next units, and returns their number: 0 after the
// last unit.
func (l *Lists) Next(units []Unit) (n int) {
	for n < len(units) && (l.left > 0 || l.take()) {
		last := &l.rest[l.left-1]
		for last.cells() > unitCells {
			first, second := last.halves()
			*last = second
			last = &l.rest[l.left]
			*last = first
			l.left++
		}
		units[n] = *last
		n++
		l.left--
	}
	return n
}

// take takes the next part. It returns false if none is left.
func (l *Lists) take() bool {
	p, ok := l.joiner.take(l.words)
	if ok {
		l.rest[0], l.left = l.joiner.unit(&p), 1
	}
	return ok
}

// unit returns the join of a part as a unit.
func (j *joiner) unit(p *part) Unit {
	u := Unit{Bits: uint32(max(1, j.bits-p.depth))}
	for i, masks := range [][]uint64{p.once, p.twice} {
		u.From[i], u.To[i] = uint32(p.from[i]), uint32(p.from[i]+len(masks))
	}
	free, size := p.compatible()
	u.Free, u.Size = uint32(free<<(j.depth-p.depth)), uint32(size<<(j.depth-p.depth))
	return u
}

// cells returns the number of cells of a unit.
func (u *Unit) cells() int { return int(u.Size) << bits.OnesCount32(u.Free) }

// halves returns the two halves of a unit that has more than one cell.
func (u *Unit) halves() (first, second Unit) {
	first, second = *u, *u
	if u.Free != 0 {
		highest := uint32(1) << (bits.Len32(u.Free) - 1)
		first.Free ^= highest
		second.Free ^= highest
		second.First |= highest
		return first, second
	}
	first.Size, second.Size = u.Size/2, u.Size/2
	second.First += u.Size / 2
	return first, second
}
