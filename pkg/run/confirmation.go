package run

import (
	"errors"
	"fmt"
)

// Confirmation says what stands behind a total.
type Confirmation struct {
	// Published says that the total is the published one.
	Published bool `json:"published"`
	// Redundancy is the least number of voters that agree on a task, over all tasks; a task that
	// the coordinator's reference kernel counted does not lower it. 0 while tasks are missing, and
	// without tasks.
	Redundancy int `json:"redundancy"`
	// Tasks is the number of tasks with an accepted count, Checked of those on which at least two
	// voters agree.
	Tasks   uint64 `json:"tasks"`
	Checked uint64 `json:"checked"`
	// Disagreements is the number of tasks whose counts contradicted each other.
	Disagreements uint64 `json:"disagreements"`
}

// Level is how sure a total is, in a word.
type Level string

// The levels, from the strongest to the weakest.
const (
	Published Level = "published" // It is the published total.
	Redundant Level = "redundant" // At least two voters agree on every task.
	Sampled   Level = "sampled"   // At least two voters agree on a sample of the tasks.
	None      Level = "none"      // Nothing but one count of each task.
)

// Level returns the strongest level that holds.
func (c *Confirmation) Level() Level {
	switch {
	case c.Published:
		return Published
	case c.Redundancy >= 2 && c.Tasks > 0:
		return Redundant
	case c.Checked > 0:
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
	case c.Checked > c.Tasks || c.Disagreements > c.Tasks:
		return fmt.Errorf("%d tasks, of which %d are checked and %d were in dispute", c.Tasks, c.Checked, c.Disagreements)
	}
	return nil
}
