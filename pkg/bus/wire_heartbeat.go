package bus

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	nqueensv1 "nqueens/proto/nqueens/v1"

	"nqueens/pkg/identity"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// Heartbeats in the wire format: a statement that the worker has signed, its key and the signature.
// Anybody may publish on the subjects of heartbeats; the signature says whose worker one is of.

const (
	// heartbeatMagic begins the text that a worker signs: its signature is no signature of a result.
	heartbeatMagic = "nqueens heartbeat 1\n"
	// maxHeartbeat bounds the statement of a heartbeat, in bytes: one with [run.MaxHeld] chunks fits.
	maxHeartbeat = 1 << 20
)

func encodeHeartbeat(h *run.Heartbeat, signer run.Signer) ([]byte, error) {
	statement, err := heartbeatStatement(h)
	if err != nil {
		return nil, err
	}
	worker := queens.Sanitize(h.Worker)
	signature, err := signer.Sign(signedHeartbeat(statement))
	if err != nil {
		return nil, fmt.Errorf("the heartbeat of worker %s is not signed: %w", worker, err)
	}
	return proto.Marshal(&nqueensv1.Heartbeat{
		Protocol: Protocol, Worker: worker, Statement: statement, Key: signer.Key(), Signature: signature,
	})
}

// heartbeatStatement returns what a worker signs of a heartbeat, after heartbeatMagic.
func heartbeatStatement(h *run.Heartbeat) ([]byte, error) {
	held := make([]*nqueensv1.HeldChunk, len(h.Held))
	for i, c := range h.Held {
		held[i] = &nqueensv1.HeldChunk{Run: c.Run, Chunk: c.Chunk, Searching: c.Searching, ElapsedNs: uint64(c.Elapsed)}
	}
	return proto.Marshal(&nqueensv1.HeartbeatStatement{
		Worker:    queens.Sanitize(h.Worker),
		Version:   h.Version,
		Kernel:    h.Kernel,
		Threads:   uint32(h.Threads),
		Busy:      uint32(h.Busy),
		Paused:    queens.SanitizeName(h.Paused),
		Leaving:   h.Leaving,
		Held:      held,
		SentNs:    uint64(h.Sent.UnixNano()),
		Admission: h.Admission,
	})
}

// signedHeartbeat returns the text that the worker signs.
func signedHeartbeat(statement []byte) []byte {
	return slices.Concat([]byte(heartbeatMagic), statement)
}

// decodeHeartbeat returns a valid heartbeat, which the owner of its key has signed. Its subject is not
// checked: it is shortened. Whether it is newer than the last one is for the receiver to check.
func decodeHeartbeat(_ string, data []byte) (run.Heartbeat, error) {
	var m nqueensv1.Heartbeat
	if err := unmarshal(data, &m); err != nil {
		return run.Heartbeat{}, err
	}
	statement := m.GetStatement()
	switch {
	case len(m.ProtoReflect().GetUnknown()) > 0:
		return run.Heartbeat{}, errors.New("heartbeat with a field that this program does not know")
	case len(statement) > maxHeartbeat:
		return run.Heartbeat{}, fmt.Errorf("heartbeat of %d bytes, more than %d", len(statement), maxHeartbeat)
	}
	if err := identity.Verify(m.GetKey(), signedHeartbeat(statement), m.GetSignature()); err != nil {
		return run.Heartbeat{}, fmt.Errorf("heartbeat that was changed on the way or signed by another key: %w", err)
	}
	h, err := parseHeartbeat(statement)
	h.Key = m.GetKey()
	return h, err
}

// parseHeartbeat returns the valid heartbeat of a statement, without its key.
func parseHeartbeat(statement []byte) (run.Heartbeat, error) {
	var m nqueensv1.HeartbeatStatement
	if err := proto.Unmarshal(statement, &m); err != nil {
		return run.Heartbeat{}, err
	}
	if len(m.ProtoReflect().GetUnknown()) > 0 {
		return run.Heartbeat{}, errors.New("heartbeat whose statement has a field that this program does not know")
	}
	if sent := m.GetSentNs(); sent == 0 || sent > math.MaxInt64 {
		return run.Heartbeat{}, fmt.Errorf("heartbeat that was sent at %d ns, not 1 to %d", sent, math.MaxInt64)
	}
	h := run.Heartbeat{
		Worker:    m.GetWorker(),
		Version:   m.GetVersion(),
		Kernel:    m.GetKernel(),
		Threads:   int(m.GetThreads()),
		Busy:      int(m.GetBusy()),
		Paused:    m.GetPaused(),
		Leaving:   m.GetLeaving(),
		Sent:      time.Unix(0, int64(m.GetSentNs())).UTC(),
		Admission: m.GetAdmission(),
	}
	name := ""
	for _, c := range m.GetHeld() {
		if c.GetRun() != name { // one copy of the name serves all chunks of a run that follow each other
			name = c.GetRun()
		}
		h.Held = append(h.Held, run.HeldChunk{
			Run: name, Chunk: c.GetChunk(), Searching: c.GetSearching(), Elapsed: time.Duration(c.GetElapsedNs()),
		})
	}
	return h, h.Validate()
}
