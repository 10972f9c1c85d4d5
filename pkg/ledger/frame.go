package ledger

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// A log is a sequence of frames, each with one record:
//
//	kind and length   4 bytes, little endian: kind<<24 | length of the payload
//	checksum          CRC-32C of these 4 bytes
//	payload
//	checksum          CRC-32C of the payload
//	kind and length   again, so that the file can be read backward from its end
const (
	headSize = 8
	tailSize = 8
	// frameSize is the size of a frame without a payload.
	frameSize = headSize + tailSize
	// maxPayload is the size of the largest payload, and maxGroup that of the largest group. A group is the frames of one
	// write.
	maxPayload = 1 << 20
	maxGroup   = 4 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// AppendFrame appends the frame of a record. A record that is invalid or too large is an error, and nothing is appended.
func AppendFrame(b []byte, r Record) ([]byte, error) {
	payload, err := payloadOf(r)
	if err == nil && len(payload) > maxPayload {
		err = fmt.Errorf("a record of %d bytes, more than %d", len(payload), maxPayload)
	}
	if err != nil {
		return b, err
	}
	order, start := binary.LittleEndian, len(b)
	word := uint32(r.kind())<<24 | uint32(len(payload))
	b = order.AppendUint32(b, word)
	b = append(order.AppendUint32(b, checksum(b[start:])), payload...)
	return order.AppendUint32(order.AppendUint32(b, checksum(payload)), word), nil
}

// frame has the kind of a frame, and its payload.
type frame struct {
	kind    kind
	payload []byte
	checks  bool // the payload matches its checksum
}

// size returns the number of bytes of the frame.
func (f *frame) size() int64 { return int64(frameSize + len(f.payload)) }

// parseFrame returns the frame at the start of b. b must be the rest of a file, or at least as long as the largest frame. ok
// says that the frame begins and ends with the same kind and length; the payload may be damaged.
func parseFrame(b []byte) (f frame, ok bool) {
	if len(b) < frameSize {
		return f, false
	}
	order := binary.LittleEndian
	word := order.Uint32(b)
	end := headSize + payloadLength(word)
	if order.Uint32(b[4:]) != checksum(b[:4]) || end > headSize+maxPayload || len(b) < end+tailSize {
		return f, false
	}
	f = frame{kind(word >> 24), b[headSize:end], checksum(b[headSize:end]) == order.Uint32(b[end:])}
	return f, order.Uint32(b[end+4:]) == word
}

// parseLast returns the frame at the end of b. ok says that the whole frame is undamaged.
func parseLast(b []byte) (f frame, ok bool) {
	if len(b) < frameSize {
		return f, false
	}
	size := frameSize + payloadLength(binary.LittleEndian.Uint32(b[len(b)-4:]))
	if size > len(b) {
		return f, false
	}
	f, ok = parseFrame(b[len(b)-size:])
	return f, ok && f.size() == int64(size) && f.checks
}

// payloadLength returns the length of a payload from the number that has its kind and length.
func payloadLength(word uint32) int { return int(word & (1<<24 - 1)) }
