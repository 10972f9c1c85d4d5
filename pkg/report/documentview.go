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

	Kind            string // of the page
	Name            string // of the run
	N               int
	Lead            string // what is counted
	State           string
	Tone            string // good, warn or bad
	Groups          []string
	Total           string
	Standing        string
	Reason          string // for which the command ended
	Facts           []fact
	Behind          []fact
	MoreDifferences string
	Board           *boardDrawing
	Throughput      *throughputChart
	Times           *timesChart
}

// fact is a row of a table or a list: a name, a value, and perhaps a remark.
type fact struct{ Name, Value, Remark string }

// command is something to do again, and the lines to type.
type command struct {
	What  string
	Lines []string
}

func newDocumentView(d *Document) *documentView {
	v := &documentView{Document: d, Style: template.CSS(documentCSS), Reason: queens.Sanitize(d.Ended)}
	m := &d.Survey.Manifest
	v.N = m.N
	var total *run.Decimal
	var confirmed Confirmed
	var known queens.Comparison
	if r := d.Result; r != nil {
		v.Kind, v.Name = "Report of a count", queens.Sanitize(r.Run)
		total, confirmed, known = r.Total, r.Confirmed, r.Known
		v.stateOfResult()
		v.Facts = append(v.boardFacts(), v.countFacts()...)
	} else {
		r := d.Verification
		v.Kind, v.Name = "Report of a verification", queens.Sanitize(r.Run)
		total, confirmed, known = r.Total, NewConfirmed(&r.Confirmation, r.Total != nil), r.Known
		v.stateOfVerification()
		v.Facts = append(v.boardFacts(), v.ledgerFacts()...)
		v.MoreDifferences = more(int(r.Differing), len(r.Differences), "task")
	}
	v.Lead = lead(m)
	if total != nil {
		v.Total = total.String()
		v.Groups = strings.Split(humanize.Big((*big.Int)(total)), ",")
		v.Standing = capitalized(confirmed.sentence()) + "."
	}
	v.Behind = behind(&confirmed, known, total != nil, d.Survey)
	if len(m.Placed) > 0 {
		v.Board = newBoardDrawing(m.N, m.Placed)
	}
	v.Throughput = newThroughputChart(d.History)
	v.Times = newTimesChart(&d.Survey.Times)
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

func (v *documentView) boardFacts() []fact {
	m := &v.Survey.Manifest
	least, most := m.N, 0 // of classes with tasks
	for i := range m.Classes {
		if m.TasksOf(i) > 0 {
			least, most = min(least, m.Classes[i].Depth), max(most, m.Classes[i].Depth)
		}
	}
	classes, prefixes := fmt.Sprintf("%d classes", len(m.Classes)), ""
	if len(m.Classes) == 1 {
		classes = "1 class"
	}
	if most > 0 {
		prefixes = "of prefixes of " + humanize.Range(least, most, func(rows int) string { return fmt.Sprint(rows) }) + " rows"
	}
	return []fact{
		{"run", v.Name, ""},
		{"symmetry", string(m.Symmetry), classes},
		{"tasks", humanize.Int(m.Tasks), prefixes},
	}
}

// countFacts are the key figures of a count.
func (v *documentView) countFacts() []fact {
	r := v.Result
	facts := []fact{{"started", moment(v.Survey.Created), ""}}
	if r.Unique != nil {
		facts = append(facts, fact{"fundamental solutions", humanize.Big((*big.Int)(r.Unique)), "up to rotation and reflection"})
	}
	if c := r.Count; c != nil {
		remark := "of the count"
		if c.Resumed > 0 {
			remark = fmt.Sprintf("since it was resumed with %s done", humanize.Plural(c.Resumed, "task"))
		}
		facts = append(facts, fact{"time", shortTime(c.Snapshot.Elapsed.Duration), remark})
		if c.Rate > 0 {
			facts = append(facts, fact{"rate", humanize.Rate(c.Rate), "solutions, in the mean"})
		}
	} else {
		facts = append(facts, fact{"time", shortTime(time.Duration(r.Seconds * float64(time.Second))), "of this command: the run was finished before"})
	}
	return append(facts, v.coreTime(r.CoreTime), fact{"workers", humanize.Int(r.Workers), "whose counts are accepted"})
}

// ledgerFacts are the key figures of a run that another command counted.
func (v *documentView) ledgerFacts() []fact {
	return []fact{
		{"started", moment(v.Survey.Created), ""},
		{"state", string(v.Survey.State), "of the run"},
		{"time", shortTime(time.Duration(v.Verification.Seconds * float64(time.Second))), "of the verification"},
		v.coreTime(v.Survey.Times.Total),
	}
}

func (v *documentView) coreTime(d time.Duration) fact {
	remark := "all accepted searches together"
	switch hours := d.Hours(); {
	case hours >= 100:
		remark = fmt.Sprintf("%s core-hours: %s", humanize.Int(uint64(hours)), remark)
	case hours >= 0.01:
		remark = fmt.Sprintf("%.3g core-hours: %s", hours, remark)
	}
	return fact{"core time", shortTime(d), remark}
}

// behind says what stands behind a total, or behind the counts if there is none.
func behind(c *Confirmed, known queens.Comparison, total bool, s *run.Survey) []fact {
	published := map[queens.Comparison]string{
		queens.Match: "the same", queens.Mismatch: "another", queens.Unpublished: "none for this board",
	}[known]
	if _, ok := queens.KnownTotal(s.Manifest.N); ok && len(s.Manifest.Placed) == 0 && known == queens.Unpublished {
		published = "not compared"
	}
	asked := fmt.Sprintf("%s on each task", humanize.Plural(s.Redundancy, "key"))
	if s.SpotCheck.Share > 0 {
		asked += fmt.Sprintf(", and spot checks of %.3g%% of the tasks", 100*s.SpotCheck.Share)
	}
	if s.SpotCheck.Bounded {
		asked += ", within bounds of the coordinator's time"
	}
	facts := []fact{{"level", string(c.Level), c.Phrase()}}
	if !total {
		facts = nil
	}
	facts = append(facts, fact{"published total", published, "OEIS A000170"})
	if total {
		facts = append(facts, fact{"sums", "the same", "by task, and by class of the tasks made again"})
	}
	return append(facts,
		fact{"keys that agree", fmt.Sprint(c.By.Redundancy), "admitted keys, on a task, at least; 0 while a task has no count"},
		fact{"admitted keys", fmt.Sprint(c.By.Voters), fmt.Sprintf("with counts in the run; the join token admitted %d of them", c.By.ByToken)},
		fact{"tasks checked", humanize.Int(c.By.Checked), c.share() + " of the counted tasks: two admitted keys, or a worker and the coordinator, agree"},
		fact{"checks not made", humanize.Int(c.By.Missed), "tasks that were to be spot-checked"},
		fact{"by unadmitted keys", humanize.Int(c.By.Unadmitted), "tasks that no admitted key has counted"},
		fact{"disputes", humanize.Int(c.By.Disputes), "tasks whose counts contradicted each other"},
		fact{"required", asked, ""},
	)
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
