package runstore

import (
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"nqueens/pkg/durable"
)

// summary is what the ledger of a finished run tells, kept in a file beside it: a list of runs reads no ledger of
// 10^7 tasks again. It is valid for a ledger of that size and time.
type summary struct {
	Size     int64
	Modified time.Time
	Info     Info
}

const summaryFile = "summary.json"

func (s *Store) summaryPath(name string) string { return filepath.Join(s.Folder(name), summaryFile) }

// readSummary returns what the summary of a run tells, if it is that of its ledger.
func (s *Store) readSummary(name string) (Info, bool) {
	file, err := os.Stat(s.Ledger(name))
	if err != nil {
		return Info{}, false
	}
	text, err := os.ReadFile(s.summaryPath(name))
	var of summary
	if err == nil {
		err = json.Unmarshal(text, &of)
	}
	i := &of.Info
	if err != nil || of.Size != file.Size() || !of.Modified.Equal(file.ModTime()) || i.Manifest == nil || i.Run != name || !i.State.Finished() {
		return Info{}, false
	}
	return *i, true
}

// HasEnded reports whether it is known that a run has ended: its ledger was inspected since.
func (s *Store) HasEnded(name string) bool {
	_, ended := s.readSummary(name)
	return ended
}

// keepSummary keeps what the ledger of a finished run tells, if that can be written.
func (s *Store) keepSummary(i *Info, file os.FileInfo) {
	if err := durable.WriteJSON(s.summaryPath(i.Run), summary{file.Size(), file.ModTime(), *i}); err != nil {
		s.log.Debug().Err(err).Str("run", i.Run).Msg("no summary of the run is kept")
	}
}
