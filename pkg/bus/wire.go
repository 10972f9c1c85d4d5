package bus

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"nqueens/pkg/queens"
)

// Bounds of messages, in bytes, and of numbers in them. A reply of a coordinator is bounded by the
// server's max_payload.
const (
	// MaxFromWorker bounds a work request.
	MaxFromWorker = 1 << 20
	// MaxDelivery bounds a delivery.
	MaxDelivery = 64<<10 + 1<<10
	maxText     = 1 << 10 // a text for people

	maxThreads = 1 << 20
	maxTasks   = 1 << 56 // of a run
	maxTime    = 10 * 365 * 24 * time.Hour
)

// VersionError says that a message has another protocol version than this program.
type VersionError struct{ Version uint64 }

// Error names both versions.
func (e *VersionError) Error() string {
	return fmt.Sprintf("it speaks protocol version %d, this program version %d: use the same "+
		"release on both sides",
		e.Version, Protocol)
}

// checkVersion returns an error unless a message begins with this program's protocol version.
func checkVersion(data []byte) error {
	field, kind, tag := protowire.ConsumeTag(data)
	version, varint := protowire.ConsumeVarint(data[max(tag, 0):])
	switch {
	case tag < 0 || field != 1 || kind != protowire.VarintType:
		return errors.New("a message without a protocol version")
	case varint < 0:
		return errors.New("a message with half a protocol version")
	case version != Protocol:
		return &VersionError{version}
	}
	return nil
}

// decode reads a message of this program's version into m, and converts and checks it. It refuses
// unknown fields, and a message with more bytes than this program would write. If it returns an
// error, decoded is the zero value.
func decode[M proto.Message, T any](
	data []byte, m M, convert func(*decoder, M) T,
) (decoded T, err error) {
	if err := checkVersion(data); err != nil {
		return decoded, err
	}
	if err := (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(data, m); err != nil {
		return decoded, err
	}
	var d decoder
	d.check(proto.Size(m) == len(data), "a message with unknown fields")
	if converted := convert(&d, m); d.err == nil {
		decoded = converted
	}
	return decoded, d.err
}

// decoder checks what was read from a message, and keeps the first error.
type decoder struct{ err error }

// check notes an error unless ok is true.
func (d *decoder) check(ok bool, format string, args ...any) {
	if !ok && d.err == nil {
		d.err = fmt.Errorf(format, args...)
	}
}

func (d *decoder) valid(err error) { d.err = cmp.Or(d.err, err) }

func (d *decoder) ticket(data []byte) (t queens.Ticket) {
	d.check(len(data) == len(t), "a ticket of %d bytes, not %d", len(data), len(t))
	copy(t[:], data)
	return t
}

func (d *decoder) tasks(first, tasks uint64) queens.Range {
	r := queens.Range{First: first, Tasks: tasks}
	d.valid(r.Validate(maxTasks))
	return r
}

func (d *decoder) duration(nanoseconds uint64) time.Duration {
	d.check(nanoseconds <= uint64(maxTime), "a time of %d ns", nanoseconds)
	return time.Duration(nanoseconds)
}

func (d *decoder) instance(instance uint64) uint64 {
	d.check(instance != 0, "a coordinator without an instance")
	return instance
}

func (d *decoder) name(what, name string) string {
	d.valid(queens.ValidateName(what, name))
	return name
}

// text checks the length of a text for people, and returns it sanitized.
func (d *decoder) text(text string) string {
	d.check(len(text) <= maxText, "a text of %d bytes, more than %d", len(text), maxText)
	return queens.Sanitize(text)
}

// encodeText cuts a text for people to the length that a decoder accepts. If that cuts a character,
// its bytes become question marks.
func encodeText(text string) string {
	text = queens.Sanitize(text)
	return queens.Sanitize(text[:min(len(text), maxText)])
}
