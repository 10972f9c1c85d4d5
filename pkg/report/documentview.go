package report

import (
	"fmt"
	"html/template"
	"math/big"
	"strings"
	"time"

	"nqueens/pkg/humanize"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// documentView is a [Document] in the words of the page.
type documentView struct {
	*Document
	Style template.CSS // ours

	Kind       string // of the page
	Name       string // of the run
	Lead       string // what is counted
	State      string
	Tone       string // good, warn or bad
	Groups     []string
	Total      string
	Confirmed  run.Confirmed
	Known      queens.Comparison
	Standing   string
	Reason     string // for which the command ended
	Throughput *throughputChart
}

func newDocumentView(d *Document) *documentView {
	v := &documentView{Document: d, Style: template.CSS(documentCSS), Reason: queens.Sanitize(d.Ended), Throughput: newThroughputChart(d.History)}
	var total *run.Decimal
	if r := d.Result; r != nil {
		v.Kind, v.Name = "Report of a count", r.Run
		total, v.Confirmed, v.Known = r.Total, r.Confirmed, r.Known
		v.stateOfResult()
	} else {
		r := d.Verification
		v.Kind, v.Name = "Report of a verification", r.Run
		total, v.Confirmed, v.Known = r.Total, r.Confirmed, r.Known
		v.stateOfVerification()
	}
	v.Lead = lead(&d.Survey.Manifest)
	if total != nil {
		v.Total = total.String()
		v.Groups = strings.Split(humanize.Big((*big.Int)(total)), ",")
		v.Standing = capitalized(sentence(&v.Confirmed)) + "."
	}
	return v
}

// lead says what is counted.
func lead(m *queens.Manifest) string {
	switch {
	case len(m.Placed) > 0:
		return fmt.Sprintf("ways to complete %s on a board of %d × %[2]d squares, with %d queens in all, so that none attacks another",
			humanize.Plural(len(m.Placed), "placed queen"), m.N, m.N)
	case m.N == 1:
		return "way to place a queen on a board of one square"
	}
	return fmt.Sprintf("ways to place %d queens on a board of %[1]d × %[1]d squares so that none attacks another", m.N)
}

// stateOfResult says how the count ended.
func (v *documentView) stateOfResult() {
	r := v.Result
	v.State, v.Tone = string(r.End), "warn"
	switch r.End {
	case Complete:
		v.Tone = "good"
		if r.Level == run.None {
			v.Tone = "plain"
		}
		return
	case Contradicted, Failed:
		v.Tone = "bad"
	case Cancelled, Incomplete, Stopped:
	}
	s := v.Survey
	v.Standing = fmt.Sprintf("There is no total: %s of %s are counted.", humanize.Int(s.Done), humanize.Plural(s.Manifest.Tasks, "task"))
	if c := r.Count; c != nil && s.Done < s.Manifest.Tasks {
		v.Standing = strings.TrimSuffix(v.Standing, ".") + fmt.Sprintf(", %s of the estimated work.", humanize.Percent(float64(c.Snapshot.WorkDone), false))
	}
	if r.End == Contradicted {
		v.Standing = "There is no total: something contradicts it."
	}
}

// stateOfVerification says what the verification found.
func (v *documentView) stateOfVerification() {
	r := v.Verification
	switch {
	case r.Verified:
		v.State, v.Tone = "verified", "good"
	case r.Stopped && !r.IsContradicted():
		v.State, v.Tone = "stopped", "warn"
		v.Standing = "The verification was stopped before the end."
	default:
		v.State, v.Tone = "not verified", "bad"
		v.Standing = fmt.Sprintf("The run is not verified: it has counts of %s of %s.", humanize.Int(r.Done), humanize.Plural(r.Tasks, "task"))
	}
}

// Prefixes says of how many rows the prefixes of the tasks are; empty without tasks.
func (v *documentView) Prefixes() string {
	m := &v.Survey.Manifest
	least, most := m.N, 0 // of classes with tasks
	for i := range m.Classes {
		if m.TasksOf(i) > 0 {
			least, most = min(least, m.Classes[i].Depth), max(most, m.Classes[i].Depth)
		}
	}
	if most == 0 {
		return ""
	}
	return "of prefixes of " + humanize.Range(least, most, humanize.Int[int]) + " rows"
}

// CoreTime returns the core time of the run, and that time in core-hours with the energy, if there are enough to say.
func (v *documentView) CoreTime() (fact struct{ Time, Hours string }) {
	d, kWh := v.Survey.CoreTime, 0.0
	if r := v.Result; r != nil {
		d, kWh = r.CoreTime, r.KWh
	}
	fact.Time, fact.Hours = shortTime(d), coreHours(d.Hours(), kWh, "")
	return fact
}

// Published says how the total compares with the published one.
func (v *documentView) Published() string {
	m := &v.Survey.Manifest
	switch {
	case v.Known == queens.Match:
		return "the same"
	case v.Known == queens.Mismatch:
		return "another"
	case m.KnownTotal() == nil:
		return "none for this board"
	}
	return "not compared"
}

// capitalized returns a sentence with a capital letter at its begin.
func capitalized(sentence string) string { return strings.ToUpper(sentence[:1]) + sentence[1:] }

// moment formats a time.
func moment(t time.Time) string {
	if t.IsZero() {
		return "unknown"
	}
	return t.UTC().Format("2006-01-02 15:04 UTC")
}

// shortTime formats a duration with three digits below ten seconds: 1.23ms, 4.56s, 4m12s.
func shortTime(d time.Duration) string {
	if d >= 10*time.Second || d < 0 {
		return humanize.Duration(d)
	}
	unit := time.Duration(1)
	for d/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit).String()
}
