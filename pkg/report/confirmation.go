package report

import (
	"fmt"
	"strings"

	"github.com/rs/zerolog"

	"nqueens/pkg/humanize"
	"nqueens/pkg/run"
)

// phrase says what confirms a total, for people.
func phrase(c *run.Confirmed) string {
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
		if isWhole(c) {
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
func isWhole(c *run.Confirmed) bool { return c.By.Checked == c.By.Tasks }

// sentence says it where no heading says that it is about confirmation.
func sentence(c *run.Confirmed) string {
	return map[run.Level]string{
		run.Published: "confirmed by ", run.Redundant: "confirmed: ", run.Sampled: "confirmed by a sample: ", run.None: "",
	}[c.Level] + phrase(c)
}

// checkedShare returns the share of the tasks that are checked. A share that is not 0 does not look like it.
func checkedShare(c *run.Confirmed) string {
	if percent := 100 * c.By.Share(); percent >= 0.1 {
		return humanize.Percent(c.By.Share(), false)
	}
	return fmt.Sprintf("%.1g%%", 100*c.By.Share())
}

// warnUnconfirmed logs that the total of a run is not confirmed, or only by a sample, and what to do, if
// that is so.
func warnUnconfirmed(log zerolog.Logger, c *run.Confirmed, name string) {
	if c.Level == run.None || c.Level == run.Sampled && !isWhole(c) {
		log.Warn().Str("run", name).Msg("the total is " + sentence(c) + "; coordinator verify " + name + " --sample 100% counts every task again")
	}
}

// phraseColumns is the width of a phrase beside the greatest total, in a table of 80 columns.
const phraseColumns = 36

// confirmedRows are the rows of a table with a total.
func confirmedRows(c *run.Confirmed) (rows [][]string) {
	line := ""
	for _, word := range strings.Fields(phrase(c)) {
		if len(line)+1+len(word) > phraseColumns {
			rows, line = append(rows, []string{"", "", line}), ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	rows = append(rows, []string{"", "", line})
	rows[0][0], rows[0][1] = "confirmed", string(c.Level)
	return rows
}
