package queens

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
)

// Range is consecutive tasks of a run: the id of the first one, and their number.
type Range struct {
	First uint64
	Tasks uint64
}

// End returns the id after the last task of the range.
func (r Range) End() uint64 { return r.First + r.Tasks }

// Contains reports whether all tasks of s are tasks of r.
func (r Range) Contains(s Range) bool { return s.First >= r.First && s.End() <= r.End() }

// String returns the ids of the first and the last task: 17, or 17-20.
func (r Range) String() string {
	if r.Tasks == 1 {
		return fmt.Sprint(r.First)
	}
	return fmt.Sprintf("%d-%d", r.First, r.End()-1)
}

// Validate returns an error unless the range has at least one task and lies within a run of the
// given number of tasks.
func (r Range) Validate(all uint64) error {
	if r.Tasks == 0 || r.Tasks > all || r.First > all-r.Tasks {
		return fmt.Errorf("a range of %d tasks from task %d on, in a run of %d", r.Tasks, r.First, all)
	}
	return nil
}

// MaxChunkTasks is the greatest number of tasks in a chunk. A delivery has room for the result of
// such a chunk.
const MaxChunkTasks = 1 << 12

// Ticket is a MAC over the name of a run, the name of a machine and a range of tasks, under a
// secret of the run. It proves that the coordinator handed out the range to a machine of that name.
type Ticket [16]byte

// String returns 32 hexadecimal digits.
func (t Ticket) String() string { return hex.EncodeToString(t[:]) }

// MaxMachineBytes is the greatest length of the name of a machine, in bytes.
const MaxMachineBytes = 63

// ValidateMachine returns an error unless name can be the name of a machine or of a process: 1 to
// 63 of the characters A-Z, a-z, 0-9, "-" and "_". NATS subjects contain it as a token.
func ValidateMachine(name string) error {
	if name == "" || len(name) > MaxMachineBytes || strings.Trim(name, machineLetters) != "" {
		return fmt.Errorf("machine name %.80q is not 1 to %d of A-Z, a-z, 0-9, - and _", name,
			MaxMachineBytes)
	}
	return nil
}

// HashOfRange identifies what a worker counts in consecutive tasks. It is the first 64 bits of
// SHA-256 over the hashes of these tasks (see [Task.Hash]), little endian, in order of id.
func HashOfRange(tasks []uint64) uint64 {
	buf := make([]byte, 0, 8*len(tasks))
	for _, hash := range tasks {
		buf = binary.LittleEndian.AppendUint64(buf, hash)
	}
	return first64(buf)
}
