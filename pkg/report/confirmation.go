package report

import (
	"fmt"
	"strings"

	"github.com/rs/zerolog"

	"nqueens/pkg/humanize"
	"nqueens/pkg/run"
)

// Confirmed says what confirms a total, for people.
type Confirmed struct{ run.Confirmed }

// NewConfirmed returns what confirms a total. Without a total, the level is that of nothing.
func NewConfirmed(c *run.Confirmation, total bool) Confirmed {
	level := run.None
	if total {
		level = c.Level()
	}
	return Confirmed{run.Confirmed{Level: level, By: *c}}
}

// Phrase says what confirms a total, for people.
func (c *Confirmed) Phrase() string {
	disputes := humanize.Plural(int(min(c.By.Disputes, 1<<53)), "dispute")
	switch c.Level {
	case run.Published:
		return "the published total (OEIS A000170)"
	case run.Redundant:
		phrase := fmt.Sprintf("each task by %d keys, %s", c.By.Redundancy, disputes)
		if c.By.ByToken > 0 {
			phrase += fmt.Sprintf("; the join token admitted %d of %d keys", c.By.ByToken, c.By.Voters)
		}
		return phrase
	case run.Sampled:
		if c.isWhole() {
			return "each task twice, also by the coordinator, " + disputes
		}
		return fmt.Sprintf("%d of %d tasks, %s; a rare wrong count may be unseen", c.By.Checked, c.By.Tasks, disputes)
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
	if percent := 100 * c.By.Share(); percent >= 0.1 {
		return humanize.Percent(c.By.Share(), false)
	}
	return fmt.Sprintf("%.1g%%", 100*c.By.Share())
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

// log adds to an event what confirms a total, without the disputes.
func (c *Confirmed) log(event *zerolog.Event) {
	event.Str("confirmed", string(c.Level)).Int("keys", c.By.Redundancy).Int("voters", c.By.Voters).Int("by_token", c.By.ByToken).
		Uint64("checked", c.By.Checked).Float64("share", c.By.Share()).Uint64("missed", c.By.Missed).
		Uint64("unadmitted", c.By.Unadmitted)
}
