package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// vec is a vector register: a bit for each mask of a bin.
type vec = reg.VecVirtual

// The layout of type tally of package halves: four vectors of 256 bits.
const (
	tallyOnes, tallyTwos, tallySingle, tallyFours = 0, 32, 64, 96
	tableSize, rowSize                            = 32 << chunk, 32
)

// isa is what the loop needs of an instruction set.
type isa interface {
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

// lookUp returns the masks of a bin that have no bit in common with a mask of the stream.
func lookUp(is isa, mask Mem, tables reg.Register, used int) vec {
	x, v := GP64(), YMM()
	MOVQ(mask, x)
	var rows []Mem
	for c := range used {
		// The bits of the chunk, times the size of a row.
		offset := GP64()
		RORXQ(U8((64+chunk*c-5)%64), x, offset)
		ANDL(U32(tableSize-rowSize), offset.As32())
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
//	func name(clashes []uint64, tables *tables, fits *[crossRound][laneWords]uint64)
func fit(name string, used int) {
	TEXT(name, NOSPLIT, "func(clashes []uint64, tables, fits *uint64)")
	next := Load(Param("clashes").Base(), GP64())
	left := Load(Param("clashes").Len(), GP64())
	tables := Load(Param("tables"), GP64())
	fits := Load(Param("fits"), GP64())
	JMP(LabelRef("check"))
	Label("clash")
	VMOVDQU(lookUp(new(avx2), Mem{Base: next}, tables, used), Mem{Base: fits})
	ADDQ(U8(8), next)
	ADDQ(U8(rowSize), fits)
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

func (*avx2) round() int { return 4 }

func (s *avx2) start(tally reg.Register) {
	s.ones, s.twos, s.fours = YMM(), YMM(), YMM()
	VMOVDQU(Mem{Base: tally, Disp: tallyOnes}, s.ones)
	VMOVDQU(Mem{Base: tally, Disp: tallyTwos}, s.twos)
	VMOVDQU(Mem{Base: tally, Disp: tallyFours}, s.fours)
	s.nibble, s.bits, s.zero = YMM(), YMM(), YMM()
	VMOVDQU(nibbles, s.nibble)
	VMOVDQU(bitsOfNibble, s.bits)
	VPXOR(s.zero, s.zero, s.zero)
}

func (s *avx2) finish(tally reg.Register) {
	VMOVDQU(s.ones, Mem{Base: tally, Disp: tallyOnes})
	VMOVDQU(s.twos, Mem{Base: tally, Disp: tallyTwos})
	VMOVDQU(s.fours, Mem{Base: tally, Disp: tallyFours})
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

// avx512 implements the loop for AVX-512 F, VL and VPOPCNTDQ, with vectors of 256 bits.
type avx512 struct{ single vec }

func (*avx512) round() int { return 2 }

func (s *avx512) start(tally reg.Register) {
	s.single = YMM()
	VMOVDQU64(Mem{Base: tally, Disp: tallySingle}, s.single)
}

func (s *avx512) finish(tally reg.Register) {
	VMOVDQU64(s.single, Mem{Base: tally, Disp: tallySingle})
}

func (*avx512) load(row Mem, v vec) { VMOVDQU64(row, v) }

func (*avx512) and(v vec, rows []Mem) {
	if len(rows) == 1 {
		VPANDQ(rows[0], v, v)
		return
	}
	const all = 0x80 // the truth table of the intersection of three
	x := YMM()
	VMOVDQU64(rows[0], x)
	VPTERNLOGQ(U8(all), rows[1], x, v)
}

func (s *avx512) add(v []vec) {
	for _, x := range v {
		s.add1(x)
	}
}

func (s *avx512) add1(v vec) {
	// avo knows this instruction only for vectors of 512 bits.
	Instruction(&ir.Instruction{
		Opcode: "VPOPCNTQ", Operands: []Op{v, v}, ISA: []string{"AVX512VPOPCNTDQ", "AVX512VL"},
		Inputs: []Op{v}, Outputs: []Op{v},
	})
	VPADDQ(v, s.single, s.single)
}
