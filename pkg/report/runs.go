package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"nqueens/pkg/humanize"
	"nqueens/pkg/ledger"
	"nqueens/pkg/run"
	"nqueens/pkg/runstore"
)

// ListedRun is a run in a list: its latest snapshot, and where the run is.
type ListedRun struct {
	run.Snapshot
	// "running", "stopped", "complete", "contradicted" or "cancelled"; "interrupted" if the coordinator is lost; "unreadable"
	Status  string    `json:"state"`
	Created time.Time `json:"created,omitzero"` // time of the start, in RFC 3339
	Ended   time.Time `json:"ended,omitzero"`   // time when its last coordinator ended it, in RFC 3339
	Ledger  string    `json:"ledger,omitempty"` // folder of the ledger, of a run on this machine
	// server that has a record of the run, or through which an active run on this machine can be watched
	Server string `json:"server,omitempty"`
	// coordinator that works on the run; on a server, the last one that did
	Owner string `json:"owner,omitempty"`
}

const (
	// maxColumns is the width of a list.
	maxColumns = 80
	// maxRunColumns is the width of the longest name that [run.NewName] makes.
	maxRunColumns = 24
)

// WriteRuns writes runs as a table, or as JSON objects, one a line. The table has at most 80 columns, unless a total has
// more than 13 digits. Each run has one row, and below it lines that are indented, if there is more to say.
func WriteRuns(w io.Writer, runs []ListedRun, asJSON bool) error {
	if asJSON {
		return writeJSON(w, runs...)
	}
	if len(runs) == 0 {
		return nil
	}
	rows := [][]string{{"RUN", "STATE", "TOTAL", "STARTED", "TOOK", "CONFIRMED"}}
	for i := range runs {
		r := &runs[i]
		rows = append(rows, []string{shorten(r.Run, maxRunColumns), r.Status, r.total(), started(r.Created, time.Now()), r.took(), r.confirmed()})
	}
	var table strings.Builder
	_ = writeTable(&table, rows, false) // a Builder returns no error
	var lines strings.Builder
	i := -1 // the first line has the headings
	for line := range strings.Lines(table.String()) {
		lines.WriteString(strings.TrimRight(line, " \n") + "\n")
		if i >= 0 {
			writeDetails(&lines, runs[i].details())
		}
		i++
	}
	_, err := io.WriteString(w, lines.String())
	return err
}

// total returns the total of a complete run, or else the part of the work that is done, as the display shows it.
func (r *ListedRun) total() string {
	switch {
	case r.Total != nil:
		return r.Total.String()
	case r.At.IsZero():
		return "?"
	}
	return humanize.Percent(float64(r.WorkDone), r.WorkDone >= 1 && r.Done >= r.Tasks)
}

// started returns a time as ls does: with the time of the day, or, more than half a year ago, with the year.
func started(at, now time.Time) string {
	switch {
	case at.IsZero():
		return "?"
	case now.Sub(at).Abs() > 365*24*time.Hour/2:
		return at.Local().Format("Jan _2  2006")
	}
	return at.Local().Format("Jan _2 15:04")
}

// took returns how long coordinators have worked on the run.
func (r *ListedRun) took() string {
	if r.Elapsed.Duration == 0 {
		return "-"
	}
	return humanize.Duration(r.Elapsed.Duration)
}

func (r *ListedRun) confirmed() string {
	if r.Confirmed == nil {
		return ""
	}
	return string(r.Level)
}

// progress returns the rate and the time to go of a run that counts, as the display shows them.
func (r *ListedRun) progress() []string {
	switch {
	case r.Status != string(run.Running) || r.At.IsZero():
		return nil
	case r.ETA == nil:
		return []string{humanize.Rate(r.Rate), "estimating"}
	}
	return []string{humanize.Rate(r.Rate), humanize.Remaining(r.ETA.Min.Duration, r.ETA.Max.Duration) + " left"}
}

// details says how fast a run goes, where it is, who works on it, what limits it, and with which runs it shares its
// workers.
func (r *ListedRun) details() []string {
	details := append(r.progress(), r.Server, r.Owner)
	if len(r.Placed) > 0 {
		details = append(details, "queens placed on "+humanize.Squares(r.Placed))
	}
	details = append(details, r.Bottleneck.Phrase())
	if len(r.Sharing) > 0 {
		details = append(details, r.sharing())
	}
	return slices.DeleteFunc(details, func(word string) bool { return word == "" })
}

// sharing says with which runs a run shares how many workers.
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

// writeDetails writes details in as few indented lines as they fit.
func writeDetails(b *strings.Builder, details []string) {
	const indent, separator = "  ", ", "
	line := ""
	for _, d := range details {
		d = shorten(d, maxColumns-len(indent)-1)
		switch {
		case line == "":
			line = indent + d
		case utf8.RuneCountInString(line+separator+d) < maxColumns:
			line += separator + d
		default:
			b.WriteString(line + ",\n")
			line = indent + d
		}
	}
	if line != "" {
		b.WriteString(line + "\n")
	}
}

// shorten returns a text of at most that number of columns: it leaves out the middle of a longer one.
func shorten(text string, columns int) string {
	const gap = "..."
	letters := []rune(text)
	if len(letters) <= columns {
		return text
	}
	tail := (columns - len(gap)) / 3
	return string(letters[:columns-len(gap)-tail]) + gap + string(letters[len(letters)-tail:])
}

// WriteBackup writes what a copy of a ledger holds, as a line of text or a JSON object.
func WriteBackup(w io.Writer, c *ledger.Contents, asJSON bool) error {
	if asJSON {
		return writeJSON(w, c)
	}
	_, err := fmt.Fprintf(w, "run %s: %d of %d tasks, all checksums are right, %s in %s\n",
		c.Run, c.Done, c.Tasks, humanize.Bytes(uint64(c.Bytes)), c.File)
	return err
}

// WritePruned writes a table of at most 80 columns: what was removed, or with dryRun what would be,
// how much each frees, and the sum. It writes nothing of no runs.
func WritePruned(w io.Writer, runs []runstore.Pruned, dryRun bool) error {
	if len(runs) == 0 {
		return nil
	}
	verb := "FREED"
	if dryRun {
		verb = "WOULD FREE"
	}
	rows := [][]string{{"RUN", "STATE", "ENDED", verb}}
	var bytes uint64
	for i := range runs {
		r := &runs[i]
		state, ended, freed := string(r.State), "", humanize.Bytes(r.Bytes)
		if state == "" {
			state = "removed in part"
		} else {
			ended = humanize.Clock(time.Since(r.Ended)) + " ago"
		}
		if r.Server != "" {
			freed = "on the server"
		}
		rows = append(rows, []string{shorten(r.Run, maxRunColumns), state, ended, freed})
		bytes += r.Bytes
	}
	return writeTable(w, append(rows, []string{humanize.Plural(len(runs), "run"), "", "", humanize.Bytes(bytes)}), false)
}
