package ledger

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// A log is a sequence of frames. A frame has a head, the payload of one record, and a tail. Head
// and tail are labels: each says the same about the frame, in 16 bytes, so that one damaged byte
// leaves one of them.
//
//	kind and length   4 bytes, little endian: kind<<24 | length of the payload
//	write             number of the write to which the frame belongs, from 1, modulo 2^32
//	payload           CRC-32C of the payload
//	checksum          CRC-32C of these 12 bytes; a tail has its complement, so that no tail is
//	                  taken for a head
//
// A write is the frames that are written together, before one sync. The next write begins when the
// sync has ended. So if a frame of a later write is there, the writes before it were on disk.
const (
	labelSize = 16
	// frameSize is the size of a frame without a payload.
	frameSize = 2 * labelSize
	// maxPayload is the size of the largest payload, and maxWrite that of the largest write.
	maxPayload = 1 << 20
	maxWrite   = 4 << 20
	// largest is the size of the largest frame.
	largest = frameSize + maxPayload
)

// end says at which end of a frame a label is. The checksum of a label is combined with it.
type end uint32

const (
	head end = 0
	tail end = 1<<32 - 1
)

// label is what head and tail of a frame say.
type label struct {
	kind   kind
	length int // of the payload, in bytes
	write  uint32
	sum    uint32 // checksum of the payload
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

func (l *label) append(b []byte, at end) []byte {
	order, start := binary.LittleEndian, len(b)
	b = order.AppendUint32(b, uint32(l.kind)<<24|uint32(l.length))
	b = order.AppendUint32(b, l.write)
	b = order.AppendUint32(b, l.sum)
	return order.AppendUint32(b, checksum(b[start:])^uint32(at))
}

// parseLabel returns the label in the first 16 bytes of b, if there is one with the right checksum.
func parseLabel(b []byte, at end) (l label, ok bool) {
	if len(b) < labelSize {
		return l, false
	}
	order := binary.LittleEndian
	if order.Uint32(b[12:]) != checksum(b[:12])^uint32(at) {
		return l, false
	}
	word := order.Uint32(b)
	l = label{kind(word >> 24), int(word & (1<<24 - 1)), order.Uint32(b[4:]), order.Uint32(b[8:])}
	return l, l.length <= maxPayload
}

// size returns the number of bytes of the frame.
func (l *label) size() int { return frameSize + l.length }

// AppendFrame appends the frame of a record of the write with the given number. A record that is
// invalid or too large is an error, and nothing is appended.
func AppendFrame(b []byte, write uint32, r Record) ([]byte, error) {
	payload, err := payloadOf(r)
	if err == nil && len(payload) > maxPayload {
		err = fmt.Errorf("a record of %d bytes, more than %d", len(payload), maxPayload)
	}
	if err != nil {
		return b, err
	}
	l := label{r.kind(), len(payload), write, checksum(payload)}
	return l.append(append(l.append(b, head), payload...), tail), nil
}

// frame is a frame that was read.
type frame struct {
	label
	payload []byte
	state   condition
}

// condition says what a reader may believe of a frame.
type condition byte

const (
	// unreadable: at most its head is there, and the payload is not as the head says. If the log
	// was torn, its last frame is in this condition.
	unreadable condition = iota
	// damaged: its tail is there, so the whole frame was written, but its payload has another
	// checksum.
	damaged
	// mended: head or tail is damaged. The other one and the payload are right.
	mended
	// whole: all of it is right.
	whole
)

// parseFrame returns the frame at the start of b, which must be the rest of a file, or at least as
// long as the largest frame.
func parseFrame(b []byte) (f frame) {
	l, hasHead := parseLabel(b, head)
	if hasHead && l.size() > len(b) {
		return f
	}
	hasTail := false
	if hasHead {
		t, ok := parseLabel(b[labelSize+l.length:], tail)
		hasTail = ok && t == l
	} else {
		l, hasTail = findTail(b)
	}
	if !hasHead && !hasTail {
		return f
	}
	f = frame{label: l, payload: b[labelSize : labelSize+l.length]}
	switch rightPayload := checksum(f.payload) == l.sum; {
	case rightPayload && hasHead && hasTail:
		f.state = whole
	case rightPayload:
		f.state = mended
	case hasTail:
		f.state = damaged
	}
	return f
}

// findTail finds the tail of the frame at the start of b, whose head is damaged. The length in the
// tail must lead to the start.
func findTail(b []byte) (l label, ok bool) {
	for length := 0; length <= maxPayload && frameSize+length <= len(b); length++ {
		if l, ok = parseLabel(b[labelSize+length:], tail); ok && l.length == length {
			return l, true
		}
	}
	return l, false
}

// parseLast returns the frame at the end of b. It is unreadable if the end of b is not its tail.
func parseLast(b []byte) (f frame) {
	if len(b) < frameSize {
		return f
	}
	l, ok := parseLabel(b[len(b)-labelSize:], tail)
	if !ok || l.size() > len(b) {
		return f
	}
	return parseFrame(b[len(b)-l.size():])
}
