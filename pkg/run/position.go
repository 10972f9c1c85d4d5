package run

import "time"

// StreamPosition is a place in the stream of results. It is a hint: a server may lose the end of a stream
// and store other messages under the same sequences, which Stored shows.
type StreamPosition struct {
	// Created is the creation time of the stream, which tells it from a later one with the
	// same name: that counts from 1 again. It is zero if nothing was read yet.
	Created time.Time `json:"stream"`
	// Sequence is that of the last result read, or 0.
	Sequence uint64 `json:"sequence"`
	// Stored is when the server stored that result, to the nanosecond: another message under the same
	// sequence has another time.
	Stored time.Time `json:"stored"`
}
