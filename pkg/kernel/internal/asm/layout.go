package main

import (
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The layout of package kernel's level and sight, in bytes. A test there compares
// them with the Go types.
const (
	inFlight = 64   // lanes in flight: states that a level holds outside its buffers
	capacity = 4080 // states in each buffer of a level
	// full is the most states that a buffer may hold when a round of the loop
	// starts: the round adds up to inFlight, and a flush puts inFlight dead
	// states behind the last.
	full = capacity - 2*inFlight

	flightSize  = 4 * inFlight // one word of every lane in flight
	bufferSize  = 4 * capacity
	levelFlight = 0 // cols, left, right, free
	levelBuffer = 4 * flightSize
	levelCount  = levelBuffer + 3*bufferSize

	copies       = 8 // of each mask in a sight
	sightRow     = 0
	sightAhead   = 4 * copies
	sightLast    = sightAhead + 5*4*copies
	sightColumns = sightLast + 4*copies
	sightFar     = sightColumns + 4*copies
)

// The words of a state, in order of a level's buffers.
const (
	cols = iota
	left
	right
)

// buffer returns the place of the state with that index in a level's buffer.
func buffer(level, index reg.Register, word int) Mem {
	return Mem{Base: level, Index: index, Scale: 4, Disp: levelBuffer + word*bufferSize}
}

// flight returns the place where a level keeps word 0..3 of a vector, the first
// lane of which has the given number.
func flight(level reg.Register, word, lane int) Mem {
	return Mem{Base: level, Disp: levelFlight + word*flightSize + 4*lane}
}
