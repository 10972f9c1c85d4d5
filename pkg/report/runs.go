package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"nqueens/pkg/humanize"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// ListedRun is a run in a list.
type ListedRun struct {
	Run        string          `json:"run"`
	N          int             `json:"n,omitempty"` // 0 if the run can't be read
	Symmetry   queens.Symmetry `json:"symmetry,omitempty"`
	Placed     []queens.Square `json:"placed,omitempty"` // each [row,column]
	State      string          `json:"state"`
	Done       uint64          `json:"done"`
	Tasks      uint64          `json:"tasks"`
	Created    time.Time       `json:"created,omitzero"`
	Ledger     string          `json:"ledger,omitempty"`  // its folder, if it is on this machine
	Server     string          `json:"server,omitempty"`  // that has a record of the run or serves it
	Owner      string          `json:"owner,omitempty"`   // the coordinator of an active run
	Bound      run.Bound       `json:"bound,omitempty"`   // what bounds an active run, if it is known
	Workers    int             `json:"workers,omitempty"` // 0 where they are not known
	Sharing    []string        `json:"sharing,omitempty"` // other runs that use the same workers
	*Confirmed                 // nil unless the run is complete
}

// WriteRuns writes runs as a table, or as JSON objects, one a line.
func WriteRuns(w io.Writer, runs []ListedRun, asJSON bool) error {
	if asJSON {
		return writeJSON(w, runs...)
	}
	if len(runs) == 0 {
		return nil
	}
	rows := [][]string{{"RUN", "STATE", "DONE", "TASKS", "%", "AGE", "CONFIRMED", "WHERE"}}
	for _, r := range runs {
		done, tasks, percent, age := "?", "?", "?", "?"
		if r.N > 0 {
			done, tasks, percent = fmt.Sprint(r.Done), fmt.Sprint(r.Tasks), "100"
			if r.Done != r.Tasks {
				percent = strings.TrimSuffix(humanize.Percent(float64(r.Done)/float64(r.Tasks), false), "%")
			}
		}
		if !r.Created.IsZero() {
			age = humanize.Clock(time.Since(r.Created))
		}
		confirmed := "-"
		if r.Confirmed != nil {
			confirmed = string(r.Level)
		}
		rows = append(rows, []string{r.Run, r.State, done, tasks, percent, age, confirmed, r.location()})
	}
	var table strings.Builder
	_ = writeTable(&table, rows, false) // a Builder returns no error
	var lines strings.Builder
	i := -1 // the first line has the headings
	for line := range strings.Lines(table.String()) {
		lines.WriteString(line)
		if i >= 0 && len(runs[i].Sharing) > 0 {
			fmt.Fprintf(&lines, "  %s\n", queens.Sanitize(runs[i].sharing()))
		}
		i++
	}
	_, err := io.WriteString(w, lines.String())
	return err
}

// sharing says with which runs a run shares how many workers, in less than 80 columns.
func (r *ListedRun) sharing() string {
	workers := "workers"
	if r.Workers > 0 {
		workers = humanize.Plural(r.Workers, "worker")
	}
	text := fmt.Sprintf("sharing %s with %s", workers, r.Sharing[0])
	if more := len(r.Sharing) - 1; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// location says where a run is, who works on it, and what bounds it.
func (r *ListedRun) location() string {
	words := slices.DeleteFunc([]string{r.Ledger, r.Server, r.Owner}, func(word string) bool { return word == "" })
	if len(r.Placed) > 0 {
		words = append(words, "queens placed on "+humanize.Squares(r.Placed))
	}
	if bound := r.Bound.Phrase(); bound != "" {
		words = append(words, bound)
	}
	return strings.Join(words, ", ")
}
