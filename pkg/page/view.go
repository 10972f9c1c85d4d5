package page

import (
	"fmt"
	"html/template"
	"math/big"
	"strings"
	"time"

	"nqueens/pkg/humanize"
	"nqueens/pkg/queens"
	"nqueens/pkg/report"
)

// view is what the templates show: a snapshot, with methods that return texts about it.
type view struct {
	*queens.Snapshot      // nil before the first
	Served           bool // the page is served, and not written to a file
	Version          string
	Style            template.CSS // style.css, in a page that is a file
	Chart            *chart       // nil without enough history
	now              time.Time
}

// functions format values in the templates.
var functions = template.FuncMap{
	"int":     humanize.Int[uint64],
	"rate":    humanize.Rate,
	"clock":   func(s queens.Seconds) string { return humanize.Clock(s.Duration) },
	"time":    func(s queens.Seconds) string { return humanize.Duration(s.Duration) },
	"squares": humanize.Squares,
	"fleet":   report.Fleet,
	"ban":     func(b queens.Ban) string { return report.BanText(&b) },
	"percent": func(f queens.Fraction) string { return fmt.Sprintf("%.2f", 100*float64(f)) },
	"number":  number,
	"width": func(d *queens.Decimal) string {
		for _, w := range []struct {
			most int
			name string
		}{{15, "short"}, {23, "medium"}} {
			if len(number(d)) <= w.most {
				return w.name
			}
		}
		return "long"
	},
	"moment": func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") },
}

func number(d *queens.Decimal) string { return humanize.Big((*big.Int)(d)) }

// Shown returns the state that the page shows: the coordinator of a run that is said to be running
// may be silent.
func (v *view) Shown() string {
	if v.Silent() != "" {
		return "silent"
	}
	return string(v.State)
}

// GoOn returns what to type to go on with a run on which no coordinator works, or "".
func (v *view) GoOn() string {
	if !v.State.Resumes() {
		return ""
	}
	return v.Resume
}

// Title returns the title of the page, which a browser shows on its tab.
func (v *view) Title() string {
	switch {
	case v.Snapshot == nil:
		return "nqueens"
	case v.Silent() != "":
		return fmt.Sprintf("%d queens: silent", v.N)
	case v.State == queens.Running:
		return fmt.Sprintf("%s · %d queens", v.Share(), v.N)
	}
	return fmt.Sprintf("%d queens: %s", v.N, v.State)
}

// Say returns the text that a screen reader reads aloud when it changes. It changes seldom.
func (v *view) Say() string {
	switch {
	case v.Snapshot == nil:
		return "The coordinator plans the run."
	case v.Silent() != "":
		return "The coordinator is silent."
	case v.State == queens.Running:
		return fmt.Sprintf("%d percent done.", int(v.WorkDone*10)*10)
	case v.Total != nil:
		return "Complete: " + v.Total.String() + " solutions."
	}
	return "The run is " + string(v.State) + "."
}

// Silent returns a sentence if the snapshot is old, and "" otherwise.
func (v *view) Silent() string {
	if v.Snapshot == nil || !v.Served || v.State != queens.Running || v.now.Sub(v.At) <= silentAfter {
		return ""
	}
	return fmt.Sprintf("The coordinator has been silent for %s. The numbers are older than that.",
		humanize.Clock(v.now.Sub(v.At)))
}

// Waiting says for what the run waits, for how long, and what would help; "" if it does not wait.
func (v *view) Waiting() string {
	if v.Waits == nil || v.Silent() != "" {
		return ""
	}
	text := v.Waits.Text() + " for " + humanize.Clock(v.At.Sub(v.Waits.Since))
	if advice := v.Waits.Advice(); advice != "" {
		text += "; what helps: " + advice
	}
	return text
}

// Ended reports whether the page does not change any more.
func (v *view) Ended() bool { return v.Snapshot != nil && v.State != queens.Running }

// Share returns the part of the work that is done.
func (v *view) Share() string { return report.Share(v.Snapshot) }

// Remaining says how long the run still takes, or what it waits for.
func (v *view) Remaining() string { return report.TimeToGo(v.Snapshot) }

// Confirmation says what confirms the total.
func (v *view) Confirmation() string {
	clause := report.ConfirmedBy(v.Confirmed)
	return strings.ToUpper(clause[:1]) + clause[1:] + "."
}

// Required says how many counts a task needs.
func (v *view) Required() string {
	if v.Redundancy > 1 {
		return fmt.Sprintf("%d witnesses must agree on every task", v.Redundancy)
	} else if v.SpotCheck > 0 {
		return fmt.Sprintf("one count for each task; with several witnesses, a second one for %.3g%% of "+
			"them", 100*v.SpotCheck)
	}
	return "one count for each task"
}

// Others returns the number of workers that are not in the list of the snapshot.
func (v *view) Others() int {
	if v.Live == nil {
		return 0
	}
	return max(0, v.Workers-len(v.WorkerList))
}
