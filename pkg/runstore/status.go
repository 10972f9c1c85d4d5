package runstore

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"nqueens/pkg/durable"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// maxStatus bounds a status in JSON, in bytes.
const maxStatus = run.MaxSnapshotBytes + 1<<12

var isHash = regexp.MustCompile(`^[0-9a-f]{64}$`)

// Validate returns nil for what a process may say of the run on which it works.
func (i *Info) Validate() error {
	if !isHash.MatchString(i.Hash) || len(i.Server) > maxAnswer || queens.Sanitize(i.Server) != i.Server {
		return fmt.Errorf("a status with the hash %.80q and the server %.80q", i.Hash, i.Server)
	}
	snapshot := i.Snapshot
	snapshot.Solutions = cmp.Or(snapshot.Solutions, new(run.Decimal)) // not known before the first snapshot
	return snapshot.Validate()
}

// SetServer has the status name the server of the run.
func (c *Control) SetServer(url string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status.Server = url
}

// SetSnapshot has the status say how far the run is.
func (c *Control) SetSnapshot(s *run.Snapshot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status.Snapshot = *s
	c.status.Snapshot.WorkerList = nil
}

func (c *Control) answerStatus(w http.ResponseWriter, _ *http.Request) error {
	c.mu.Lock()
	status, loading := c.status, c.ledger == nil
	c.mu.Unlock()
	if loading {
		return errLoading
	}
	text, err := json.Marshal(status)
	if err == nil {
		w.Header().Set("Content-Type", "application/json")
		_, err = w.Write(text)
	}
	return err
}

// askStatus returns what the process says that works on a run. It waits a second at most.
func (s *Store) askStatus(name string) (i Info, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), answerTimeout)
	defer cancel()
	response, err := s.ask(ctx, name, http.MethodGet, "status")
	if err != nil {
		return i, err
	}
	defer func() { _ = response.Body.Close() }() // all is read, or an error is known
	text, err := io.ReadAll(io.LimitReader(response.Body, maxStatus+1))
	if err == nil {
		err = run.DecodeStrict(text, maxStatus, &i)
	}
	if err == nil && i.Run != name {
		err = fmt.Errorf("a status of run %.80q", i.Run)
	}
	return i, err
}

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
