package bus

import (
	"encoding/json"

	"nqueens/pkg/run"
)

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
