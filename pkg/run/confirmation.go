package run

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Confirmed says what confirms a total.
type Confirmed struct {
	// the strongest level that holds: "published", "redundant", "sampled" or "none", see below
	Level Level        `json:"confirmed"`
	By    Confirmation `json:"confirmed_by"` // see below
}

// Confirmation is what the ledger of a run holds for its counts, whatever the level is.
type Confirmation struct {
	Published bool `json:"published"` // the total is the published one
	// least number of admitted keys that agree on a task, without the recounts of the coordinator; 0 while tasks are missing, and without tasks
	Redundancy int    `json:"keys"`
	Tasks      uint64 `json:"tasks"`      // tasks with an accepted count
	Checked    uint64 `json:"checked"`    // tasks on which two admitted keys agree, or the coordinator and a worker
	Sampled    bool   `json:"sampled"`    // the run was to make spot checks, and made all of them
	Missed     uint64 `json:"missed"`     // tasks that were to be spot-checked and were not
	Unadmitted uint64 `json:"unadmitted"` // tasks that only unadmitted keys counted
	Voters     int    `json:"voters"`     // admitted keys with counts in the run
	// of them, those that only the join token admitted: one owner may have them all
	ByToken  int    `json:"by_token"`
	Disputes uint64 `json:"disputes"` // tasks whose counts contradicted each other
}

// Standing is what the ledger of a run has for the accepted count of a task.
type Standing struct {
	Counted bool // The task has an accepted count.
	Voters  int  // Admitted keys that agree with it.
	Own     bool // The coordinator has counted the task too, as referee or beside a worker, and agrees.
	Alone   bool // No worker gets the task any more, and the coordinator's own count, as referee, is enough.
}

// Level is how sure a total is, in a word.
type Level string

// The levels, from the strongest to the weakest.
const (
	Published Level = "published" // It is the published total.
	Redundant Level = "redundant" // At least two admitted keys agree on every task.
	Sampled   Level = "sampled"   // Every spot check was made. A rare wrong count may be unseen.
	None      Level = "none"      // Neither, or unadmitted keys alone counted some tasks.
)

// Confirmed returns what confirms a total. Without a total, the level is that of nothing.
func (c *Confirmation) Confirmed(total bool) Confirmed {
	if !total {
		return Confirmed{None, *c}
	}
	return Confirmed{c.Level(), *c}
}

// Level returns the strongest level that holds.
func (c *Confirmation) Level() Level {
	switch {
	case c.Published:
		return Published
	case c.Redundancy >= 2 && c.Tasks > 0:
		return Redundant
	case c.Sampled && c.Unadmitted == 0:
		return Sampled
	}
	return None
}

// Share returns the share of the tasks with an accepted count that are checked, 0 to 1.
func (c *Confirmation) Share() float64 {
	if c.Tasks == 0 {
		return 0
	}
	return float64(c.Checked) / float64(c.Tasks)
}

// Validate returns the first thing wrong with a confirmation from outside.
func (c *Confirmation) Validate() error {
	switch {
	case c.Redundancy < 0:
		return errors.New("a negative redundancy")
	case max(c.Checked, c.Missed, c.Unadmitted, c.Disputes) > c.Tasks:
		return fmt.Errorf("%d tasks, of which %d are checked, %d checks were missed, unadmitted keys counted %d, and %d were in dispute",
			c.Tasks, c.Checked, c.Missed, c.Unadmitted, c.Disputes)
	case c.Sampled && (c.Checked == 0 || c.Missed > 0):
		return fmt.Errorf("a sample, with %d tasks checked and %d checks missed", c.Checked, c.Missed)
	case c.ByToken < 0 || c.ByToken > c.Voters:
		return fmt.Errorf("%d voters, %d of them by token", c.Voters, c.ByToken)
	}
	return nil
}

// EarlyChunks is the number of first chunks of a key whose tasks are all spot-checked, where one count is enough.
const EarlyChunks = 20

// SpotCheck says which share of the tasks of a run is counted again, by another key or else by the coordinator.
type SpotCheck struct {
	Share float64 `json:"share"` // 0 to 1
	// the coordinator makes the checks that nobody else makes only within limits of its time, not however long they take
	Bounded bool `json:"bounded,omitempty"`
}

// AutoSpotCheck is the spot check of a run that asks for no share: 1% within the bounds.
var AutoSpotCheck = SpotCheck{Share: 0.01, Bounded: true}

// auto is the text of every bounded spot check; people get none but AutoSpotCheck.
const auto = "auto"

// ParseSpotCheck parses auto, or a share that is always honoured: a percentage from 0% to 100%, or a number from
// 0 up to, but not including, 1. Whether 1 is 1% or all would not be clear.
func ParseSpotCheck(text string) (SpotCheck, error) {
	if text == auto {
		return AutoSpotCheck, nil
	}
	number, percent := strings.CutSuffix(text, "%")
	share, err := strconv.ParseFloat(number, 64)
	if percent {
		share /= 100
	}
	if err != nil || !(share >= 0 && share <= 1) || !percent && share == 1 {
		return SpotCheck{}, fmt.Errorf("auto, or a share from 0%% to 100%%, such as 1%%, not %q", text)
	}
	return SpotCheck{Share: share}, nil
}

// String returns auto, or the share as a percentage of at most 12 digits.
func (s SpotCheck) String() string {
	if s.Bounded {
		return auto
	}
	return strconv.FormatFloat(100*s.Share, 'g', 12, 64) + "%"
}

// Clamped returns a spot check from outside with a share from 0 to 1.
func (s SpotCheck) Clamped() SpotCheck {
	s.Share = min(max(s.Share, 0), 1)
	return s
}
