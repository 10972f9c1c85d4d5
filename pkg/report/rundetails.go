package report

import (
	"encoding/hex"
	"fmt"
	"io"
	"strconv"
	"time"

	"nqueens/pkg/humanize"
	"nqueens/pkg/run"
)

// RunDetails is a run of this machine in full.
type RunDetails struct {
	ListedRun
	*RunFacts        // Nil while a process works on the run, and if the ledger can't be read.
	Bytes     uint64 `json:"bytes"` // size of its files

	Resume, Verify, Remove []string `json:"-"` // Words of commands.
}

// RunFacts are what the ledger of a run says of it besides its progress.
type RunFacts struct {
	Manifest     string        `json:"manifest"`      // hash of the manifest, in hexadecimal digits
	SplitVersion int           `json:"split_version"` // version of the rules that split the run into tasks
	Classes      int           `json:"classes"`       // boards into which symmetry cuts the run
	Redundancy   int           `json:"redundancy"`    // voters that must agree on each task
	SpotCheck    run.SpotCheck `json:"spot_check"`    // tasks that are checked besides that
	Rejected     uint64        `json:"rejected"`      // results that fit no task of the run
	CoreHours    float64       `json:"core_hours"`    // core-hours of all accepted searches
	// who counted how many tasks, those with the most core time first, at most 100
	Counted      []run.Contribution `json:"counted"`
	OtherWorkers int                `json:"other_workers"` // the remaining ones
}

// NewRunFacts returns the facts of a survey.
func NewRunFacts(s *run.Survey) *RunFacts {
	m := &s.Manifest
	return &RunFacts{
		Manifest: hex.EncodeToString(m.Hash[:]), SplitVersion: m.SplitVersion, Classes: len(m.Classes), Redundancy: s.Redundancy,
		SpotCheck: s.SpotCheck, Rejected: s.Rejected, CoreHours: s.CoreTime.Hours(), Counted: append([]run.Contribution{}, s.Contributions...), OtherWorkers: s.OtherWorkers,
	}
}

// WriteRun writes a run in full, for people or as a JSON object.
func WriteRun(w io.Writer, r *RunDetails, asJSON bool) error {
	if asJSON {
		return writeJSON(w, r)
	}
	rows := [][]string{{"run", r.Run}, {"state", r.state()}}
	add := func(name, value string) {
		if value != "" {
			rows = append(rows, []string{name, value})
		}
	}
	if r.Total != nil {
		add("total", r.Total.String())
	}
	if r.Confirmed != nil {
		add("confirmed", string(r.Level)+": "+phrase(r.Confirmed))
	}
	if r.N > 0 {
		board := fmt.Sprintf("%d x %d, symmetry %s", r.N, r.N, r.Symmetry)
		if len(r.Placed) > 0 {
			board += ", queens placed on " + humanize.Squares(r.Placed)
		}
		add("board", board)
		add("tasks", fmt.Sprintf("%s of %s", humanize.Int(r.Done), humanize.Int(r.Tasks)))
	}
	add("started", localTime(r.Created))
	add("ended", localTime(r.Ended))
	if r.Elapsed.Duration > 0 {
		add("took", r.took()+", of all its coordinators")
	}
	if f := r.RunFacts; f != nil {
		add("searches", coreHours(f.CoreHours, 0, ""))
		checks := fmt.Sprintf("%s on each task, spot checks %s", humanize.Plural(f.Redundancy, "voter"), f.SpotCheck)
		if r.Disputes > 0 {
			checks += ", " + humanize.Plural(r.Disputes, "dispute")
		}
		if r.Quarantined > 0 {
			checks += ", " + humanize.Plural(r.Quarantined, "quarantined key")
		}
		add("checks", checks)
		add("manifest", fmt.Sprintf("%s, classes: %d", f.Manifest, f.Classes))
	}
	add("server", r.Server)
	add("coordinator", r.Owner)
	add("files", fmt.Sprintf("%s, %s", r.Ledger, humanize.Bytes(r.Bytes)))
	add("resume it", humanize.ShellWords(r.Resume...))
	add("verify it", humanize.ShellWords(r.Verify...))
	add("remove it", humanize.ShellWords(r.Remove...))
	if err := writeTable(w, rows, false); err != nil || r.RunFacts == nil || len(r.Counted) == 0 {
		return err
	}
	workers := [][]string{{"WORKER", "KERNEL", "TASKS", "CORE TIME", "KEY"}}
	for _, c := range r.Counted {
		workers = append(workers, []string{
			shorten(c.Worker, maxRunColumns), c.Kernel, strconv.FormatUint(c.Tasks, 10), humanize.Seconds(c.CoreTime.Seconds()), shorten(c.Key, 12),
		})
	}
	if r.OtherWorkers > 0 {
		workers = append(workers, []string{fmt.Sprintf("and %d more", r.OtherWorkers), "", "", "", ""})
	}
	_, err := fmt.Fprintln(w)
	if err == nil {
		err = writeTable(w, workers, false)
	}
	return err
}

// state returns the state of a run, and how much of its work is done unless all is.
func (r *RunDetails) state() string {
	if r.Status == string(run.Complete) || r.At.IsZero() {
		return r.Status
	}
	text := r.Status + ", " + humanize.Percent(float64(r.WorkDone), r.WorkDone >= 1 && r.Done >= r.Tasks)
	for _, word := range r.progress() {
		text += ", " + word
	}
	return text
}

// localTime returns a time of this machine, empty for none.
func localTime(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.Local().Format("2006-01-02 15:04:05 MST")
}
