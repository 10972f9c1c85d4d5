package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// avx2 implements the step for AVX2. Shuffles pack children and spread states over idle lanes.
// Tables of package kernel hold the shuffle for each mask of eight lanes: for VPERMD in 32-bit
// lanes, for VPSHUFB in each half of a vector of 16-bit lanes. AVX2 has no shift of 16-bit lanes by
// another vector, so the step multiplies these lanes by powers of two. Two vectors would fit into
// the registers, but one alone can't fill the time in which the other waits for its previous round.
// So a round loads four vectors from the queue and stores them again. The step reads row masks from
// memory. If it needed more than 16 registers, avo would use registers that only AVX-512 has; a
// test of package kernel checks that it does not.
type avx2 struct {
	amd64
	zero, count      vec
	compress, expand reg.GPVirtual
	masks            reg.Register
}

// newAVX2 returns the instructions for lanes of the given size.
func newAVX2(size laneSize, d pruneRules) *avx2 {
	s := &avx2{amd64: amd64{laneSize: size, rules: d, shiftLeft: size.choose(VPMULLW, VPSLLVD),
		shiftRight: size.choose(VPMULHUW, VPSRLVD)}}
	s.shiftBy = func(i int) (left, right Op) {
		return s.mask(masksShifts + 2*i), s.mask(masksShifts + 2*i + 1)
	}
	return s
}

func (s *avx2) width() int       { return 32 / int(s.laneSize) }
func (*avx2) vectors() int       { return 4 }
func (*avx2) resident() bool     { return false }
func (*avx2) vec() vec           { return YMM() }
func (*avx2) load(m Mem, x vec)  { VMOVDQU(m, x) }
func (*avx2) store(x vec, m Mem) { VMOVDQU(x, m) }

func (*avx2) zeros() vec {
	x := YMM()
	VPXOR(x, x, x)
	return x
}

func (s *avx2) idleLane() vec {
	x := YMM()
	VPCMPEQD(x, x, x)
	return x
}

func (s *avx2) start(masks reg.Register, d pruneRules) {
	table := func(name string) reg.GPVirtual {
		if s.laneSize == 2 {
			name += "16"
		}
		x := GP64()
		LEAQ(Mem{Symbol: Symbol{Name: "·" + name}, Base: reg.StaticBase}, x)
		return x
	}
	s.masks = masks
	s.zero = s.zeros()
	s.expand = table("expandPerm")
	if d.leaf {
		s.count = s.zeros()
	} else {
		s.compress = table("compressPerm")
	}
}

// mask returns the memory operand of the vector that has the given word of the row masks in all
// lanes.
func (s *avx2) mask(word int) Mem { return vectorOf(s.masks, word) }

// spread writes the function that sets the vectors of row masks.
//
//	func avx2Spread(masks *rowMasks, rows int)
func spread() {
	TEXT("avx2Spread", NOSPLIT, "func(masks *uint32, rows int)")
	masks := Load(Param("masks"), GP64())
	rows := Load(Param("rows"), GP64())
	Label("row")
	for i := range wordCount {
		x := YMM()
		VPBROADCASTD(wordOf(masks, i), x)
		VMOVDQU(x, vectorOf(masks, i))
	}
	ADDQ(U32(masksSize), masks)
	DECQ(rows)
	JNE(LabelRef("row"))
	VZEROUPPER()
	RET()
}

// The instructions that depend on the size of lanes:

func (s *avx2) least(x ...Op) { s.choose(VPMINUW, VPMINUD)(x...) }
func (s *avx2) equal(x ...Op) { s.choose(VPCMPEQW, VPCMPEQD)(x...) }

// shuffle packs lanes or spreads them.
type shuffle struct {
	order vec
	index reg.Register // the index of the first state that is loaded or stored
	// half is the index of the first state in the high half of a vector of 16-bit lanes.
	half reg.Register
	end  reg.Register // the index after the last state
}

// shuffle loads a shuffle from a table: for the lanes that are all ones or, if inverted is true,
// for the lanes that are 0.
func (s *avx2) shuffle(table reg.Register, lanes vec, inverted bool, index reg.Register) shuffle {
	n, order := GP32(), YMM()
	entry := func(offset reg.GPVirtual) Mem { return Mem{Base: table, Index: offset.As64(), Scale: 1} }
	if s.laneSize == 4 {
		VMOVMSKPS(lanes, n)
		if inverted {
			XORL(U32(0xff), n)
		}
		i := GP32()
		MOVL(n, i)
		SHLL(U8(5), i)
		VMOVDQU(entry(i), order)
		POPCNTL(n, n)
		return shuffle{order: order, index: index, end: s.sum2(index, n)}
	}
	bytes, low := YMM(), GP32()
	VPACKSSWB(lanes, lanes, bytes) // bytes 0..7 are the low half, bytes 16..23 the high half
	VPMOVMSKB(bytes, n)
	if inverted {
		NOTL(n)
	}
	MOVBLZX(n.As8(), low)
	SHLL(U8(4), low)
	SHRL(U8(12), n)
	ANDL(U32(0xff0), n)
	VBROADCASTI128(entry(low), order)
	VINSERTI128(U8(1), entry(n), order, order)
	POPCNTL(low, low)
	POPCNTL(n, n)
	half := s.sum2(index, low)
	return shuffle{order, index, half, s.sum2(half, n)}
}

// sum2 returns an index plus a number.
func (*avx2) sum2(index reg.Register, n reg.GPVirtual) reg.GPVirtual {
	x := GP64()
	LEAQ(Mem{Base: index, Index: n.As64(), Scale: 1}, x)
	return x
}

func (s *avx2) selectSquare(v lanes, queue, index reg.Register) state {
	rest, square := YMM(), YMM()
	VPCMPEQD(rest, rest, rest)
	s.add(v.free, rest, rest)
	VPANDN(v.free, rest, square)
	VPAND(v.free, rest, v.free)
	c := state{YMM(), YMM(), YMM()}
	VPOR(v.cols, square, c.cols)
	VPOR(v.left, square, c.left)
	VPOR(v.right, square, c.right)
	s.moveLeft(0, c.left, c.left, c.left)
	s.moveRight(0, c.right, c.right)

	idle := YMM()
	s.equal(s.zero, v.free, idle)
	spread := s.shuffle(s.expand, idle, false, index)
	for word, x := range []vec{v.cols, v.left, v.right} {
		fresh := YMM()
		if s.laneSize == 4 {
			VPERMD(s.buffer(queue, index, word), spread.order, fresh)
		} else {
			VBROADCASTI128(s.buffer(queue, index, word), fresh)
			VINSERTI128(U8(1), s.buffer(queue, spread.half, word), fresh, fresh)
			VPSHUFB(spread.order, fresh, fresh)
		}
		VPBLENDVB(idle, fresh, x, x)
	}
	MOVQ(spread.end, index)
	fresh := s.free(v.cols, v.left, v.right, masksRow)
	VPAND(idle, fresh, fresh)
	VPOR(fresh, v.free, v.free)
	return c
}

// free returns the columns that a word of the row masks allows and that none of the three masks
// attacks.
func (s *avx2) free(cols, left, right vec, disp int) vec {
	x := YMM()
	VPOR(cols, left, x)
	VPOR(right, x, x)
	VPANDN(s.mask(disp), x, x)
	return x
}

// pruned says which children are dropped: those with 0 in least and, unless covered is nil, those
// without all columns in covered.
type pruned struct{ least, covered vec }

func (s *avx2) pruneTest(c state, d pruneRules) survivors {
	v := pruned{}
	l := c.left
	var covered vec
	for row := range d.nextRows {
		if row == 0 {
			v.least = s.free(c.cols, c.left, c.right, masksNextRows)
			if d.columns {
				covered = YMM()
				VPOR(c.cols, v.least, covered)
			}
			continue
		}
		next, x := YMM(), YMM()
		s.moveLeft(row, c.left, l, next)
		l = next
		s.moveRight(row, c.right, x)
		VPOR(l, x, x)
		VPOR(c.cols, x, x)
		VPANDN(s.mask(masksNextRows+row), x, x)
		if d.columns {
			VPOR(x, covered, covered)
		}
		if row < 2 || !d.columns {
			s.least(x, v.least, v.least)
		}
	}
	if d.last {
		l, r := YMM(), YMM()
		s.shiftLeft(s.mask(masksLastShift), c.left, l)
		s.shiftRight(s.mask(masksLastShift+1), c.right, r)
		s.least(s.free(c.cols, l, r, masksLast), v.least, v.least)
	}
	v.covered = covered
	return v
}

func (s *avx2) storeSurvivors(c state, survivors survivors, queue, index reg.Register) {
	v := survivors.(pruned)
	s.equal(s.zero, v.least, v.least)
	if v.covered != nil {
		s.equal(s.mask(masksColumns), v.covered, v.covered)
		VPANDN(v.covered, v.least, v.least)
	}
	pack := s.shuffle(s.compress, v.least, v.covered == nil, index)
	for word, x := range []vec{c.cols, c.left, c.right} {
		if s.laneSize == 4 {
			VPERMD(x, pack.order, x)
			VMOVDQU(x, s.buffer(queue, index, word))
		} else {
			VPSHUFB(pack.order, x, x)
			VMOVDQU(x.AsX(), s.buffer(queue, index, word))
			VEXTRACTI128(U8(1), x, s.buffer(queue, pack.half, word))
		}
	}
	MOVQ(pack.end, index)
}

func (s *avx2) countLeaf(c state) {
	first := s.free(c.cols, c.left, c.right, masksNextRows)
	s.moveLeft(1, c.left, c.left, c.left)
	s.moveRight(1, c.right, c.right)
	second := s.free(c.cols, c.left, c.right, masksNextRows+1)

	open, bad, beside := YMM(), YMM(), YMM()
	VPANDN(s.mask(masksColumns), c.cols, open)
	VPOR(first, second, bad)
	VPXOR(open, bad, bad) // open columns that are free in neither row
	s.moveLeft(1, open, open, beside)
	VPAND(open, beside, beside)
	VPOR(beside, bad, bad) // a queen in one of the two open columns attacks the other
	s.equal(s.zero, bad, bad)
	s.equal(first, second, beside) // the same two columns are free in both rows
	s.least(first, second, first)
	s.equal(s.zero, first, first)
	VPANDN(bad, first, first) // one way
	s.sub(first, s.count, s.count)
	VPAND(beside, first, first) // and another
	s.sub(first, s.count, s.count)
}

func (*avx2) or(x, y vec) { VPOR(x, y, y) }
func (*avx2) any(x vec)   { VPTEST(x, x) }

func (s *avx2) sum(total reg.GPVirtual) {
	if s.laneSize == 4 {
		sumYMM(s.count, total)
		return
	}
	ones := YMM()
	VPCMPEQD(ones, ones, ones)
	VPMADDWD(ones, s.count, s.count) // minus the sums of pairs
	sumYMM(s.count, total)
	NEGL(total.As32())
}

// sumYMM sets total to the sum of the eight lanes of y.
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
