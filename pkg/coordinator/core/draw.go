package core

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
)

// draw chooses the tasks that are spot-checked: each task with a given probability. Nobody knows these tasks without the seed.
// For each block of eight tasks, the HMAC-SHA256 (RFC 2104) of its number, with the seed as key, gives 32 bits for each task.
type draw struct {
	seed  [32]byte
	share float64
	block uint64 // 1 + the number of the block whose hash is in hash; 0 before the first
	hash  [sha256.Size]byte
}

const drawBlock = sha256.Size / 4

// has reports whether a task is chosen.
func (d *draw) has(task uint64) bool {
	if block := task/drawBlock + 1; block != d.block {
		mac := hmac.New(sha256.New, d.seed[:])
		mac.Write(binary.BigEndian.AppendUint64([]byte("spot check"), block)) // it never fails
		mac.Sum(d.hash[:0])
		d.block = block
	}
	drawn := binary.BigEndian.Uint32(d.hash[4*(task%drawBlock):])
	return float64(drawn) < d.share*(1<<32)
}
