package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// avx2 implements the step for AVX2. VPERMD packs children and spreads states over idle
// lanes; package kernel's tables compressPerm and expandPerm hold the permutation for each
// mask of lanes. The step reads row masks from memory, because registers are few: a third
// vector does not fit (avo would use registers from 16 on, which only AVX-512 has; a test of
// package kernel checks that).
type avx2 struct {
	zero, count              vec
	compressPerm, expandPerm reg.GPVirtual
	masks                    reg.Register
}

func (*avx2) width() int         { return 8 }
func (*avx2) vectors() int       { return 2 }
func (*avx2) vec() vec           { return YMM() }
func (*avx2) load(m Mem, x vec)  { VMOVDQU(m, x) }
func (*avx2) store(x vec, m Mem) { VMOVDQU(x, m) }

func (s *avx2) idleLane() vec {
	x := YMM()
	VPCMPEQD(x, x, x)
	return x
}

func (s *avx2) start(masks reg.Register, d pruneRules) {
	s.masks = masks
	s.zero = YMM()
	VPXOR(s.zero, s.zero, s.zero)
	s.expandPerm = GP64()
	LEAQ(Mem{Symbol: Symbol{Name: "·expandPerm"}, Base: reg.StaticBase}, s.expandPerm)
	if d.leaf {
		s.count = YMM()
		VPXOR(s.count, s.count, s.count)
	} else {
		s.compressPerm = GP64()
		LEAQ(Mem{Symbol: Symbol{Name: "·compressPerm"}, Base: reg.StaticBase}, s.compressPerm)
	}
}

// mask returns the place of a row mask.
func (s *avx2) mask(disp int) Mem { return Mem{Base: s.masks, Disp: disp} }

// order loads the permutation that a table holds for a mask of lanes.
func order(table reg.Register, mask reg.GPVirtual) vec {
	i, x := GP64(), YMM()
	MOVL(mask, i.As32())
	SHLQ(U8(5), i)
	VMOVDQU(Mem{Base: table, Index: i, Scale: 1}, x)
	return x
}

func (s *avx2) selectSquare(v lanes, queue, index reg.Register) state {
	rest, square := YMM(), YMM()
	VPCMPEQD(rest, rest, rest)
	VPADDD(v.free, rest, rest)
	VPANDN(v.free, rest, square)
	VPAND(v.free, rest, v.free)
	c := state{YMM(), YMM(), YMM()}
	VPOR(v.cols, square, c.cols)
	VPOR(v.left, square, c.left)
	VPOR(v.right, square, c.right)
	VPADDD(c.left, c.left, c.left)
	VPSRLD(U8(1), c.right, c.right)

	idle, n := YMM(), GP32()
	VPCMPEQD(s.zero, v.free, idle)
	VMOVMSKPS(idle, n)
	spread := order(s.expandPerm, n)
	POPCNTL(n, n)
	for word, x := range []vec{v.cols, v.left, v.right} {
		fresh := YMM()
		VPERMD(buffer(queue, index, word), spread, fresh)
		VPBLENDVB(idle, fresh, x, x)
	}
	fresh := s.free(v.cols, v.left, v.right, masksRow)
	VPAND(idle, fresh, fresh)
	VPOR(fresh, v.free, v.free)
	ADDQ(n.As64(), index)
	return c
}

// free returns the columns that a row mask allows and none of the three masks attacks.
func (s *avx2) free(cols, left, right vec, disp int) vec {
	x := YMM()
	VPOR(cols, left, x)
	VPOR(right, x, x)
	VPANDN(s.mask(disp), x, x)
	return x
}

// pruned says which lanes are pruned: those with 0 in least or a bit in open.
type pruned struct{ least, open vec }

func (s *avx2) pruneTest(c state, d pruneRules) survivors {
	v := pruned{}
	l := c.left
	var covered vec
	for row := range d.nextRows {
		var x vec
		if row == 0 {
			x = s.free(c.cols, l, c.right, masksNextRows)
			v.least = x
			if d.columns {
				covered = YMM()
				VPOR(c.cols, x, covered)
			}
			continue
		}
		next := YMM()
		VPADDD(l, l, next)
		l = next
		x = YMM()
		VPSRLD(U8(row), c.right, x)
		VPOR(l, x, x)
		VPOR(c.cols, x, x)
		VPANDN(s.mask(masksNextRows+4*copies*row), x, x)
		if d.columns {
			VPOR(x, covered, covered)
		}
		if row < 2 || !d.columns {
			VPMINUD(x, v.least, v.least)
		}
	}
	if d.last {
		l, r := YMM(), YMM()
		VMOVDQU(s.mask(masksLastShift), r)
		VPSLLVD(r, c.left, l)
		VPSRLVD(r, c.right, r)
		x := s.free(c.cols, l, r, masksLast)
		VPMINUD(x, v.least, v.least)
	}
	if d.columns {
		VPANDN(s.mask(masksColumns), covered, covered)
		v.open = covered
	}
	return v
}

func (s *avx2) storeSurvivors(c state, survivors survivors, queue, index reg.Register) {
	v, n := survivors.(pruned), GP32()
	VPCMPEQD(s.zero, v.least, v.least)
	if v.open != nil {
		VPOR(v.open, v.least, v.least)
		VPCMPEQD(s.zero, v.least, v.least)
		VMOVMSKPS(v.least, n)
	} else {
		VMOVMSKPS(v.least, n)
		XORL(U32(0xff), n)
	}
	pack := order(s.compressPerm, n)
	POPCNTL(n, n)
	for word, x := range []vec{c.cols, c.left, c.right} {
		VPERMD(x, pack, x)
		VMOVDQU(x, buffer(queue, index, word))
	}
	ADDQ(n.As64(), index)
}

func (s *avx2) countLeaf(c state) {
	first := s.free(c.cols, c.left, c.right, masksNextRows)
	VPADDD(c.left, c.left, c.left)
	VPSRLD(U8(1), c.right, c.right)
	second := s.free(c.cols, c.left, c.right, masksNextRows+4*copies)

	open, bad, beside := YMM(), YMM(), YMM()
	VPANDN(s.mask(masksColumns), c.cols, open)
	VPOR(first, second, bad)
	VPXOR(open, bad, bad) // open columns free in neither row
	VPADDD(open, open, beside)
	VPAND(open, beside, beside)
	VPOR(beside, bad, bad) // the two open columns are neighbours
	VPCMPEQD(s.zero, bad, bad)
	VPAND(first, second, beside)
	VPXOR(open, beside, beside) // open columns not free in both rows
	VPCMPEQD(s.zero, beside, beside)
	VPMINUD(first, second, first)
	VPCMPEQD(s.zero, first, first)
	VPANDN(bad, first, first) // one way
	VPSUBD(first, s.count, s.count)
	VPAND(beside, first, first) // and another
	VPSUBD(first, s.count, s.count)
}

func (s *avx2) any(x []vec) {
	all := YMM()
	VMOVDQA(x[0], all)
	for _, y := range x[1:] {
		VPOR(y, all, all)
	}
	VPTEST(all, all)
}

func (s *avx2) sum(total reg.GPVirtual) { sumYMM(s.count, total) }

// sumYMM adds the eight lanes of y.
func sumYMM(y vec, total reg.GPVirtual) {
	x, z := XMM(), XMM()
	VEXTRACTI128(U8(1), y, x)
	VPADDD(y.AsX(), x, x)
	VPSHUFD(U8(0x4e), x, z)
	VPADDD(z, x, x)
	VPSHUFD(U8(0xb1), x, z)
	VPADDD(z, x, x)
	VMOVD(x, total.As32())
}
