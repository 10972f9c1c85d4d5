package run

import "time"

// StreamPosition is a place in the stream of results.
type StreamPosition struct {
	// Created is the creation time of the stream, which tells it from a later one with the
	// same name: that counts from 1 again. It is zero if nothing was read yet.
	Created time.Time `json:"stream"`
	// Sequence is that of the last result read, or 0.
	Sequence uint64 `json:"sequence"`
}
