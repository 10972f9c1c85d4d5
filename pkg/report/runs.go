package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"nqueens/pkg/humanize"
	"nqueens/pkg/queens"
)

// ListedRun is a run in a list.
type ListedRun struct {
	Run      string          `json:"run"`
	N        int             `json:"n,omitempty"` // 0 if the run can't be read
	Symmetry queens.Symmetry `json:"symmetry,omitempty"`
	Placed   []queens.Square `json:"placed,omitempty"` // each [row,column]
	State    string          `json:"state"`
	Done     uint64          `json:"done"`
	Tasks    uint64          `json:"tasks"`
	Created  time.Time       `json:"created,omitzero"`
	Ledger   string          `json:"ledger,omitempty"` // its folder, if it is on this machine
	Server   string          `json:"server,omitempty"` // that has a record of the run or serves it
	Owner    string          `json:"owner,omitempty"`  // the coordinator of an active run
}

// WriteRuns writes runs as a table, or as JSON objects, one a line.
func WriteRuns(w io.Writer, runs []ListedRun, asJSON bool) error {
	if asJSON {
		return writeJSON(w, runs...)
	}
	if len(runs) == 0 {
		return nil
	}
	rows := [][]string{{"RUN", "STATE", "DONE", "TASKS", "%", "AGE", "WHERE"}}
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
		rows = append(rows, []string{r.Run, r.State, done, tasks, percent, age, r.location()})
	}
	return writeTable(w, rows, false)
}

// location says where a run is, and who works on it.
func (r *ListedRun) location() string {
	words := slices.DeleteFunc([]string{r.Ledger, r.Server, r.Owner}, func(word string) bool { return word == "" })
	if len(r.Placed) > 0 {
		words = append(words, "queens placed on "+humanize.Squares(r.Placed))
	}
	return strings.Join(words, ", ")
}
