package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
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
	out := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	_, err := fmt.Fprintln(out, "RUN\tSTATE\tDONE\tTASKS\t%\tAGE\tWHERE")
	for _, r := range runs {
		done, tasks, percent := "?", "?", "?"
		if r.N > 0 {
			done, tasks, percent = strconv.FormatUint(r.Done, 10), strconv.FormatUint(r.Tasks, 10), r.percent()
		}
		_, failed := fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.Run, r.State, done, tasks, percent, humanize.Age(r.Created), r.location())
		err = cmp.Or(err, failed)
	}
	return cmp.Or(err, out.Flush())
}

// location says for people where a run is, and who works on it. Others wrote that, on the
// server or in the folder.
func (r *ListedRun) location() string {
	words := slices.DeleteFunc([]string{r.Ledger, r.Server, r.Owner}, func(word string) bool { return word == "" })
	if len(r.Placed) > 0 {
		words = append(words, "queens placed on "+humanize.Squares(r.Placed))
	}
	return queens.Sanitize(strings.Join(words, ", "))
}

// percent is the share of the tasks that are done: 100 means all.
func (r *ListedRun) percent() string {
	switch {
	case r.Done == r.Tasks:
		return "100"
	case r.Tasks == 0:
		return "0"
	}
	return strings.TrimSuffix(humanize.Percent(float64(r.Done)/float64(r.Tasks), false), "%")
}
