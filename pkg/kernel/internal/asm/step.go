package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// vec is a vector register: one mask for each lane, bit i being column i.
type vec = reg.VecVirtual

// state is a vector of states of one row: the columns attacked in that row.
type state struct{ cols, left, right vec }

// lanes is a vector of states, and their free squares that are still to be tried. A lane without
// such a square takes the next state of the queue.
type lanes struct {
	state
	free vec
}

// words returns the vectors in the order of the layout.
func (v lanes) words() []vec { return []vec{v.cols, v.left, v.right, v.free} }

// isa is what the step needs of an instruction set.
type isa interface {
	// width is the number of lanes in a vector, and vectors is the number of vectors in a round.
	width() int
	vectors() int
	// resident says that the vectors stay in registers during a step. If they do not, each round loads
	// them and stores them again.
	resident() bool
	// start loads from the row masks the constants that the rules need.
	start(masks reg.Register, d pruneRules)
	vec() vec
	load(m Mem, x vec)
	store(x vec, m Mem)
	// idleLane returns a vector of all ones: the columns of a state that never has a free
	// square.
	idleLane() vec
	// selectSquare takes the lowest free square of each lane and returns the states that queens on
	// these squares make in the next row. It refills lanes without another free square with the states
	// of the queue from index on, and advances index.
	selectSquare(v lanes, queue, index reg.Register) state
	// pruneTest finds the children that meet the rules.
	pruneTest(child state, d pruneRules) survivors
	// countLeaf adds the number of completions of children with two rows left to a count. Let F and G
	// be the free squares of these rows, in the two columns without a queen. There is no completion if
	// F or G is empty, if a column is in neither, or if the columns are as far apart as the rows.
	// Otherwise there are two if F and G both contain both columns, and one if not.
	countLeaf(child state)
	// storeSurvivors appends to the queue, at index, the children that meet the rules, and advances
	// index.
	storeSurvivors(child state, v survivors, queue, index reg.Register)
	// zeros returns a vector of zeros.
	zeros() vec
	// or sets y to x | y.
	or(x, y vec)
	// any sets the flags to "not equal" if any lane of a vector is not 0.
	any(x vec)
	// sum sets total to the number of completions that countLeaf has added.
	sum(total reg.GPVirtual)
}

// amd64 is what AVX2 and AVX-512 share.
type amd64 struct {
	laneSize
	rules pruneRules
	// shiftLeft and shiftRight shift each lane by its own operand. shiftBy returns the operands for
	// shifts[i] of the row masks.
	shiftLeft, shiftRight func(...Op)
	shiftBy               func(i int) (left, right Op)
}

func (s *amd64) add(x ...Op) { s.choose(VPADDW, VPADDD)(x...) }
func (s *amd64) sub(x ...Op) { s.choose(VPSUBW, VPSUBD)(x...) }

// moveLeft moves the left diagonals in x down and stores them in y: from the row to the next if i
// is 0, else from the next row to the i-th after it. The parameter before has the same diagonals
// one row above those in y; only steps without gaps read it.
func (s *amd64) moveLeft(i int, x, before, y vec) {
	if s.rules.gaps {
		by, _ := s.shiftBy(i)
		s.shiftLeft(by, x, y)
	} else {
		s.add(before, before, y)
	}
}

// moveRight does the same for right diagonals.
func (s *amd64) moveRight(i int, x, y vec) {
	if s.rules.gaps {
		_, by := s.shiftBy(i)
		s.shiftRight(by, x, y)
	} else {
		s.choose(VPSRLW, VPSRLD)(U8(max(i, 1)), x, y)
	}
}

// survivors says which lanes of a vector of children meet the rules, in a form that suits
// the instruction set.
type survivors any

// expand writes a function that takes states from one queue and appends their children to the next.
// The function ends when the next queue is full. Before that, a flush ends only when no state is
// left, neither in the buffers nor in the lanes, and any other call ends when too few states are
// left for a round.
//
//	func name(from, to *queue, masks *rowMasks, flush bool) uint64
//
// The function takes states from the front of one queue's buffers, and appends children at the back
// of the other's. So it knows where the states that refill a vector begin before it knows which
// lanes are idle. At the end it moves the remaining states to the front.
func expand(is isa, size laneSize, name string, d pruneRules) {
	TEXT(name, NOSPLIT, "func(from, to, masks *uint32, flush bool) uint64")
	from := Load(Param("from"), GP64())
	to := Load(Param("to"), GP64())
	masks := Load(Param("masks"), GP64())
	front, back, end := GP64(), GP64(), GP64() // in from, to and from
	XORL(front.As32(), front.As32())
	MOVQ(size.length(from), end)
	MOVQ(size.length(to), back)
	is.start(masks, d)
	vectors := make([]lanes, is.vectors())
	if is.resident() {
		for i := range vectors {
			vectors[i] = loadLanes(is, size, from, i)
		}
	}

	taken := is.width() * is.vectors() // the most states that a round takes
	// the greatest front behind which there are enough states for a round
	enough := GP64()
	LEAQ(Mem{Base: end, Disp: -taken}, enough)
	flush := NewParamAddr("flush", 24)
	CMPB(flush, U8(0))
	JEQ(LabelRef("check"))
	Comment("Idle states follow the last state, for lanes that find no other.")
	for i := range is.vectors() {
		m := size.buffer(from, end, cols)
		m.Disp += int(size) * i * is.width()
		is.store(is.idleLane(), m)
	}
	LEAQ(Mem{Base: end, Disp: -1}, enough)
	JMP(LabelRef("check"))

	Label("more")
	for i, v := range vectors {
		if !is.resident() {
			v = loadLanes(is, size, from, i)
		}
		child := is.selectSquare(v, from, front)
		if !is.resident() {
			storeLanes(is, size, from, i, v)
		}
		if d.leaf {
			is.countLeaf(child)
		} else {
			is.storeSurvivors(child, is.pruneTest(child, d), to, back)
		}
	}
	Label("check")
	if !d.leaf {
		CMPQ(back, U32(highWater))
		JA(LabelRef("done"))
	}
	CMPQ(front, enough)
	JLE(LabelRef("more"))
	CMPB(flush, U8(0))
	JEQ(LabelRef("done"))
	Comment("A flush goes on with what is left in the lanes.")
	MOVQ(end, front)
	rest := is.zeros()
	for i, v := range vectors {
		if !is.resident() {
			v.free = is.vec()
			is.load(size.lane(from, free, i*is.width()), v.free)
		}
		is.or(v.free, rest)
	}
	is.any(rest)
	JNE(LabelRef("more"))

	Label("done")
	CMPQ(front, end)
	CMOVQGT(end, front)
	if is.resident() {
		for i, v := range vectors {
			storeLanes(is, size, from, i, v)
		}
	}
	moveToFront(is, size, from, front, end)
	total := GP64()
	if d.leaf {
		is.sum(total)
	} else {
		MOVQ(back, size.length(to))
		XORL(total.As32(), total.As32())
	}
	VZEROUPPER()
	Store(total, ReturnIndex(0))
	RET()
}

// loadLanes loads the i-th vector of a queue's lanes.
func loadLanes(is isa, size laneSize, queue reg.Register, i int) lanes {
	v := lanes{state{is.vec(), is.vec(), is.vec()}, is.vec()}
	for word, x := range v.words() {
		is.load(size.lane(queue, word, i*is.width()), x)
	}
	return v
}

// storeLanes stores the i-th vector of a queue's lanes.
func storeLanes(is isa, size laneSize, queue reg.Register, i int, v lanes) {
	for word, x := range v.words() {
		is.store(x, size.lane(queue, word, i*is.width()))
	}
}

// moveToFront moves the states front..end-1 of a queue to the front of its buffers and stores their
// number.
func moveToFront(is isa, size laneSize, queue reg.Register, front, end reg.GPVirtual) {
	SUBQ(front, end)
	MOVQ(end, size.length(queue))
	i := GP64()
	XORL(i.As32(), i.As32())
	JMP(LabelRef("moved"))
	Label("move")
	for word := range 3 {
		x := is.vec()
		is.load(size.buffer(queue, front, word), x)
		is.store(x, size.buffer(queue, i, word))
	}
	ADDQ(U8(is.width()), front)
	ADDQ(U8(is.width()), i)
	Label("moved")
	CMPQ(i, end)
	JLT(LabelRef("move"))
}
