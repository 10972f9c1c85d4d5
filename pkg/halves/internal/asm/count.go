package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// vec is a vector register with a row: a bit for each mask of a bin.
type vec = reg.VecVirtual

// The rows of type tally of package halves.
const tallyOnes, tallyTwos, tallySingle, tallyFours = 0, 1, 2, 3

// isa is what the functions need of an instruction set.
type isa interface {
	// rowBits is the binary logarithm of the bytes of a row.
	rowBits() int
	vector() vec
	// move loads or stores a vector.
	move(from, to Op)
	// These set the last operand to a^b, a&b, ^b&a and to ones.
	xor(a, b, to Op)
	intersect(a, b, to Op)
	without(a, b, to Op)
	allOnes(to Op)
	// round is the number of masks of the stream that are looked up together.
	round() int
	// start loads the tally and constants, and finish stores the tally.
	start(tally reg.Register)
	finish(tally reg.Register)
	// load sets v to a row of a table. and sets v to the intersection with one or two rows.
	load(row Mem, v vec)
	and(v vec, rows []Mem)
	// add adds the numbers of bits of a round's vectors to the tally. add1 adds that of one vector.
	add(v []vec)
	add1(v vec)
}

// count writes a function that looks up each mask of a stream in the given number of tables,
// intersects the rows that it finds, and adds the number of their common bits to a tally.
//
//	func name(stream []uint64, tables *tables, t *tally)
func count(is isa, name string, used int) {
	TEXT(name, NOSPLIT, "func(stream []uint64, tables, t *uint64)")
	next := Load(Param("stream").Base(), GP64())
	masks := Load(Param("stream").Len(), GP64())
	tables := Load(Param("tables"), GP64())
	tally := Load(Param("t"), GP64())
	is.start(tally)
	JMP(LabelRef("check"))
	Label("round")
	vectors := make([]vec, is.round())
	for i := range vectors {
		vectors[i] = lookUp(is, Mem{Base: next, Disp: 8 * i}, tables, used)
	}
	is.add(vectors)
	ADDQ(U8(8*is.round()), next)
	Label("check")
	SUBQ(U8(is.round()), masks)
	JGE(LabelRef("round"))
	ADDQ(U8(is.round()), masks)
	JMP(LabelRef("checkRest"))
	Label("rest")
	is.add1(lookUp(is, Mem{Base: next}, tables, used))
	ADDQ(U8(8), next)
	Label("checkRest")
	DECQ(masks)
	JGE(LabelRef("rest"))
	is.finish(tally)
	VZEROUPPER()
	RET()
}

// tallyRow returns a row of a tally.
func tallyRow(is isa, tally reg.Register, row int) Mem {
	return Mem{Base: tally, Disp: row << is.rowBits()}
}

// sizes returns the bytes of a row and of a table.
func sizes(is isa) (row, table int) { return 1 << is.rowBits(), 1 << (is.rowBits() + chunk) }

// lookUp returns the masks of a bin that have no bit in common with a mask of the stream.
func lookUp(is isa, mask Mem, tables reg.Register, used int) vec {
	x, v := GP64(), is.vector()
	MOVQ(mask, x)
	rowSize, tableSize := sizes(is)
	var rows []Mem
	for c := range used {
		// The bits of the chunk, times the size of a row.
		offset := GP64()
		RORXQ(U8((64+chunk*c-is.rowBits())%64), x, offset)
		ANDL(U32(uint32(tableSize-rowSize)), offset.As32())
		row := Mem{Base: tables, Index: offset, Scale: 1, Disp: tableSize * c}
		if c == 0 {
			is.load(row, v)
			continue
		}
		rows = append(rows, row)
		if len(rows) == 2 || c == used-1 {
			is.and(v, rows)
			rows = nil
		}
	}
	return v
}

// fit writes a function that looks up each clash in the given number of tables, and stores the
// intersection of the rows that it finds. It uses only AVX2.
//
//	func name(clashes []uint64, tables *tables, fits *[crossRound]narrow)
func fit(name string, used int) {
	TEXT(name, NOSPLIT, "func(clashes []uint64, tables, fits *uint64)")
	next := Load(Param("clashes").Base(), GP64())
	left := Load(Param("clashes").Len(), GP64())
	tables := Load(Param("tables"), GP64())
	fits := Load(Param("fits"), GP64())
	JMP(LabelRef("check"))
	Label("clash")
	is := new(avx2)
	is.move(lookUp(is, Mem{Base: next}, tables, used), Mem{Base: fits})
	ADDQ(U8(8), next)
	ADDQ(U8(uint8(1<<is.rowBits())), fits)
	Label("check")
	DECQ(left)
	JGE(LabelRef("clash"))
	VZEROUPPER()
	RET()
}

// avx2 implements the loop for AVX2, BMI2 and carry-save adders: it adds up bits in the vectors
// ones and twos, and counts only the carries out of twos, once a round.
//
// References: [Mula] W. Muła, N. Kurz and D. Lemire, "Faster Population Counts Using AVX2
// Instructions", The Computer Journal 61 (2018), 111-120.
type avx2 struct{ ones, twos, fours, nibble, bits, zero vec }

func (*avx2) rowBits() int          { return 5 }
func (*avx2) vector() vec           { return YMM() }
func (*avx2) move(from, to Op)      { VMOVDQU(from, to) }
func (*avx2) xor(a, b, to Op)       { VPXOR(b, a, to) }
func (*avx2) intersect(a, b, to Op) { VPAND(b, a, to) }
func (*avx2) without(a, b, to Op)   { VPANDN(a, b, to) }
func (*avx2) allOnes(to Op)         { VPCMPEQD(to, to, to) }

func (*avx2) round() int { return 4 }

func (s *avx2) start(tally reg.Register) {
	s.ones, s.twos, s.fours = YMM(), YMM(), YMM()
	VMOVDQU(tallyRow(s, tally, tallyOnes), s.ones)
	VMOVDQU(tallyRow(s, tally, tallyTwos), s.twos)
	VMOVDQU(tallyRow(s, tally, tallyFours), s.fours)
	s.nibble, s.bits, s.zero = YMM(), YMM(), YMM()
	VMOVDQU(nibbles, s.nibble)
	VMOVDQU(bitsOfNibble, s.bits)
	VPXOR(s.zero, s.zero, s.zero)
}

func (s *avx2) finish(tally reg.Register) {
	VMOVDQU(s.ones, tallyRow(s, tally, tallyOnes))
	VMOVDQU(s.twos, tallyRow(s, tally, tallyTwos))
	VMOVDQU(s.fours, tallyRow(s, tally, tallyFours))
}

func (*avx2) load(row Mem, v vec) { VMOVDQU(row, v) }

func (*avx2) and(v vec, rows []Mem) {
	for _, row := range rows {
		VPAND(row, v, v)
	}
}

func (s *avx2) add(v []vec) {
	first, second := s.sum(s.ones, v[0], v[1]), s.sum(s.ones, v[2], v[3])
	s.count(s.sum(s.twos, first, second))
}

func (s *avx2) add1(v vec) {
	carry := YMM()
	VPAND(s.ones, v, carry)
	VPXOR(s.ones, v, s.ones)
	VPAND(s.twos, carry, v)
	VPXOR(s.twos, carry, s.twos)
	s.count(v)
}

// nibbles has a nibble of ones in each byte, and bitsOfNibble the number of bits of each nibble, in
// each half.
var nibbles, bitsOfNibble Mem

// constants writes the constants of avx2.
func constants() {
	nibbles = GLOBL("nibbles", RODATA|NOPTR)
	for i := range 4 {
		DATA(8*i, U64(0x0f0f0f0f0f0f0f0f))
	}
	bitsOfNibble = GLOBL("bitsOfNibble", RODATA|NOPTR)
	for i := range 2 {
		DATA(16*i, U64(0x0302020102010100))
		DATA(16*i+8, U64(0x0403030203020201))
	}
}

// sum sets total to the lowest bits of total + x + y, and returns the carries.
func (*avx2) sum(total, x, y vec) (carry vec) {
	either, both := YMM(), YMM()
	VPXOR(x, y, either)
	VPAND(x, y, both)
	carry = YMM()
	VPAND(either, total, carry)
	VPXOR(either, total, total)
	VPOR(both, carry, carry)
	return carry
}

// count adds the number of bits of x to fours. It changes x.
func (s *avx2) count(x vec) {
	high := YMM()
	VPSRLW(U8(4), x, high)
	VPAND(s.nibble, x, x)
	VPAND(s.nibble, high, high)
	VPSHUFB(x, s.bits, x)
	VPSHUFB(high, s.bits, high)
	VPADDB(x, high, x)
	VPSADBW(s.zero, x, x)
	VPADDQ(x, s.fours, s.fours)
}

// avx512 implements the loop for AVX-512 F and VPOPCNTDQ.
type avx512 struct{ single vec }

func (*avx512) rowBits() int          { return 6 }
func (*avx512) vector() vec           { return ZMM() }
func (*avx512) move(from, to Op)      { VMOVDQU64(from, to) }
func (*avx512) xor(a, b, to Op)       { VPXORQ(b, a, to) }
func (*avx512) intersect(a, b, to Op) { VPANDQ(b, a, to) }
func (*avx512) without(a, b, to Op)   { VPANDNQ(a, b, to) }
func (*avx512) allOnes(to Op)         { VPTERNLOGD(U8(0xff), to, to, to) }

func (*avx512) round() int { return 2 }

func (s *avx512) start(tally reg.Register) {
	s.single = ZMM()
	VMOVDQU64(tallyRow(s, tally, tallySingle), s.single)
}

func (s *avx512) finish(tally reg.Register) {
	VMOVDQU64(s.single, tallyRow(s, tally, tallySingle))
}

func (*avx512) load(row Mem, v vec) { VMOVDQU64(row, v) }

func (*avx512) and(v vec, rows []Mem) {
	if len(rows) == 1 {
		VPANDQ(rows[0], v, v)
		return
	}
	const all = 0x80 // the truth table of the intersection of three
	x := ZMM()
	VMOVDQU64(rows[0], x)
	VPTERNLOGQ(U8(all), rows[1], x, v)
}

func (s *avx512) add(v []vec) {
	for _, x := range v {
		s.add1(x)
	}
}

func (s *avx512) add1(v vec) {
	VPOPCNTQ(v, v)
	VPADDQ(v, s.single, s.single)
}
