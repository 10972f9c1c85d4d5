package core

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
)

// draw chooses the tasks that are spot-checked. Nobody can tell them without the seed. All numbers
// come from HMAC-SHA256 (RFC 2104) with the seed as key.
type draw struct {
	seed  [32]byte
	share float64 // of the tasks that has chooses
	block uint64  // 1 + the number of the block whose hash is in hash; 0 before the first
	hash  [sha256.Size]byte
}

// drawBlock is the number of tasks in a block. The hash of a block has 32 bits for each of them.
const drawBlock = sha256.Size / 4

// firstChecks is the number of a machine's counts of which one is checked in any case.
const firstChecks = 8

// first returns which count of a machine is checked in any case: 1 to firstChecks.
func (d *draw) first(machine string) uint64 { return 1 + d.number("first "+machine)%firstChecks }

// last returns the task that is recounted at the end of a run if no task has been checked. The
// number of tasks must not be 0.
func (d *draw) last(tasks uint64) uint64 { return d.number("last") % tasks }

// number returns a number for a purpose.
func (d *draw) number(purpose string) uint64 {
	mac := hmac.New(sha256.New, d.seed[:])
	mac.Write([]byte("draw " + purpose)) // it never fails
	return binary.BigEndian.Uint64(mac.Sum(nil))
}

// has reports whether a task is chosen. Each task has the probability share.
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
