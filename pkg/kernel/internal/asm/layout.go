package main

import (
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The layout of package kernel's types queue and rowMasks, in bytes. A test there compares
// these constants with the Go types.
const (
	laneCount = 64   // lanes: states that a queue holds outside its buffers
	capacity  = 4080 // states in each buffer of a queue
	// highWater is the most states that a buffer may hold when a round of the loop
	// starts: the round adds up to laneCount, and a flush puts laneCount idle
	// states behind the last.
	highWater = capacity - 2*laneCount

	laneWordSize = 4 * laneCount // one word of every lane
	bufferSize   = 4 * capacity
	queueLanes   = 0 // cols, left, right, free
	queueBuffers = 4 * laneWordSize
	queueLength  = queueBuffers + 3*bufferSize

	copies         = 8 // of each mask in rowMasks
	masksRow       = 0
	masksNextRows  = 4 * copies
	masksLast      = masksNextRows + 5*4*copies
	masksColumns   = masksLast + 4*copies
	masksLastShift = masksColumns + 4*copies
)

// The words of a state, in order of a queue's buffers.
const (
	cols = iota
	left
	right
)

// buffer returns the place of the state with that index in a queue's buffer.
func buffer(queue, index reg.Register, word int) Mem {
	return Mem{Base: queue, Index: index, Scale: 4, Disp: queueBuffers + word*bufferSize}
}

// laneWord returns the place where a queue keeps word 0..3 of a vector whose first lane has
// the given number.
func laneWord(queue reg.Register, word, lane int) Mem {
	return Mem{Base: queue, Disp: queueLanes + word*laneWordSize + 4*lane}
}
