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

// lanes is a vector of states between steps, and their free squares that are still to be
// tried. A lane with no square left takes the next state of the queue.
type lanes struct {
	state
	free vec
}

// isa is what the step needs of an instruction set.
type isa interface {
	// width is the number of lanes in a vector, vectors the number of vectors in use.
	width() int
	vectors() int
	// start loads the constants that the rules need from the row masks.
	start(masks reg.Register, d pruneRules)
	vec() vec
	load(m Mem, x vec)
	store(x vec, m Mem)
	// idleLane returns a vector of all ones: the columns of a state that never has a free
	// square.
	idleLane() vec
	// selectSquare takes the lowest free square of each lane and returns the children that
	// queens on these squares make. It refills lanes without a square left with the states of
	// the queue from index on, and advances index.
	selectSquare(v lanes, queue, index reg.Register) state
	// pruneTest finds the children that meet the rules.
	pruneTest(child state, d pruneRules) survivors
	// countLeaf adds the number of completions of children with two rows left.
	countLeaf(child state)
	// storeSurvivors appends the children that meet the rules to the queue at index, and
	// advances index.
	storeSurvivors(child state, v survivors, queue, index reg.Register)
	// any sets the flags to "not equal" if any lane of the vectors is not 0.
	any(x []vec)
	// sum returns the completions that countLeaf counted.
	sum(total reg.GPVirtual)
}

// survivors says which lanes of a vector of children meet the rules, in a form that suits
// the instruction set.
type survivors any

// expand writes a function that takes states from one queue and appends their children to
// the next, until few states are left or the next queue is full. With flush it continues
// until no state is left, neither in the buffers nor in the lanes.
//
//	func name(from, to *queue, masks *rowMasks, flush bool) uint64
//
// The function takes states at the front of a buffer and appends them at the back. So it
// knows where a vector is refilled from before it knows which lanes are idle, and no round
// waits for the one before. At the end it moves the remaining states to the front.
func expand(is isa, name string, d pruneRules) {
	TEXT(name, NOSPLIT, "func(from, to, masks *uint32, flush bool) uint64")
	from := Load(Param("from"), GP64())
	to := Load(Param("to"), GP64())
	masks := Load(Param("masks"), GP64())
	front, back, end := GP64(), GP64(), GP64() // of from, of to, of from
	XORL(front.As32(), front.As32())
	MOVQ(Mem{Base: from, Disp: queueLength}, end)
	MOVQ(Mem{Base: to, Disp: queueLength}, back)
	is.start(masks, d)
	vectors := transfer(is, from, is.load, nil)

	round := func() {
		for _, v := range vectors {
			child := is.selectSquare(v, from, front)
			if d.leaf {
				is.countLeaf(child)
			} else {
				is.storeSurvivors(child, is.pruneTest(child, d), to, back)
			}
		}
	}
	stopIfFull := func() {
		if !d.leaf {
			CMPQ(back, U32(highWater))
			JA(LabelRef("done"))
		}
	}
	taken := is.width() * is.vectors() // most states taken in a round

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

	Comment("Idle states follow the last state, for lanes that find no other.")
	Label("flush")
	for i := range is.vectors() {
		m := buffer(from, end, cols)
		m.Disp += 4 * i * is.width()
		is.store(is.idleLane(), m)
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
		MOVQ(back, Mem{Base: to, Disp: queueLength})
		XORL(total.As32(), total.As32())
	}
	VZEROUPPER()
	Store(total, ReturnIndex(0))
	RET()
}

// transfer moves the vectors between registers and the queue, and allocates the registers
// if there are none yet.
func transfer(is isa, queue reg.Register, move func(Mem, vec), vectors []lanes) []lanes {
	if vectors == nil {
		for range is.vectors() {
			vectors = append(vectors, lanes{state{is.vec(), is.vec(), is.vec()}, is.vec()})
		}
	}
	for i, v := range vectors {
		for word, x := range []vec{v.cols, v.left, v.right, v.free} {
			move(laneWord(queue, word, i*is.width()), x)
		}
	}
	return vectors
}

// moveToFront moves the states front..end of a queue to the front of its buffers and stores
// their number.
func moveToFront(is isa, queue reg.Register, front, end reg.GPVirtual) {
	SUBQ(front, end)
	MOVQ(end, Mem{Base: queue, Disp: queueLength})
	i := GP64()
	XORL(i.As32(), i.As32())
	JMP(LabelRef("moved"))
	Label("move")
	for word := range 3 {
		x := is.vec()
		is.load(buffer(queue, front, word), x)
		is.store(x, buffer(queue, i, word))
	}
	ADDQ(U8(is.width()), front)
	ADDQ(U8(is.width()), i)
	Label("moved")
	CMPQ(i, end)
	JLT(LabelRef("move"))
}
