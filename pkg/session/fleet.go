package session

import (
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/humanize"
	"nqueens/pkg/progress"
	"nqueens/pkg/report"
	"nqueens/pkg/run"
)

// fleet collects which workers of other processes come and go, for the log: many changes at once are one line.
type fleet struct {
	mu     sync.Mutex
	change report.FleetChange
	since  time.Time // the first change that is not logged
}

// fleetDelay is how long changes are collected before they are logged.
const fleetDelay = 2 * time.Second

// observe notes what a heartbeat has changed.
func (f *fleet) observe(h *run.Heartbeat, change progress.Change) {
	f.note(func(c *report.FleetChange) {
		switch change {
		case progress.Joins:
			c.Joined, c.Threads = append(c.Joined, h.Worker), c.Threads+h.Threads
		case progress.Leaves:
			c.Left = append(c.Left, h.Worker)
		}
	})
}

// lose notes that a worker is lost.
func (f *fleet) lose(worker string) {
	f.note(func(c *report.FleetChange) { c.Lost = append(c.Lost, worker) })
}

func (f *fleet) note(change func(c *report.FleetChange)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.change.IsEmpty() {
		f.since = time.Now()
	}
	change(&f.change)
}

// log logs the changes, with the fleet of a snapshot, once they are collected.
func (f *fleet) log(log zerolog.Logger, s *run.Snapshot) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.change.IsEmpty() || time.Since(f.since) < fleetDelay {
		return
	}
	f.change.Log(log, s)
	f.change = report.FleetChange{}
}

// countingLine says what this coordinator counts, and where.
func (s *Session) countingLine(server string) string {
	h := s.ledger.Header()
	m := &h.Manifest
	line := fmt.Sprintf("counting n = %d, run %s: %s", m.N, h.Run, humanize.Plural(m.Tasks, "task"))
	if done := s.ledger.Len(); done > 0 {
		line += fmt.Sprintf(", %s done", humanize.Int(done))
	}
	if len(m.Placed) > 0 {
		line += ", queens placed on " + humanize.Squares(m.Placed)
	}
	if s.cfg.Workers > 0 {
		line += fmt.Sprintf("; %s in this process, kernel %s", humanize.Plural(s.cfg.Workers, "worker"), s.cfg.Kernel.Name)
	}
	return line + "; server " + server
}
