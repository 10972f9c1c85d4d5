package report

import (
	"fmt"
	"strings"

	"github.com/rs/zerolog"

	"nqueens/pkg/humanize"
	"nqueens/pkg/run"
)

// Confirmed says what stands behind a total.
type Confirmed struct {
	// the strongest thing that stands behind the total: "published", "redundant", "sampled" or "none", see below
	Level run.Level   `json:"confirmed"`
	By    ConfirmedBy `json:"confirmed_by"` // see below
}

// ConfirmedBy is what the ledger of a run has for its counts, whatever the level is. The fields are those
// of [run.Confirmation].
type ConfirmedBy struct {
	// least number of admitted keys that agree on a task; 0 while tasks are missing, and for a run without tasks
	Keys   int `json:"keys"`
	Voters int `json:"voters"` // admitted keys with counts in the run
	// of them, those that only the join token admitted: one owner may have them all
	ByToken int    `json:"by_token"`
	Tasks   uint64 `json:"tasks"` // tasks with a count
	// tasks on which two admitted keys agree, or the coordinator and a worker
	Checked       uint64  `json:"checked"`
	Share         float64 `json:"share"`         // "checked" divided by "tasks", 0 to 1
	Missed        uint64  `json:"missed"`        // tasks that were to be spot-checked and were not
	Unadmitted    uint64  `json:"unadmitted"`    // tasks that only unadmitted keys counted
	Disagreements uint64  `json:"disagreements"` // tasks whose counts contradicted each other
}

// NewConfirmed returns what confirms a total. Without a total, the level is that of nothing.
func NewConfirmed(c *run.Confirmation, total bool) Confirmed {
	level := run.None
	if total {
		level = c.Level()
	}
	return Confirmed{level, ConfirmedBy{
		Keys: c.Redundancy, Voters: c.Voters, ByToken: c.ByToken, Tasks: c.Tasks, Checked: c.Checked, Share: c.Share(),
		Missed: c.Missed, Unadmitted: c.Unadmitted, Disagreements: c.Disagreements,
	}}
}

// Phrase says what confirms a total, for people.
func (c *Confirmed) Phrase() string {
	disagreements := humanize.Plural(int(min(c.By.Disagreements, 1<<53)), "disagreement")
	switch c.Level {
	case run.Published:
		return "the published total (OEIS A000170)"
	case run.Redundant:
		phrase := fmt.Sprintf("each task by %d keys, %s", c.By.Keys, disagreements)
		if c.By.ByToken > 0 {
			phrase += fmt.Sprintf("; the join token admitted %d of %d keys", c.By.ByToken, c.By.Voters)
		}
		return phrase
	case run.Sampled:
		if c.isWhole() {
			return "each task twice, also by the coordinator, " + disagreements
		}
		return fmt.Sprintf("%d of %d tasks, %s; a rare wrong count may be unseen", c.By.Checked, c.By.Tasks, disagreements)
	case run.None:
	}
	switch {
	case c.By.Unadmitted > 0:
		return fmt.Sprintf("not independently confirmed; counted by unadmitted keys: %d of %d tasks", c.By.Unadmitted, c.By.Tasks)
	case c.By.Missed > 0:
		return fmt.Sprintf("not independently confirmed; %d spot checks were not made", c.By.Missed)
	}
	return "not independently confirmed"
}

// isWhole reports whether every task was counted twice.
func (c *Confirmed) isWhole() bool { return c.By.Checked == c.By.Tasks }

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
	return c.Phrase()
}

// share returns the share of the tasks that are checked. A share that is not 0 does not look like it.
func (c *Confirmed) share() string {
	if percent := 100 * c.By.Share; percent >= 0.1 {
		return humanize.Percent(c.By.Share, false)
	}
	return fmt.Sprintf("%.1g%%", 100*c.By.Share)
}

// WarnUnconfirmed logs that the total of a run is not confirmed, or only by a sample, and what to do, if
// that is so.
func (c *Confirmed) WarnUnconfirmed(log zerolog.Logger, name string) {
	again := "; coordinator verify " + name + " --sample 100% counts every task again"
	switch c.Level {
	case run.None:
		log.Warn().Str("run", name).Msg("the total is " + c.Phrase() + again)
	case run.Sampled:
		if c.isWhole() {
			return
		}
		log.Warn().Str("run", name).Msg("the total is " + c.sentence() + again)
	case run.Published, run.Redundant:
	}
}

// phraseColumns is the width of a phrase beside the greatest total, in a table of 80 columns.
const phraseColumns = 36

// rows are the rows of a table with a total.
func (c *Confirmed) rows() (rows [][]string) {
	line := ""
	for _, word := range strings.Fields(c.Phrase()) {
		if len(line)+1+len(word) > phraseColumns {
			rows, line = append(rows, []string{"", "", line}), ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	rows = append(rows, []string{"", "", line})
	rows[0][0], rows[0][1] = "confirmed", string(c.Level)
	return rows
}

// log adds to an event what confirms a total.
func (c *Confirmed) log(event *zerolog.Event) {
	event.Str("confirmed", string(c.Level)).Int("keys", c.By.Keys).Int("voters", c.By.Voters).Int("by_token", c.By.ByToken).
		Uint64("checked", c.By.Checked).Float64("share", c.By.Share).Uint64("missed", c.By.Missed).
		Uint64("unadmitted", c.By.Unadmitted).Uint64("disagreements", c.By.Disagreements)
}
