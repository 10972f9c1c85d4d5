package runstore

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"

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
