package ledger

import (
	"cmp"
	"errors"
	"time"

	"go.etcd.io/bbolt"

	"nqueens/pkg/run"
)

// Keys of what a run's coordinators have measured, in progressBucket.
var (
	wallKey    = []byte("wall")
	historyKey = []byte("history")
)

const (
	// wallInterval is by how much the wall time grows until Accept stores it without any result.
	wallInterval = 10 * time.Second
	// historyInterval is by how much the wall time grows until the history is stored again.
	historyInterval = time.Minute
)

// times are the wall time and the history of a run, of all its coordinators.
type times struct {
	wall       time.Duration
	storedWall time.Duration
	history    *run.History
	historyAt  time.Duration // The wall time when the history was stored.
}

// Wall returns how long coordinators have worked on the run, one after the other: what SetWall noted, or what the
// file had of it.
func (l *Ledger) Wall() time.Duration { return l.times.wall }

// SetWall notes how long coordinators have worked on the run. It is stored with the next results or state. Accept
// stores it without results once it has grown by 10 s. A time before the one noted is ignored.
func (l *Ledger) SetWall(wall time.Duration) { l.times.wall = max(l.times.wall, wall) }

// History returns how the run went, at times of [Ledger.Wall]: what the file had, and what the caller has added
// with [run.History.Observe]. It is stored with results at most once a minute, and with each state. What holds for the
// ledger holds for the history: only one goroutine at a time may use it.
func (l *Ledger) History() *run.History { return l.times.history }

// isDue reports whether the wall time is to be stored although nothing else is.
func (t *times) isDue() bool { return t.wall-t.storedWall >= wallInterval }

// isStored reports whether the file has all.
func (t *times) isStored() bool { return t.wall == min(t.storedWall, t.historyAt) }

// put stores what has changed: the history only if it is due or all is to be stored.
func (t *times) put(tx *bbolt.Tx, all bool) error {
	if t.isStored() {
		return nil
	}
	if all || t.wall-t.historyAt >= historyInterval {
		if err := putJSON(tx, progressBucket, historyKey, t.history); err != nil {
			return err
		}
		t.historyAt = t.wall
	}
	t.storedWall = t.wall
	return putJSON(tx, progressBucket, wallKey, t.wall)
}

func (t *times) load(tx *bbolt.Tx) error {
	t.history = run.NewHistory(run.MaxHistory)
	err := cmp.Or(getJSON(tx, progressBucket, wallKey, &t.wall), getJSON(tx, progressBucket, historyKey, t.history))
	if err == nil && t.wall < 0 {
		err = errors.New("the wall time is negative")
	}
	t.storedWall, t.historyAt = t.wall, t.wall
	return err
}
