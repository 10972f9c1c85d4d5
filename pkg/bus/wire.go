package bus

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	nqueensv1 "nqueens/proto/nqueens/v1"

	"nqueens/pkg/queens"
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
	if subject != want {
		return fmt.Errorf("message for %s on the subject %s", want, subject)
	}
	return nil
}

// maxInt rejects counters that no well-behaved peer sends.
const maxInt = 1<<31 - 1

func encodeBeat(b *run.Beat) ([]byte, error) {
	return proto.Marshal(&nqueensv1.Beat{
		Protocol: Protocol,
		Run:      b.Run,
		Epoch:    b.Epoch,
		State:    string(b.State),
		Waiting:  uint32(b.Waiting),
		Weight:   uint32(b.Weight),
		Threads:  uint32(b.Threads),
		Obsolete: b.Obsolete,

		Quarantined: b.Quarantined, Unadmitted: b.Unadmitted,
		Consumer: uint32(b.Consumer),
	})
}

// decodeBeat returns the valid beat of the subject's run.
func decodeBeat(subject string, data []byte) (run.Beat, error) {
	var m nqueensv1.Beat
	if err := unmarshal(data, &m); err != nil {
		return run.Beat{}, err
	}
	if max(m.GetWaiting(), m.GetWeight(), m.GetThreads(), m.GetConsumer()) > maxInt {
		return run.Beat{}, errors.New("beat with a number out of range")
	}
	b := run.Beat{
		Run: m.GetRun(), Epoch: m.GetEpoch(), State: run.State(m.GetState()),
		Waiting: int(m.GetWaiting()), Weight: int(m.GetWeight()), Threads: int(m.GetThreads()),
		Obsolete: m.GetObsolete(), Quarantined: m.GetQuarantined(), Unadmitted: m.GetUnadmitted(), Consumer: int(m.GetConsumer()),
	}
	if err := validate(&b, subject, beatSubject(b.Run)); err != nil {
		return run.Beat{}, err
	}
	return b, nil
}
