package bus

import (
	"errors"
	"fmt"
	"math"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"nqueens/pkg/queens"
)

// Bounds of messages, in bytes. A reply of a coordinator is bounded by the server's max_payload.
const (
	// MaxFromWorker bounds a work request.
	MaxFromWorker = 1 << 20
	// MaxDelivery bounds a delivery.
	MaxDelivery = 64<<10 + 1<<10
	maxSmall    = 4 << 10 // an announcement or a status request
	maxText     = 1 << 10 // a text for people
)

// Bounds of numbers in messages.
const (
	maxThreads = 1 << 20
	maxTasks   = 1 << 56 // of a run
)

// VersionError says that a message has another protocol version than this program.
type VersionError struct{ Version uint64 }

// Error names both versions.
func (e *VersionError) Error() string {
	return fmt.Sprintf("it speaks protocol version %d, this program version %d: use the same release on both sides", e.Version, Protocol)
}

// checkVersion returns an error unless a message begins with this program's protocol version.
func checkVersion(data []byte) error {
	field, kind, n := protowire.ConsumeTag(data)
	if n < 0 || field != 1 || kind != protowire.VarintType {
		return errors.New("a message without a protocol version")
	}
	version, n := protowire.ConsumeVarint(data[n:])
	if n < 0 {
		return errors.New("a message with half a protocol version")
	}
	if version != Protocol {
		return &VersionError{version}
	}
	return nil
}

// unmarshal reads a message of this program's version without unknown fields.
func unmarshal(data []byte, most int, m proto.Message) error {
	if err := checkVersion(data); err != nil {
		return err
	}
	if len(data) > most {
		return fmt.Errorf("a message of %d bytes, more than %d", len(data), most)
	}
	if err := proto.Unmarshal(data, m); err != nil {
		return err
	}
	if hasUnknown(m.ProtoReflect()) {
		return errors.New("a message with unknown fields")
	}
	return nil
}

// hasUnknown reports whether a message, or one within it, has unknown fields.
func hasUnknown(m protoreflect.Message) bool {
	found := len(m.GetUnknown()) > 0
	if found {
		return true
	}
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case field.Message() == nil:
		case field.IsList():
			for i, list := 0, value.List(); i < list.Len() && !found; i++ {
				found = hasUnknown(list.Get(i).Message())
			}
		default:
			found = hasUnknown(value.Message())
		}
		return !found
	})
	return found
}

func decodeTicket(data []byte) (t queens.Ticket, err error) {
	if len(data) != len(t) {
		return t, fmt.Errorf("a ticket of %d bytes, not %d", len(data), len(t))
	}
	return queens.Ticket(data), nil
}

func decodeRange(first, tasks uint64) (queens.Range, error) {
	r := queens.Range{First: first, Tasks: tasks}
	return r, r.Validate(maxTasks)
}

func decodeDuration(nanoseconds uint64) (time.Duration, error) {
	if nanoseconds > math.MaxInt64 {
		return 0, fmt.Errorf("a time of %d ns", nanoseconds)
	}
	return time.Duration(nanoseconds), nil
}

// encodeText returns a text for people that [decodeText] accepts.
func encodeText(text string) string {
	clean := []rune(queens.Sanitize(text))
	for len(string(clean)) > maxText {
		clean = clean[:len(clean)*3/4]
	}
	return string(clean)
}

func decodeText(text string) (string, error) {
	if len(text) > maxText {
		return "", fmt.Errorf("a text of %d bytes, more than %d", len(text), maxText)
	}
	return queens.Sanitize(text), nil
}

func decodeInstance(instance uint64) (uint64, error) {
	if instance == 0 {
		return 0, errors.New("a coordinator without an instance")
	}
	return instance, nil
}
