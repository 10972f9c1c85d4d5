package main

import (
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The layout of package kernel's types queue and rowMasks; offsets and sizes are in bytes.
// TestLayout of that package checks that the Go types have the same numbers.
const (
	laneCount = 128  // lanes: states that a queue holds outside its buffers
	capacity  = 4064 // states in each buffer of a queue
	// highWater is the greatest length of the next queue with which a round of the loop starts. The
	// round adds up to laneCount states, and a flush puts up to laneCount idle states behind the last.
	highWater = capacity - 2*laneCount

	wordSize    = 4
	wordCount   = 20
	vectorsFrom = 128 // where the vectors begin
	vectorSize  = 64
	masksSize   = vectorsFrom + wordCount*vectorSize
)

// The words of row masks.
const (
	masksRow       = 0
	masksNextRows  = 1
	masksLast      = 6
	masksColumns   = 7
	masksShifts    = 8 // pairs: left, right
	masksLastShift = 18
)

// wordOf returns the memory operand of a word of row masks, vectorOf that of the vector with this
// word in all lanes.
func wordOf(masks reg.Register, word int) Mem { return Mem{Base: masks, Disp: wordSize * word} }

func vectorOf(masks reg.Register, word int) Mem {
	return Mem{Base: masks, Disp: vectorsFrom + vectorSize*word}
}

// Indices of the words of a state, in the order of a queue's buffers. Only a lane has the fourth
// word.
const (
	cols = iota
	left
	right
	free
)

// laneSize is the size of a lane in bytes: 2 or 4. The layout of a queue depends on it.
type laneSize int

// length returns the memory operand of a queue's length.
func (size laneSize) length(queue reg.Register) Mem {
	return Mem{Base: queue, Disp: int(size) * (4*laneCount + 3*capacity)}
}

// buffer returns the memory operand of one word of a state in a queue's buffers. The index tells
// the state.
func (size laneSize) buffer(queue, index reg.Register, word int) Mem {
	return Mem{Base: queue, Index: index, Scale: uint8(size),
		Disp: int(size) * (4*laneCount + word*capacity)}
}

// lane returns the memory operand of a vector in a queue's lanes: word 0..3 of the states from the
// given lane on.
func (size laneSize) lane(queue reg.Register, word, lane int) Mem {
	return Mem{Base: queue, Disp: int(size) * (word*laneCount + lane)}
}

// choose returns the instruction for lanes of this size.
func (size laneSize) choose(words, doublewords func(...Op)) func(...Op) {
	if size == 2 {
		return words
	}
	return doublewords
}
