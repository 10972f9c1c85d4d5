// Package report presents the progress and the result of a run as text, as JSON and in the log. It
// shows snapshots, and computes only the mean rate of a run.
package report

import (
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"strings"
	"text/tabwriter"

	"nqueens/pkg/humanize"
	"nqueens/pkg/queens"
)

// WriteJSON writes values as JSON, one on each line.
func WriteJSON[T any](w io.Writer, values ...T) error {
	out := json.NewEncoder(w)
	for _, v := range values {
		if err := out.Encode(v); err != nil {
			return err
		}
	}
	return nil
}

// WriteTable writes rows in columns. With color, the first column is faint and the second bold.
func WriteTable(w io.Writer, rows [][]string, color bool) error {
	var b strings.Builder
	table := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	for _, row := range rows {
		for i, cell := range row {
			if color && i < 2 {
				row[i] = []string{"\x1b[2m", "\x1b[1m"}[i] + cell + "\x1b[0m" // ECMA-48, 8.3.117
			}
		}
		_, _ = fmt.Fprintln(table, strings.Join(row, "\t")) // a Builder returns no error
	}
	_ = table.Flush()
	for line := range strings.Lines(b.String()) {
		if _, err := io.WriteString(w, strings.TrimRight(line, " \n")+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// number formats a number of solutions: 4,968,057,848; "-" for nil.
func number(d *queens.Decimal) string { return humanize.Big((*big.Int)(d)) }

// ConfirmedBy says in a clause, for people, what confirms a total.
func ConfirmedBy(c *queens.Confirmed) string {
	switch by := &c.By; c.Level {
	case queens.Published:
		return "it is the published total, OEIS A000170"
	case queens.Redundant:
		switch {
		case by.Verdicts == by.Tasks:
			return "recounts decided every task"
		case by.Checked < by.Tasks:
			return "another method gives the same count for every task"
		}
		text := fmt.Sprintf("%s agree on every task", witnesses(by))
		if by.Verdicts > 0 {
			text += fmt.Sprintf(" but %s, which recounts decided", humanize.Int(by.Verdicts))
		}
		return text
	case queens.Sampled:
		if by.Method > by.Checked {
			return fmt.Sprintf("another method gives the same count for %s of %s; a rare wrong count may "+
				"be unseen",
				humanize.Int(by.Method), humanize.Plural(by.Tasks, "task"))
		}
		return fmt.Sprintf("%s of %s have a second count; a rare wrong count may be unseen",
			humanize.Int(by.Checked), humanize.Plural(by.Tasks, "task"))
	case queens.Unconfirmed:
	}
	return "nothing confirms it"
}

// witnesses says how many witnesses agree on each task, of how many, and whether the server has
// proven their names: 2 witnesses, both proven.
func witnesses(by *queens.Confirmation) string {
	who, all := humanize.Int(by.Witnesses)+" witnesses", "all"
	if by.Redundancy < by.Witnesses {
		who = fmt.Sprintf("%d of %s", by.Redundancy, who)
	} else if by.Witnesses == 2 {
		all = "both"
	}
	switch claimed := by.Witnesses - by.Proven; claimed {
	case 0:
		return who + ", " + all + " proven,"
	case by.Witnesses:
		return who + ", " + all + " claimed by name,"
	case 1:
		return who + ", one claimed by name,"
	default:
		return fmt.Sprintf("%s, %s claimed by name,", who, humanize.Int(claimed))
	}
}

// TimeToGo returns the text of [Remaining] as it stands below the heading "time to go": 1m20s to
// 2m.
func TimeToGo(s *queens.Snapshot) string {
	return strings.TrimPrefix(strings.TrimSuffix(Remaining(s), " to go"), "time to go ")
}

// Remaining says how long a run still takes, or what it waits for: 1m20s to 2m to go.
func Remaining(s *queens.Snapshot) string {
	switch {
	case s.State != queens.Running:
		return string(s.State)
	case s.Waits != nil:
		return s.Waits.Short()
	case s.Done == s.Tasks:
		return "auditing the ledger"
	case s.Live == nil:
		return "time to go not known"
	case s.TimeToGo == nil:
		return "time to go not known yet"
	}
	return humanize.Remaining(s.Least.Duration, s.Most.Duration) + " to go"
}

// Share returns the part of the work of a run that is done: 42.0%. It is 100.0% only when all tasks
// are done.
func Share(s *queens.Snapshot) string {
	return humanize.Percent(float64(s.WorkDone), s.Done == s.Tasks)
}

// doneOf returns the part of the work and the number of tasks that are done: 42.0%, 131 of 748
// tasks.
func doneOf(s *queens.Snapshot) string {
	return fmt.Sprintf("%s, %s of %s", Share(s), humanize.Int(s.Done),
		humanize.Plural(s.Tasks, "task"))
}
