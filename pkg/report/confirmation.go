package report

import (
	"fmt"

	"github.com/rs/zerolog"

	"nqueens/pkg/humanize"
	"nqueens/pkg/run"
)

// Confirmed says what stands behind a total.
type Confirmed struct {
	Level run.Level   `json:"confirmed"` // the strongest that holds
	By    ConfirmedBy `json:"confirmed_by"`
}

// ConfirmedBy is what the ledger of a run has for its counts, whatever the level is.
type ConfirmedBy struct {
	Keys          int     `json:"keys"`          // least number of keys that agree on a task, over all tasks
	Share         float64 `json:"share"`         // of the tasks on which at least two keys agree, 0 to 1
	Checked       uint64  `json:"checked"`       // the number of those tasks
	Disagreements uint64  `json:"disagreements"` // tasks whose counts contradicted each other
}

// NewConfirmed returns what stands behind a total. Without a total, the level is that of nothing.
func NewConfirmed(c *run.Confirmation, total bool) Confirmed {
	level := run.None
	if total {
		level = c.Level()
	}
	return Confirmed{level, ConfirmedBy{Keys: c.Redundancy, Share: c.Share(), Checked: c.Checked, Disagreements: c.Disagreements}}
}

// notConfirmed says that nothing but one count of each task stands behind a total.
const notConfirmed = "not independently confirmed"

// Phrase says what stands behind a total, for people.
func (c *Confirmed) Phrase() string {
	switch c.Level {
	case run.Published:
		return "the published total (OEIS A000170)"
	case run.Redundant:
		return fmt.Sprintf("each task by %d keys, %s", c.By.Keys, c.disagreements())
	case run.Sampled:
		return fmt.Sprintf("%s of the tasks, %s", c.share(), c.disagreements())
	case run.None:
	}
	return notConfirmed
}

// sentence says it where no heading says that it is about confirmation.
func (c *Confirmed) sentence() string {
	switch c.Level {
	case run.Published:
		return "confirmed by " + c.Phrase()
	case run.Redundant:
		return "confirmed: " + c.Phrase()
	case run.Sampled:
		return "confirmed by a sample: " + c.Phrase()
	case run.None:
	}
	return notConfirmed
}

// share returns the share of the tasks that are checked. A share that is not 0 does not look like it.
func (c *Confirmed) share() string {
	if percent := 100 * c.By.Share; percent >= 0.1 {
		return humanize.Percent(c.By.Share, false)
	}
	return fmt.Sprintf("%.1g%%", 100*c.By.Share)
}

func (c *Confirmed) disagreements() string {
	return humanize.Plural(int(min(c.By.Disagreements, 1<<53)), "disagreement")
}

// WarnUnconfirmed logs that nothing but one count of each task stands behind the total of a run, if
// that is so.
func (c *Confirmed) WarnUnconfirmed(log zerolog.Logger, name string) {
	if c.Level == run.None {
		log.Warn().Str("run", name).Msg("the total is not independently confirmed: coordinator verify " + name + " --sample 100% counts every task again")
	}
}

// row is the row of a table with a total.
func (c *Confirmed) row() []string { return []string{"confirmed", string(c.Level), c.Phrase()} }

// log adds to an event what stands behind a total.
func (c *Confirmed) log(event *zerolog.Event) {
	event.Str("confirmed", string(c.Level)).Int("keys", c.By.Keys).Float64("share", c.By.Share).
		Uint64("checked", c.By.Checked).Uint64("disagreements", c.By.Disagreements)
}
