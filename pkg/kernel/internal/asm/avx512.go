package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Truth tables for VPTERNLOGD: bit 4d+2a+b is the value of the expression for bit d of the
// destination, bit a of the operand before it and bit b of the operand before that, in the order of
// Go's assembler.
const (
	nor      = 0x01 // ^(d | a | b)
	orAnd    = 0xf8 // d | a&b
	orAndNot = 0xf4 // d | a&^b
	xorOfOr  = 0x36 // a ^ (d | b)
	xorOfAnd = 0x78 // d ^ a&b
)

// avx512 implements the step for AVX-512 F, BW and VL, and in 16-bit lanes VBMI2. VPEXPAND
// refills idle lanes and VPCOMPRESS packs children. On AMD, VPCOMPRESS to memory is microcoded, so
// the step packs in a register and stores the whole register. Packing 16-bit lanes by one
// VPCOMPRESSW of their numbers and three VPERMB took 0.99 (n = 17) and 1.03 (n = 18) of the time.
type avx512 struct {
	amd64
	ones, count                   vec
	row, last, columns, lastShift Op
	nextRows, shifts              []Op // see rowMasks; shifts are counts
}

// newAVX512 returns the instructions for lanes of the given size.
func newAVX512(size laneSize, d pruneRules) *avx512 {
	s := &avx512{amd64: amd64{laneSize: size, rules: d, shiftLeft: size.choose(VPSLLVW, VPSLLVD),
		shiftRight: size.choose(VPSRLVW, VPSRLVD)}}
	s.shiftBy = func(i int) (left, right Op) {
		by := s.shifts[i]
		if IsMem(by) {
			x := ZMM()
			VPBROADCASTD(by, x)
			by = x
		}
		return by, by
	}
	return s
}

func (s *avx512) width() int       { return 64 / int(s.laneSize) }
func (*avx512) vectors() int       { return 4 }
func (*avx512) resident() bool     { return true }
func (*avx512) vec() vec           { return ZMM() }
func (*avx512) load(m Mem, x vec)  { VMOVDQU32(m, x) }
func (*avx512) store(x vec, m Mem) { VMOVDQU32(x, m) }
func (s *avx512) idleLane() vec    { return s.ones }

func (s *avx512) start(masks reg.Register, d pruneRules) {
	fewRegisters := d.gaps && d.nextRows > 3
	operand := func(word int, inMemory bool) Op {
		if inMemory && fewRegisters {
			return wordOf(masks, word)
		}
		x := ZMM()
		VPBROADCASTD(wordOf(masks, word), x)
		return x
	}
	s.ones = ZMM()
	VPTERNLOGD(U8(0xff), s.ones, s.ones, s.ones)
	s.row = operand(masksRow, true)
	if d.leaf {
		s.count = s.zeros()
	}
	for i := range d.nextRows {
		s.nextRows = append(s.nextRows, operand(masksNextRows+i, d.columns && i > 1))
		if d.gaps {
			s.shifts = append(s.shifts, operand(masksShifts+2*i, i > 3))
		}
	}
	if d.last {
		s.last, s.lastShift = operand(masksLast, false), operand(masksLastShift, false)
	}
	if d.columns || d.leaf {
		s.columns = operand(masksColumns, false)
	}
}

// The instructions that depend on the size of lanes:

func (s *avx512) test(x ...Op)     { s.choose(VPTESTMW, VPTESTMD)(x...) }
func (s *avx512) testNone(x ...Op) { s.choose(VPTESTNMW, VPTESTNMD)(x...) }

func (s *avx512) equal(x ...Op) { s.choose(VPCMPEQW, VPCMPEQD)(x...) }

// expand loads consecutive values from m into the lanes of x that are in the mask, and does not
// change the other lanes of x.
func (s *avx512) expand(m Mem, mask, x Op) {
	if s.laneSize == 4 {
		VPEXPANDD(m, mask, x)
		return
	}
	vbmi2("VPEXPANDW", nil, m, mask, x, x)
}

// compress moves the lanes of x that are in the mask to the front, and clears the lanes behind
// them.
func (s *avx512) compress(mask, x Op) {
	if s.laneSize == 4 {
		VPCOMPRESSD_Z(x, mask, x)
		return
	}
	vbmi2("VPCOMPRESSW", []string{"Z"}, x, mask, x)
}

// vbmi2 appends an instruction that avo lacks. It has three operands and writes the last one. If it
// also reads the last one, the caller must pass this operand twice.
func vbmi2(opcode string, suffixes []string, operands ...Op) {
	output := operands[len(operands)-1]
	Instruction(&ir.Instruction{
		Opcode: opcode, Suffixes: suffixes, Operands: operands[:3], ISA: []string{"AVX512VBMI2"},
		Inputs: operands[:len(operands)-1], Outputs: []Op{output},
	})
}

func (s *avx512) selectSquare(v lanes, queue, index reg.Register) state {
	rest, idle := ZMM(), K()
	s.add(s.ones, v.free, rest)
	s.testNone(v.free, rest, idle)
	child := func(mask vec) vec {
		x := ZMM()
		VMOVDQA32(mask, x)
		VPTERNLOGD(U8(orAndNot), rest, v.free, x)
		return x
	}
	c := state{child(v.cols), child(v.left), child(v.right)}
	VPANDD(v.free, rest, v.free)
	s.moveLeft(0, c.left, c.left, c.left)
	s.moveRight(0, c.right, c.right)

	s.expand(s.buffer(queue, index, cols), idle, v.cols)
	s.expand(s.buffer(queue, index, left), idle, v.left)
	s.expand(s.buffer(queue, index, right), idle, v.right)
	fresh := s.unattacked(v.cols, v.left, v.right)
	and := broadcasting(s.row, VPANDD, VPANDD_BCST)
	if s.laneSize == 4 {
		and(s.row, fresh, idle, v.free)
	} else {
		and(s.row, fresh, fresh)
		VMOVDQU16(fresh, idle, v.free)
	}
	s.advance(idle, index)
	return c
}

// unattacked returns the columns in none of the three masks.
func (s *avx512) unattacked(cols, left, right vec) vec {
	x := ZMM()
	VMOVDQA32(cols, x)
	VPTERNLOGD(U8(nor), left, right, x)
	return x
}

// broadcasting returns one of two instructions: the first if the mask is in a register, the second
// if it is a word in memory.
func broadcasting(mask Op, register, memory func(...Op)) func(...Op) {
	if IsMem(mask) {
		return memory
	}
	return register
}

// advance adds the number of lanes in a mask to an index.
func (s *avx512) advance(mask reg.OpmaskVirtual, index reg.Register) {
	n := GP32()
	if s.laneSize == 2 {
		KMOVD(mask, n)
	} else {
		KMOVW(mask, n)
	}
	POPCNTL(n, n)
	ADDQ(n.As64(), index)
}

// narrow returns the lanes of alive, or of the whole vector if alive is nil, in which x and mask
// have a common bit.
func (s *avx512) narrow(alive reg.OpmaskVirtual, x vec, mask Op) reg.OpmaskVirtual {
	k := K()
	if alive == nil {
		s.test(mask, x, k)
	} else {
		s.test(mask, x, alive, k)
	}
	return k
}

func (s *avx512) pruneTest(c state, d pruneRules) survivors {
	var alive reg.OpmaskVirtual
	var covered vec // columns with a queen or a free square
	l := c.left
	for row, mask := range s.nextRows {
		var x vec
		if row == 0 {
			x = s.unattacked(c.cols, c.left, c.right)
		} else {
			next := ZMM()
			s.moveLeft(row, c.left, l, next)
			l, x = next, ZMM()
			s.moveRight(row, c.right, x)
			VPTERNLOGD(U8(nor), l, c.cols, x)
		}
		if row < 2 || !d.columns {
			alive = s.narrow(alive, x, mask)
		}
		if d.columns {
			if row == 0 {
				covered = ZMM()
				VMOVDQA32(c.cols, covered)
			}
			broadcasting(mask, VPTERNLOGD, VPTERNLOGD_BCST)(U8(orAnd), mask, x, covered)
		}
	}
	if d.last {
		l, r := ZMM(), ZMM()
		s.shiftLeft(s.lastShift, c.left, l)
		s.shiftRight(s.lastShift, c.right, r)
		VPTERNLOGD(U8(nor), c.cols, r, l)
		alive = s.narrow(alive, l, s.last)
	}
	if d.columns {
		k := K()
		s.equal(s.columns, covered, alive, k)
		alive = k
	}
	return alive
}

func (s *avx512) storeSurvivors(c state, v survivors, queue, index reg.Register) {
	alive := v.(reg.OpmaskVirtual)
	for word, x := range []vec{c.cols, c.left, c.right} {
		s.compress(alive, x)
		VMOVDQU32(x, s.buffer(queue, index, word))
	}
	s.advance(alive, index)
}

func (s *avx512) countLeaf(c state) {
	first := s.unattacked(c.cols, c.left, c.right)
	VPANDD(s.nextRows[0], first, first)
	second := ZMM()
	s.moveLeft(1, c.left, c.left, c.left)
	s.moveRight(1, c.right, second)
	VPTERNLOGD(U8(nor), c.cols, c.left, second)
	VPANDD(s.nextRows[1], second, second)

	open, bad := ZMM(), ZMM()
	VPANDND(s.columns, c.cols, open)
	VMOVDQA32(first, bad)
	VPTERNLOGD(U8(xorOfOr), second, open, bad) // open columns that are free in neither row
	beside := ZMM()
	s.moveLeft(1, open, open, beside)
	// a queen in one of the two open columns attacks the other
	VPTERNLOGD(U8(orAnd), beside, open, bad)
	one, both := K(), K()
	s.test(first, first, one)
	s.test(second, second, one, one)
	s.testNone(bad, bad, one, one)
	s.equal(first, second, one, both) // a second way
	s.sub(s.ones, s.count, one, s.count)
	s.sub(s.ones, s.count, both, s.count)
}

func (*avx512) or(x, y vec) { VPORD(x, y, y) }

func (*avx512) zeros() vec {
	x := ZMM()
	VPXORD(x, x, x)
	return x
}

func (*avx512) any(x vec) {
	k := K()
	VPTESTMD(x, x, k)
	KORTESTW(k, k)
}

func (s *avx512) sum(total reg.GPVirtual) {
	if s.laneSize == 2 {
		VPMADDWD(s.ones, s.count, s.count) // minus the sums of pairs
	}
	y := YMM()
	VEXTRACTI64X4(U8(1), s.count, y)
	VPADDD(s.count.AsY(), y, y)
	sumYMM(y, total)
	if s.laneSize == 2 {
		NEGL(total.As32())
	}
}
