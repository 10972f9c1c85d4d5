package bus

import (
	"encoding/json"
	"fmt"

	"nqueens/pkg/run"
)

// wireSnapshot is a snapshot as watchers receive it: JSON.
type wireSnapshot struct {
	Protocol uint32 `json:"protocol"`
	run.Snapshot
}

// encodeSnapshot returns the wire form of a snapshot.
func encodeSnapshot(s *run.Snapshot) ([]byte, error) {
	return json.Marshal(wireSnapshot{Protocol, *s})
}

// decodeSnapshot returns the valid snapshot of the subject's run.
func decodeSnapshot(subject string, data []byte) (*run.Snapshot, error) {
	var version struct {
		Protocol uint32 `json:"protocol"`
	}
	if len(data) > run.MaxSnapshotBytes {
		return nil, fmt.Errorf("a snapshot of %d bytes, more than %d", len(data), run.MaxSnapshotBytes)
	}
	if err := json.Unmarshal(data, &version); err != nil {
		return nil, err
	}
	if err := checkProtocol(version.Protocol, ""); err != nil {
		return nil, err
	}
	s := new(wireSnapshot)
	if err := run.DecodeStrict(data, run.MaxSnapshotBytes, s); err != nil {
		return nil, err
	}
	if want := ProgressSubject(s.Run); subject != want {
		return nil, fmt.Errorf("message for %s on the subject %s", want, subject)
	}
	return &s.Snapshot, nil
}
