package bus

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/rs/zerolog"
	"google.golang.org/protobuf/proto"

	"nqueens/pkg/queens"
	"nqueens/pkg/ratelimit"
	"nqueens/pkg/run"
)

// versionError rejects a message of another protocol version.
type versionError struct {
	version uint32
	worker  string // that sent it; empty if unknown
}

func (e versionError) Error() string {
	return fmt.Sprintf("protocol version %d, this program speaks version %d", e.version, Protocol)
}

// checkProtocol returns a versionError for another version. A message without a version
// is garbage. The worker is the message's sender, if the message names one.
func checkProtocol(version uint32, worker string) error {
	switch version {
	case Protocol:
		return nil
	case 0:
		return errors.New("message without a protocol version")
	}
	return versionError{version: version, worker: queens.SanitizeName(worker)}
}

// checkJSONProtocol is checkProtocol for a message in JSON.
func checkJSONProtocol(data []byte) error {
	var m struct {
		Protocol uint32 `json:"protocol"`
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return err
	}
	return checkProtocol(m.Protocol, "")
}

// unmarshalJSON reads a valid message in JSON of this program's protocol version.
func unmarshalJSON(data []byte, into interface{ Validate() error }) error {
	if len(data) > run.MaxSnapshotBytes {
		return fmt.Errorf("a message of %d bytes, more than %d", len(data), run.MaxSnapshotBytes)
	}
	if err := checkJSONProtocol(data); err != nil {
		return err
	}
	return run.DecodeStrict(data, run.MaxSnapshotBytes, into)
}

// message is a generated message of the protocol.
type message interface {
	proto.Message
	GetProtocol() uint32
}

// unmarshal reads a message of this program's protocol version.
func unmarshal(data []byte, m message) error {
	if err := proto.Unmarshal(data, m); err != nil {
		return err
	}
	var worker string
	if sent, ok := m.(interface{ GetWorker() string }); ok {
		worker = sent.GetWorker()
	}
	return checkProtocol(m.GetProtocol(), worker)
}

// validate checks what was read from a message, and that it came on its run's subject.
func validate(value interface{ Validate() error }, subject, want string) error {
	if err := value.Validate(); err != nil {
		return err
	}
	return checkSubject(subject, want)
}

func checkSubject(subject, want string) error {
	if subject != want {
		return fmt.Errorf("message for %s on the subject %s", want, subject)
	}
	return nil
}

// rejected counts the messages that could not be read, and logs the first of each
// subject, and of each worker of another version: garbage comes in floods.
type rejected struct {
	log     zerolog.Logger
	count   atomic.Uint64
	limiter ratelimit.Limiter
}

// loggedBytes is how much of a rejected message is logged.
const loggedBytes = 16

func newRejected(log zerolog.Logger) *rejected {
	return &rejected{log: log, limiter: ratelimit.Limiter{Interval: ratelimit.Forever, MaxKeys: 1000}}
}

func (r *rejected) add(subject string, data []byte, reason error) {
	r.count.Add(1)
	key := subject
	var version versionError
	if errors.As(reason, &version) {
		key += " version " + version.worker
	}
	if !r.limiter.Allow(key) {
		return
	}
	event := r.log.Warn().Err(reason)
	if version.worker != "" {
		event.Str("worker", version.worker)
	}
	event.Str("subject", subject).Int("bytes", len(data)).
		Str("begins", hex.EncodeToString(data[:min(len(data), loggedBytes)])).
		Msg("rejected a message; more of its kind are counted, not logged")
}

// Snapshots and announcements in the wire format: JSON, which people can read with the tools of NATS.

type wireSnapshot struct {
	Protocol uint32 `json:"protocol"`
	run.Snapshot
}

func encodeSnapshot(s *run.Snapshot) ([]byte, error) {
	return json.Marshal(wireSnapshot{Protocol, *s})
}

// decodeSnapshot returns the valid snapshot of the subject's run.
func decodeSnapshot(subject string, data []byte) (*run.Snapshot, error) {
	s := new(wireSnapshot)
	if err := unmarshalJSON(data, s); err != nil {
		return nil, err
	}
	return &s.Snapshot, checkSubject(subject, ProgressSubject(s.Run))
}

type wireAnnouncement struct {
	Protocol uint32 `json:"protocol"`
	run.Announcement
}

func encodeAnnouncement(a *run.Announcement) ([]byte, error) {
	return json.Marshal(wireAnnouncement{Protocol, *a})
}

// decodeAnnouncement returns the valid announcement of the subject's run.
func decodeAnnouncement(subject string, data []byte) (run.Announcement, error) {
	var a wireAnnouncement
	if err := unmarshalJSON(data, &a); err != nil {
		return run.Announcement{}, err
	}
	return a.Announcement, checkSubject(subject, announcementSubject(a.Run))
}
