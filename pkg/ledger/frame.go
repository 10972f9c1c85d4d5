package ledger

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// A log is a sequence of frames, one record each:
//
//	kind and length   4 bytes, little endian: kind<<24 | length of the payload
//	checksum          CRC-32C of these 4 bytes
//	payload
//	checksum          CRC-32C of the payload
//	kind and length   again, so that the file can be walked from its end
const (
	headSize = 8
	tailSize = 8
	// frameSize is the size of a frame without a payload.
	frameSize = headSize + tailSize
	// maxPayload bounds the payload of a frame, and maxGroup the frames that are written at once, in bytes.
	maxPayload = 1 << 20
	maxGroup   = 4 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// AppendFrame appends the frame of a record. The error says that the record is invalid or too large; then nothing is
// appended.
func AppendFrame(b []byte, r Record) ([]byte, error) {
	start := len(b)
	framed, err := appendPayload(append(b, make([]byte, headSize)...), r)
	if err != nil {
		return b, err
	}
	payload := framed[start+headSize:]
	if len(payload) > maxPayload {
		return b, fmt.Errorf("a record of %d bytes, more than %d", len(payload), maxPayload)
	}
	order, head := binary.LittleEndian, framed[start:start+headSize]
	word := uint32(r.kind())<<24 | uint32(len(payload))
	order.PutUint32(head, word)
	order.PutUint32(head[4:], checksum(head[:4]))
	framed = order.AppendUint32(framed, checksum(payload))
	return order.AppendUint32(framed, word), nil
}

// A frame is what its head says, and where its payload is.
type frame struct {
	kind    kind
	payload []byte
	sum     uint32 // of the payload, as written
}

// checks reports whether the payload has its checksum.
func (f *frame) checks() bool { return checksum(f.payload) == f.sum }

// size returns the number of bytes of the frame.
func (f *frame) size() int64 { return int64(frameSize + len(f.payload)) }

// parseHead returns the kind of a frame and the length of its payload. It needs headSize bytes.
func parseHead(b []byte) (k kind, length int, ok bool) {
	order := binary.LittleEndian
	word := order.Uint32(b)
	length = int(word & (1<<24 - 1))
	return kind(word >> 24), length, length <= maxPayload && order.Uint32(b[4:]) == checksum(b[:4])
}

// parseFrame returns the frame at the start of b, which is all that is left of a file or more than the largest frame.
// It is ok if head and tail are whole: the payload may be damaged.
func parseFrame(b []byte) (f frame, ok bool) {
	if len(b) < frameSize {
		return f, false
	}
	kind, length, ok := parseHead(b)
	if !ok || len(b) < frameSize+length {
		return f, false
	}
	order, tail := binary.LittleEndian, b[headSize+length:]
	f = frame{kind, b[headSize : headSize+length], order.Uint32(tail)}
	return f, order.Uint32(tail[4:]) == order.Uint32(b)
}

// parseLast returns the frame at the end of b if it checks as a whole.
func parseLast(b []byte) (f frame, ok bool) {
	if len(b) < frameSize {
		return f, false
	}
	size := frameSize + int(binary.LittleEndian.Uint32(b[len(b)-4:])&(1<<24-1))
	if size > len(b) {
		return f, false
	}
	f, ok = parseFrame(b[len(b)-size:])
	return f, ok && f.size() == int64(size) && f.checks()
}
