package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"time"

	"go.etcd.io/bbolt"

	"nqueens/pkg/run"
)

// progress is what the file has of a run besides its results. Nothing of it is part of a total.
type progress struct {
	Position run.StreamPosition `json:"position"`
	State    run.State          `json:"state"`
	Rejected uint64             `json:"rejected"`
	Lost     uint64             `json:"lost"`
	Missed   uint64             `json:"missed"`
	Alone    []uint64           `json:"alone"` // In order.
	Wall     time.Duration      `json:"wall"`  // Nanoseconds.
	Ended    time.Time          `json:"ended,omitzero"`
	Total    *big.Int           `json:"total,omitempty"`
}

const (
	// wallInterval is by how much the wall time grows until Accept stores it without any result.
	wallInterval = 10 * time.Second
	// historyInterval is by how much the wall time grows until the history is stored again.
	historyInterval = 10 * time.Second
)

// Position returns the place in the stream of results up to which all are stored.
func (l *Ledger) Position() run.StreamPosition { return l.progress.Position }

// Rejected returns the number of rejected results.
func (l *Ledger) Rejected() uint64 { return l.progress.Rejected }

// Lost returns how many times a task has lost its accepted result, in the life of the ledger: because its
// record was damaged, or only quarantined keys had counted it. The sum of Len and Lost never falls.
func (l *Ledger) Lost() uint64 { return l.progress.Lost }

// State returns the state of the run: [run.Running] at first.
func (l *Ledger) State() run.State { return l.progress.State }

// SetState stores the state of the run, with its wall time, its history and, unless it runs, the time of its end; they
// are on disk when SetState returns nil. Errors are those of [Ledger.Accept].
func (l *Ledger) SetState(s run.State) error { return l.setState(s, nil) }

// Complete stores that the run is complete and has a total, as SetState does.
func (l *Ledger) Complete(total *big.Int) error { return l.setState(run.Complete, total) }

func (l *Ledger) setState(s run.State, total *big.Int) error {
	if s == l.progress.State && total == nil && l.wall == min(l.progress.Wall, l.historyAt) && l.failed.get() == nil {
		return nil
	}
	l.historyAt = -historyInterval // due
	return l.change(func(c *change) error {
		c.progress.State, c.progress.Total, c.progress.Ended = s, total, time.Time{}
		if s != run.Running {
			c.progress.Ended = canonicalTime(time.Now())
		}
		return nil
	})
}

// Ended returns when the last coordinator of the run ended it, with a total or not; zero while the run counts, and if
// that coordinator was killed.
func (l *Ledger) Ended() time.Time { return l.progress.Ended }

// Total returns the total that the coordinator of a complete run has made; nil without one. It is for display: package
// audit makes it again.
func (l *Ledger) Total() *big.Int { return l.progress.Total }

// SetAlone stores that no worker gets a task any more, and that the coordinator's own count of it is enough,
// however many admitted keys should agree. It is on disk when SetAlone returns nil. Errors are those of
// [Ledger.Accept].
func (l *Ledger) SetAlone(task uint64) error {
	at, known := slices.BinarySearch(l.progress.Alone, task)
	if known {
		return l.failed.get()
	}
	return l.change(func(c *change) error {
		c.progress.Alone = slices.Insert(slices.Clone(c.progress.Alone), at, task)
		return nil
	})
}

// SetMissed stores how many tasks were to be spot-checked and were not when the run came to its end.
// It is on disk when SetMissed returns nil. Errors are those of [Ledger.Accept].
func (l *Ledger) SetMissed(tasks uint64) error {
	if tasks == l.progress.Missed && l.failed.get() == nil {
		return nil
	}
	return l.change(func(c *change) error { c.progress.Missed = tasks; return nil })
}

// Wall returns how long coordinators have worked on the run, one after the other: what SetWall noted, or what the
// file had of it.
func (l *Ledger) Wall() time.Duration { return l.wall }

// SetWall notes how long coordinators have worked on the run. It is stored with the next results or state. Accept
// stores it without results once it has grown by 10 s. A time before the one noted is ignored.
func (l *Ledger) SetWall(wall time.Duration) { l.wall = max(l.wall, wall) }

// History returns how the run went, at times of [Ledger.Wall]: what the file had, and what the caller has added
// with [run.History.Observe]. It is stored with results at most every 10 s, and with each state. What holds for the
// ledger holds for the history: only one goroutine at a time may use it.
func (l *Ledger) History() *run.History { return l.history }

// isWallDue reports whether the wall time is to be stored although nothing else is.
func (l *Ledger) isWallDue() bool { return l.wall-l.progress.Wall >= wallInterval }

// putProgress stores the progress with the wall time, and the history if it is due.
func (l *Ledger) putProgress(tx *bbolt.Tx, p *progress) error {
	p.Wall = l.wall
	if l.wall-l.historyAt >= historyInterval {
		if err := putJSON(tx, progressBucket, historyKey, l.history); err != nil {
			return err
		}
		l.historyAt = l.wall
	}
	return putJSON(tx, progressBucket, progressKey, p)
}

func (l *Ledger) loadProgress(tx *bbolt.Tx) error {
	l.history = run.NewHistory(run.MaxHistory)
	err := cmp.Or(getJSON(tx, progressBucket, progressKey, &l.progress), getJSON(tx, progressBucket, historyKey, l.history))
	switch p := &l.progress; {
	case err != nil:
	case p.Wall < 0:
		err = errors.New("the wall time is negative")
	case p.Total != nil && p.Total.Sign() < 0:
		err = errors.New("the total is negative")
	case p.Missed > l.header.Manifest.Tasks:
		err = fmt.Errorf("%d spot checks were missed, of %d tasks", p.Missed, l.header.Manifest.Tasks)
	default:
		err = p.State.Validate()
	}
	l.wall, l.historyAt = l.progress.Wall, l.history.End()
	return err
}
