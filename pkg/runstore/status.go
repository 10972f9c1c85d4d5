package runstore

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"time"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// Status is what the process that works on a run says of it.
type Status struct {
	// Server is the URL of the run's NATS server for other machines, without a password; empty if it accepts no
	// connections from outside, or before it is known.
	Server  string    `json:"server,omitzero"`
	Created time.Time `json:"created"`
	Hash    string    `json:"hash"` // Of the manifest, in hexadecimal digits.
	// Snapshot is the latest one, without workers. Before the first it has no time, and says only what the ledger
	// held at the start.
	Snapshot run.Snapshot `json:"snapshot"`
}

// maxStatus bounds a status in JSON, in bytes.
const maxStatus = run.MaxSnapshotBytes + 1<<12

var isHash = regexp.MustCompile(`^[0-9a-f]{64}$`)

// Validate returns nil for a status that can be right.
func (s *Status) Validate() error {
	if !isHash.MatchString(s.Hash) || len(s.Server) > maxAnswer || queens.Sanitize(s.Server) != s.Server {
		return fmt.Errorf("a status with the hash %.80q and the server %.80q", s.Hash, s.Server)
	}
	snapshot := s.Snapshot
	if snapshot.At.IsZero() {
		snapshot.Solutions = new(run.Decimal) // not known yet
	}
	return snapshot.Validate()
}

// newStatus returns the status of a run that is not counting yet.
func newStatus(l *ledger.Ledger) Status {
	h := l.Header()
	m := &h.Manifest
	return Status{Created: h.Created, Hash: hex.EncodeToString(m.Hash[:]), Snapshot: run.Snapshot{
		Run: h.Run, N: m.N, Symmetry: m.Symmetry, Placed: m.Placed, State: run.Running, Done: l.Len(), Tasks: m.Tasks,
	}}
}

// SetServer has the status name the server of the run, see [Status].
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
func (s *Store) askStatus(name string) (*Status, error) {
	ctx, cancel := context.WithTimeout(context.Background(), answerTimeout)
	defer cancel()
	response, err := s.ask(ctx, name, http.MethodGet, "status")
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }() // all is read, or an error is known
	text, err := io.ReadAll(io.LimitReader(response.Body, maxStatus+1))
	if err != nil {
		return nil, err
	}
	status := new(Status)
	if err := run.DecodeStrict(text, maxStatus, status); err != nil {
		return nil, err
	}
	if status.Snapshot.Run != name {
		return nil, fmt.Errorf("a status of run %.80q", status.Snapshot.Run)
	}
	return status, nil
}
