package report

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"nqueens/pkg/humanize"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// share is what a worker, a kernel or all others counted.
type share struct {
	Name, Key, Kernel, Tasks, Time string
	Percent                        string
	Width                          string // of the bar, which is full for the largest share of a table
	Mean                           string // time of a task
	Quarantined                    bool
}

// listShares fills the tables of workers and kernels.
func (v *documentView) listShares() {
	s := v.Survey
	quarantined := make(map[string]bool)
	for _, q := range s.Quarantined {
		quarantined[q.Key] = true
	}
	most := largest(append(s.Contributions[:len(s.Contributions):len(s.Contributions)], s.Others))
	for i := range s.Contributions {
		c := &s.Contributions[i]
		row := v.share(c, workerName(c.Worker), most)
		row.Quarantined = c.Key != "" && quarantined[c.Key]
		v.Workers = append(v.Workers, row)
	}
	if s.OtherWorkers > 0 {
		row := v.share(&s.Others, humanize.Plural(s.OtherWorkers, "other"), most)
		v.Others = &row
	}
	for i := range s.Kernels {
		v.Kernels = append(v.Kernels, v.share(&s.Kernels[i], "", largest(s.Kernels)))
	}
}

// largest returns the greatest core time, or 0.
func largest(all []run.Contribution) (most time.Duration) {
	for i := range all {
		most = max(most, all[i].CoreTime)
	}
	return most
}

func (v *documentView) share(c *run.Contribution, name string, most time.Duration) share {
	row := share{
		Name: name, Key: shortKey(c.Key), Kernel: queens.SanitizeName(c.Kernel), Tasks: humanize.Int(c.Tasks), Time: shortTime(c.CoreTime),
		Mean: "-",
	}
	if c.Tasks > 0 {
		row.Mean = shortTime(c.CoreTime / timeCount(c.Tasks))
	}
	part := 0.0
	if total := v.Survey.Times.Total; total > 0 {
		part = float64(c.CoreTime) / float64(total)
	}
	row.Percent, row.Width = humanize.Percent(part, part == 1), percent(100*float64(c.CoreTime)/float64(max(most, 1)))
	return row
}

// workerName returns the name of a worker for people.
func workerName(name string) string {
	switch name {
	case queens.Referee:
		return "the coordinator, to settle disputes"
	case queens.Checker:
		return "the coordinator, as a check"
	}
	return queens.SanitizeName(name)
}

// shortKey returns the first letters of a key, which tell keys of one run apart.
func shortKey(key string) string {
	const letters = 12
	clean := []rune(queens.SanitizeName(key))
	if len(clean) <= letters {
		return string(clean)
	}
	return string(clean[:letters]) + "…"
}

// dispute is a task whose counts contradicted each other.
type dispute struct {
	Task, More string
	Votes      []vote
}

type vote struct{ Count, Worker, Key, Kernel, Verdict string }

func newDisputes(all []run.Dispute) []dispute {
	var disputes []dispute
	for i := range all {
		d := &all[i]
		row := dispute{Task: humanize.Int(d.Task)}
		for j := range d.Votes {
			w := &d.Votes[j]
			verdict := "not accepted"
			switch {
			case w.Void:
				verdict = "void: the key was quarantined"
			case w.Accepted && d.Settled:
				verdict = "accepted"
			case !d.Settled:
				verdict = "open"
			}
			row.Votes = append(row.Votes, vote{
				humanize.Int(w.Count), workerName(w.Worker), shortKey(w.Key), queens.SanitizeName(w.Kernel), verdict,
			})
		}
		if d.More > 0 {
			row.More = fmt.Sprintf("and %d counts more", d.More)
		}
		disputes = append(disputes, row)
	}
	return disputes
}

// newDifferences lists the accepted count and the recount of each task.
func newDifferences(all []run.Difference) []dispute {
	var disputes []dispute
	for i := range all {
		d := &all[i]
		accepted := "accepted"
		if d.OtherTask {
			accepted = "accepted, but of another task"
		}
		disputes = append(disputes, dispute{Task: humanize.Int(d.Task), Votes: []vote{
			{humanize.Int(d.Count), workerName(d.Worker), shortKey(d.Key), queens.SanitizeName(d.Kernel), accepted},
			{humanize.Int(d.Recount), "this verification", "", queens.SanitizeName(d.RecountKernel), "the recount"},
		}})
	}
	return disputes
}

// listRest fills the table of quarantined keys, and says what the tables leave out.
func (v *documentView) listRest() {
	s := v.Survey
	for _, q := range s.Quarantined {
		v.Quarantines = append(v.Quarantines, fact{shortKey(q.Key), moment(q.At), queens.Sanitize(q.Reason)})
	}
	if more := s.QuarantinedCount - len(s.Quarantined); more > 0 {
		v.MoreQuarantines = fmt.Sprintf("And %s.", humanize.Plural(more, "more key"))
	}
	if s.OtherKernels > 0 {
		v.MoreKernels = fmt.Sprintf("And %s.", humanize.Plural(s.OtherKernels, "more kernel"))
	}
	if more := s.DisputeCount - len(s.Disputes); more > 0 {
		v.MoreDisputes = fmt.Sprintf("And %s.", humanize.Plural(more, "more task"))
	}
	if s.Unread != "" {
		v.Unread = fmt.Sprintf("The tables and the times are of %s of %s counted tasks: %s.",
			humanize.Int(s.Times.Tasks), humanize.Int(s.Done), queens.Sanitize(s.Unread))
	}
}

// troubles says what went wrong on the way, or that nothing did.
func (v *documentView) troubles() []fact {
	s := v.Survey
	facts := []fact{
		{"disputes", humanize.Int(s.DisputeCount), "tasks whose counts contradicted each other"},
		{"quarantined keys", humanize.Int(s.QuarantinedCount), "that counted wrong: nothing of them counts"},
		{"refused results", humanize.Int(s.Rejected), "that fit no task of the run"},
		{"damaged records", humanize.Int(s.Damaged), "of the ledger when it was opened: their tasks are counted again"},
	}
	if r := v.Result; r != nil && r.Count != nil {
		facts = append(facts,
			fact{"republished", humanize.Int(r.Count.Snapshot.Republished), "tasks whose results did not arrive in time"},
			fact{"duplicates", humanize.Int(r.Count.Duplicates), "results that repeat an accepted one"})
	}
	return facts
}

// verificationFacts are the steps of a verification.
func (v *documentView) verificationFacts() []fact {
	r := v.Verification
	sample := fmt.Sprintf("%.3g%% of the work", 100*r.Share)
	if len(r.Kernels) > 0 {
		sample += ", with " + queens.Sanitize(strings.Join(r.Kernels, ", "))
	}
	if r.Differing > 0 {
		sample += "; " + r.differing()
	}
	if r.Stopped {
		sample += "; stopped before the end"
	}
	checksums, signatures := "every checksum is right", fmt.Sprintf("all are right; %s say the same", humanize.Plural(r.Signed, "count"))
	if damaged := v.Survey.Damaged; damaged > 0 {
		checksums = humanize.Plural(damaged, "record") + " damaged, which are left out"
	}
	if r.isContradicted() { // perhaps of a signature
		signatures = fmt.Sprintf("with %s, until the command ended", humanize.Plural(r.Signed, "count"))
	}
	facts := []fact{
		{"ledger", fmt.Sprintf("%s of %s", humanize.Int(r.Done), humanize.Plural(r.Tasks, "task")), checksums},
		{"signatures", humanize.Plural(r.Reports, "report"), signatures},
		{"recounted", humanize.Plural(r.Recounted, "task"), sample},
		{"seed", strconv.FormatUint(r.Seed, 10), "of the sample: --seed draws the same tasks again"},
	}
	switch {
	case r.Whole == "" || r.Stopped:
	case len(r.Placed) > 0:
		facts = append(facts, fact{"whole run", "recounted", "with the placed queens mirrored: the total is the same"})
	default:
		facts = append(facts, fact{"whole run", "recounted", "by symmetry " + r.Whole + ": the total is the same"})
	}
	return facts
}

// commands are the ways to check the run again.
func (v *documentView) commands() []command {
	name, data := v.Name, []string{"--data", v.Store}
	words := func(words ...string) string { return humanize.ShellWords(append(words, data...)...) }
	var all []command
	if v.Resume != "" {
		all = append(all, command{"Resume the run. Tasks that are counted are not counted again.", []string{v.Resume}})
	}
	all = append(all,
		command{"Read the ledger again, check every signature and sum, and recount every task, each with another kernel than the one that counted it.",
			[]string{words("coordinator", "verify", name, "--sample", "100%")}},
		command{"Export every task with its prefixes, its count and what the worker signed, and recount it without a server. " +
			"docs/ledger.md describes the lines for programs that share no code with this one.",
			[]string{words("coordinator", "ledger", name) + " > subtotals.jsonl", "worker task subtotals.jsonl"}})
	if v.Again != "" {
		all = append(all, command{"Count from the beginning, on any machine. The run has the same tasks if its manifest has the hash below.", []string{v.Again}})
	}
	for i := range all {
		for j, line := range all[i].Lines {
			all[i].Lines[j] = queens.Sanitize(line)
		}
	}
	return all
}

// origin says where the run and the page come from.
func (v *documentView) origin() []fact {
	m := &v.Survey.Manifest
	return []fact{
		{"ledger", queens.Sanitize(v.Folder), ""},
		{"manifest", fmt.Sprintf("%x", m.Hash[:]), "SHA-256 over all tasks"},
		{"splitter", fmt.Sprintf("version %d", m.SplitVersion), ""},
		{"written by", queens.Sanitize(v.Program), ""},
		{"on", queens.Sanitize(v.Machine), ""},
		{"at", moment(v.Written), ""},
	}
}
