package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// tablesOf writes the function that makes the tables of a bin.
//
//	func name(block *binBlock[R], tables *tables[R], used int)
//
// A block has a vector for each bit of a word, and behind these one with the places in use. First,
// the function transposes the words of all vectors: bit i of vector k changes places with bit
// k of vector i. It swaps bits that are 32, 16, 8, 4, 2 and 1 apart, three distances in each pass.
func tablesOf(is isa, name string) {
	TEXT(name, NOSPLIT, "func(block, tables *uint64, used int)")
	block := Load(Param("block"), GP64())
	tables := Load(Param("tables"), GP64())
	used := Load(Param("used"), GP64())
	const vectors = 64
	rowSize, tableSize := sizes(is)
	transposePass(is, "far", block, 8*rowSize, rowSize, []swap{
		{4, 32, 0x00000000ffffffff}, {2, 16, 0x0000ffff0000ffff}, {1, 8, 0x00ff00ff00ff00ff},
	})
	transposePass(is, "near", block, rowSize, 8*rowSize, []swap{
		{4, 4, 0x0f0f0f0f0f0f0f0f}, {2, 2, 0x3333333333333333}, {1, 1, 0x5555555555555555},
	})

	all := is.vector()
	is.move(Mem{Base: block, Disp: vectors * rowSize}, all)
	Label("table")
	is.move(all, Mem{Base: tables})
	for bit := range chunk {
		with := is.vector()
		is.move(Mem{Base: block, Disp: rowSize * bit}, with)
		for x := range 1 << bit {
			row := is.vector()
			is.without(Mem{Base: tables, Disp: rowSize * x}, with, row)
			is.move(row, Mem{Base: tables, Disp: rowSize * (x + 1<<bit)})
		}
	}
	is.allOnes(all)
	ADDQ(U32(uint32(tableSize)), tables)
	ADDQ(U32(uint32(rowSize*chunk)), block)
	DECQ(used)
	JNE(LabelRef("table"))
	VZEROUPPER()
	RET()
}

// swap swaps bits of vectors that are some vectors apart in a group: the high bits of each part of
// a word in the one with the low bits in the other. The parts have 2·bits bits, and mask the low
// ones.
type swap struct {
	vectors, bits int
	mask          uint64
}

// transposePass makes three swaps in each group of eight vectors. Vectors of a group are stride
// bytes apart, and groups next bytes.
func transposePass(is isa, label string, block reg.Register, stride, next int, swaps []swap) {
	const vectors, groups = 8, 8
	masks := make([]vec, len(swaps))
	for i, s := range swaps {
		word := GP64()
		masks[i] = is.vector()
		MOVQ(U64(s.mask), word)
		VMOVQ(word, masks[i].AsX())
		VPBROADCASTQ(masks[i].AsX(), masks[i])
	}
	group, left := GP64(), GP64()
	MOVQ(block, group)
	MOVQ(U32(groups), left)
	Label(label)
	var v [vectors]vec
	for i := range v {
		v[i] = is.vector()
		is.move(Mem{Base: group, Disp: stride * i}, v[i])
	}
	for k, s := range swaps {
		for i := range v {
			if i&s.vectors != 0 {
				continue
			}
			a, b, x := v[i], v[i+s.vectors], is.vector()
			VPSRLQ(U8(s.bits), a, x)
			is.xor(x, b, x)
			is.intersect(x, masks[k], x)
			is.xor(b, x, b)
			VPSLLQ(U8(s.bits), x, x)
			is.xor(a, x, a)
		}
	}
	for i := range v {
		is.move(v[i], Mem{Base: group, Disp: stride * i})
	}
	ADDQ(U32(uint32(next)), group)
	DECQ(left)
	JNE(LabelRef(label))
}
