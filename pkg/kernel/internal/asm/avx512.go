package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Truth tables for VPTERNLOGD: bit 4d+2a+b is the value of the expression for bit d of the
// destination, a of the second and b of the first operand, in the order of Go's assembler.
const (
	nor      = 0x01 // ^(d | a | b)
	orAnd    = 0xf8 // d | a&b
	xorOfOr  = 0x36 // a ^ (d | b)
	xorOfAnd = 0x78 // d ^ a&b
)

// avx512 implements the step for AVX-512 F, BW and VL. VPEXPANDD refills idle lanes and
// VPCOMPRESSD packs children. On AMD, VPCOMPRESSD to memory is microcoded, so the step packs
// in a register and stores the whole register.
type avx512 struct {
	ones, row, last, columns, lastShift, count vec
	nextRows                                   []vec
}

func (*avx512) width() int         { return 16 }
func (*avx512) vectors() int       { return 4 }
func (*avx512) vec() vec           { return ZMM() }
func (*avx512) load(m Mem, x vec)  { VMOVDQU32(m, x) }
func (*avx512) store(x vec, m Mem) { VMOVDQU32(x, m) }
func (s *avx512) idleLane() vec    { return s.ones }

func (s *avx512) start(masks reg.Register, d pruneRules) {
	constant := func(disp int) vec {
		x := ZMM()
		VPBROADCASTD(Mem{Base: masks, Disp: disp}, x)
		return x
	}
	s.ones = ZMM()
	VPTERNLOGD(U8(0xff), s.ones, s.ones, s.ones)
	s.row = constant(masksRow)
	rows := d.nextRows
	if d.leaf {
		rows = 2
		s.count = ZMM()
		VPXORD(s.count, s.count, s.count)
	}
	for i := range rows {
		s.nextRows = append(s.nextRows, constant(masksNextRows+4*copies*i))
	}
	if d.last {
		s.last, s.lastShift = constant(masksLast), constant(masksLastShift)
	}
	if d.columns || d.leaf {
		s.columns = constant(masksColumns)
	}
}

func (s *avx512) selectSquare(v lanes, queue, index reg.Register) state {
	square, rest, idle := ZMM(), ZMM(), K()
	VPADDD(s.ones, v.free, rest)
	VPTESTNMD(v.free, rest, idle)
	VPANDND(v.free, rest, square)
	VPANDD(v.free, rest, v.free)
	c := state{ZMM(), ZMM(), ZMM()}
	VPORD(v.cols, square, c.cols)
	VPORD(v.left, square, c.left)
	VPORD(v.right, square, c.right)
	VPADDD(c.left, c.left, c.left)
	VPSRLD(U8(1), c.right, c.right)

	VPEXPANDD(buffer(queue, index, cols), idle, v.cols)
	VPEXPANDD(buffer(queue, index, left), idle, v.left)
	VPEXPANDD(buffer(queue, index, right), idle, v.right)
	fresh := s.unattacked(v.cols, v.left, v.right)
	VPANDD(s.row, fresh, idle, v.free)
	advance(idle, index)
	return c
}

// unattacked returns the columns in none of the three masks.
func (s *avx512) unattacked(cols, left, right vec) vec {
	x := ZMM()
	VMOVDQA32(cols, x)
	VPTERNLOGD(U8(nor), left, right, x)
	return x
}

// advance adds the number of lanes in a mask to an index.
func advance(mask reg.OpmaskVirtual, index reg.Register) {
	n := GP32()
	KMOVW(mask, n)
	POPCNTL(n, n)
	ADDQ(n.As64(), index)
}

// narrow narrows the mask alive to the lanes in which x has a bit of the mask.
func narrow(alive reg.OpmaskVirtual, x, mask vec) reg.OpmaskVirtual {
	k := K()
	if alive == nil {
		VPTESTMD(mask, x, k)
	} else {
		VPTESTMD(mask, x, alive, k)
	}
	return k
}

func (s *avx512) pruneTest(c state, d pruneRules) survivors {
	var alive reg.OpmaskVirtual
	var covered vec // columns with a queen or a free square
	l := c.left
	for row, mask := range s.nextRows {
		x := ZMM()
		if row == 0 {
			x = s.unattacked(c.cols, l, c.right)
		} else {
			next := ZMM()
			VPADDD(l, l, next)
			l = next
			VPSRLD(U8(row), c.right, x)
			VPTERNLOGD(U8(nor), l, c.cols, x)
		}
		if row < 2 || !d.columns {
			alive = narrow(alive, x, mask)
		}
		switch {
		case d.columns && row == 0:
			covered = x
			VPANDD(mask, x, covered)
		case d.columns:
			VPTERNLOGD(U8(orAnd), mask, x, covered)
		}
	}
	if d.last {
		l, r := ZMM(), ZMM()
		VPSLLVD(s.lastShift, c.left, l)
		VPSRLVD(s.lastShift, c.right, r)
		VPTERNLOGD(U8(nor), c.cols, r, l)
		alive = narrow(alive, l, s.last)
	}
	if d.columns {
		VPORD(c.cols, covered, covered)
		VPANDND(s.columns, covered, covered)
		k := K()
		VPTESTNMD(covered, covered, alive, k)
		alive = k
	}
	return alive
}

func (s *avx512) storeSurvivors(c state, v survivors, queue, index reg.Register) {
	alive := v.(reg.OpmaskVirtual)
	for word, x := range []vec{c.cols, c.left, c.right} {
		VPCOMPRESSD_Z(x, alive, x)
		VMOVDQU32(x, buffer(queue, index, word))
	}
	advance(alive, index)
}

func (s *avx512) countLeaf(c state) {
	first := s.unattacked(c.cols, c.left, c.right)
	VPANDD(s.nextRows[0], first, first)
	second := ZMM()
	VPADDD(c.left, c.left, c.left)
	VPSRLD(U8(1), c.right, second)
	VPTERNLOGD(U8(nor), c.cols, c.left, second)
	VPANDD(s.nextRows[1], second, second)

	open, bad := ZMM(), ZMM()
	VPANDND(s.columns, c.cols, open)
	VMOVDQA32(first, bad)
	VPTERNLOGD(U8(xorOfOr), second, open, bad) // open columns free in neither row
	beside := ZMM()
	VPADDD(open, open, beside)
	VPTERNLOGD(U8(orAnd), beside, open, bad) // the two open columns are neighbours
	one, both := K(), K()
	VPTESTMD(first, first, one)
	VPTESTMD(second, second, one, one)
	VPTESTNMD(bad, bad, one, one)
	VPTERNLOGD(U8(xorOfAnd), second, first, open) // open columns not free in both rows
	VPTESTNMD(open, open, one, both)
	VPSUBD(s.ones, s.count, one, s.count)
	VPSUBD(s.ones, s.count, both, s.count)
}

func (s *avx512) any(x []vec) {
	all := ZMM()
	VMOVDQA32(x[0], all)
	for _, y := range x[1:] {
		VPORD(y, all, all)
	}
	k := K()
	VPTESTMD(all, all, k)
	KORTESTW(k, k)
}

func (s *avx512) sum(total reg.GPVirtual) {
	y := YMM()
	VEXTRACTI64X4(U8(1), s.count, y)
	VPADDD(s.count.AsY(), y, y)
	sumYMM(y, total)
}
