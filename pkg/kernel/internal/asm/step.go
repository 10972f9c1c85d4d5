package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// vec is a vector register: one 32-bit mask for each lane, bit i being column i.
type vec = reg.VecVirtual

// state is a vector of states of one row: the columns attacked in that row.
type state struct{ cols, left, right vec }

// lanes is a vector in flight: states, and which of their free squares are yet to
// be tried. A lane whose squares are all tried takes the next state of the level.
type lanes struct {
	state
	free vec
}

// isa is what the step needs of an instruction set.
type isa interface {
	// width is the number of lanes in a vector, vectors the number in flight.
	width() int
	vectors() int
	// start loads the constants for the demands, from the sight.
	start(sight reg.Register, d demands)
	vec() vec
	load(m Mem, x vec)
	store(x vec, m Mem)
	// dead returns a vector of all ones: the columns of a state that has no
	// free square, now or ever.
	dead() vec
	// pick takes the lowest free square of each lane, and refills lanes that
	// have none left with the states of level from index on, which moves on.
	// It returns the child that a queen on the square makes of the lane's state.
	pick(v lanes, level, index reg.Register) state
	// look finds which children meet the demands.
	look(child state, d demands) verdict
	// pairs adds the completions of children with two rows left.
	pairs(child state)
	// keep appends the children that meet the demands to level, at index, which
	// moves on.
	keep(child state, v verdict, level, index reg.Register)
	// any sets the flags to "not equal" if a lane of a vector is not 0.
	any(x []vec)
	// sum returns what pairs counted.
	sum(total reg.GPVirtual)
}

// verdict says which lanes of a vector of children meet the demands, in a form that
// the instruction set knows.
type verdict any

// expand writes a function that takes states from one level and appends their
// children to the next, until few states are left or the next level is full. With
// flush it goes on until no state is left, in the buffers or in flight.
//
//	func name(from, to *level, sight *sight, flush bool) uint64
//
// The buffers are queues: states are taken at the front and appended at the back.
// So the place that a vector is refilled from is known before that vector's idle
// lanes are, and no round waits for the one before. What is left at the end moves
// to the front.
func expand(is isa, name string, d demands) {
	TEXT(name, NOSPLIT, "func(from, to, sight *uint32, flush bool) uint64")
	from := Load(Param("from"), GP64())
	to := Load(Param("to"), GP64())
	sight := Load(Param("sight"), GP64())
	front, back, end := GP64(), GP64(), GP64() // of from, of to, of from
	XORL(front.As32(), front.As32())
	MOVQ(Mem{Base: from, Disp: levelCount}, end)
	MOVQ(Mem{Base: to, Disp: levelCount}, back)
	is.start(sight, d)
	vectors := transfer(is, from, is.load, nil)

	round := func() {
		for _, v := range vectors {
			child := is.pick(v, from, front)
			if d.leaf {
				is.pairs(child)
			} else {
				is.keep(child, is.look(child, d), to, back)
			}
		}
	}
	stopIfFull := func() {
		if !d.leaf {
			CMPQ(back, U32(full))
			JA(LabelRef("done"))
		}
	}
	taken := is.width() * is.vectors() // the most states taken in a round

	flush := Load(Param("flush"), GP8())
	TESTB(flush, flush)
	JNE(LabelRef("flush"))
	enough := GP64()
	LEAQ(Mem{Base: end, Disp: -taken}, enough)
	JMP(LabelRef("check"))
	Label("more")
	round()
	Label("check")
	stopIfFull()
	CMPQ(front, enough)
	JLE(LabelRef("more"))
	JMP(LabelRef("done"))

	Comment("Behind the last state come dead ones, for lanes that find no other.")
	Label("flush")
	for i := range is.vectors() {
		m := buffer(from, end, cols)
		m.Disp += 4 * i * is.width()
		is.store(is.dead(), m)
	}
	Label("dry")
	stopIfFull()
	round()
	CMPQ(front, end)
	CMOVQGT(end, front)
	CMPQ(front, end)
	JNE(LabelRef("dry"))
	var free []vec
	for _, v := range vectors {
		free = append(free, v.free)
	}
	is.any(free)
	JNE(LabelRef("dry"))

	Label("done")
	transfer(is, from, func(m Mem, x vec) { is.store(x, m) }, vectors)
	moveToFront(is, from, front, end)
	total := GP64()
	if d.leaf {
		is.sum(total)
	} else {
		MOVQ(back, Mem{Base: to, Disp: levelCount})
		XORL(total.As32(), total.As32())
	}
	VZEROUPPER()
	Store(total, ReturnIndex(0))
	RET()
}

// transfer moves the vectors in flight to or from the level, making them if there
// are none yet.
func transfer(is isa, level reg.Register, move func(Mem, vec), vectors []lanes) []lanes {
	if vectors == nil {
		for range is.vectors() {
			vectors = append(vectors, lanes{state{is.vec(), is.vec(), is.vec()}, is.vec()})
		}
	}
	for i, v := range vectors {
		for word, x := range []vec{v.cols, v.left, v.right, v.free} {
			move(flight(level, word, i*is.width()), x)
		}
	}
	return vectors
}

// moveToFront moves the states front..end of a level to the front of its buffers
// and stores their number.
func moveToFront(is isa, level reg.Register, front, end reg.GPVirtual) {
	SUBQ(front, end)
	MOVQ(end, Mem{Base: level, Disp: levelCount})
	i := GP64()
	XORL(i.As32(), i.As32())
	JMP(LabelRef("moved"))
	Label("move")
	for word := range 3 {
		x := is.vec()
		is.load(buffer(level, front, word), x)
		is.store(x, buffer(level, i, word))
	}
	ADDQ(U8(is.width()), front)
	ADDQ(U8(is.width()), i)
	Label("moved")
	CMPQ(i, end)
	JLT(LabelRef("move"))
}
