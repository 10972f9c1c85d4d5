package report

import (
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"strings"
	"time"

	"nqueens/pkg/humanize"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// functions are how the page formats values. What may come from anybody is cleaned here.
var functions = template.FuncMap{
	"int": humanize.Int[uint64], "time": shortTime, "moment": moment, "clean": queens.Sanitize, "name": queens.SanitizeName,
	"key": shortKey, "worker": workerName, "verdict": verdict, "more": more,
}

// share is what a worker, a kernel or all others counted.
type share struct {
	run.Contribution
	Mean, Percent string
	Width         string // of the bar, which is full for the largest share of a table
	Quarantined   bool
}

// Shares returns the rows of a table.
func (v *documentView) Shares(all []run.Contribution) (shares []share) {
	most := time.Duration(1)
	for i := range all {
		most = max(most, all[i].CoreTime)
	}
	for _, c := range all {
		mean, part := "-", 0.0
		if c.Tasks > 0 {
			mean = shortTime(c.CoreTime / timeCount(c.Tasks))
		}
		if total := v.Survey.Times.Total; total > 0 {
			part = float64(c.CoreTime) / float64(total)
		}
		quarantined := c.Key != "" && slices.ContainsFunc(v.Survey.Quarantined, func(q run.QuarantinedKey) bool { return q.Key == c.Key })
		shares = append(shares, share{c, mean, humanize.Percent(part, part == 1), percent(100 * float64(c.CoreTime) / float64(most)), quarantined})
	}
	return shares
}

// Workers returns the contributions of the survey, and in the last the sum of those that it does not list.
func (v *documentView) Workers() []run.Contribution {
	s := v.Survey
	if s.OtherWorkers == 0 {
		return s.Contributions
	}
	others := s.Others
	others.Worker = humanize.Plural(s.OtherWorkers, "other")
	return append(slices.Clip(s.Contributions), others)
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

// verdict says what became of a vote.
func verdict(d run.Dispute, v run.Vote) string {
	switch {
	case v.Void:
		return "void: the key was quarantined"
	case !d.Settled:
		return "open"
	case v.Accepted:
		return "accepted"
	}
	return "not accepted"
}

// more says how many things there are beyond those that are listed, or nothing if there are none.
func more(all, listed int, noun string) string {
	if all <= listed {
		return ""
	}
	return fmt.Sprintf("And %s.", humanize.Plural(all-listed, "more "+noun))
}

// Troubles says what went wrong on the way, or that nothing did.
func (v *documentView) Troubles() []fact {
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

// Checks are the steps of a verification.
func (v *documentView) Checks() []fact {
	r := v.Verification
	sample := fmt.Sprintf("%.3g%% of the work", 100*r.Share)
	if len(r.Kernels) > 0 {
		sample += ", with " + queens.Sanitize(strings.Join(r.Kernels, ", "))
	}
	if r.Differing > 0 {
		sample += "; " + differing(r.Differing)
	}
	if r.Stopped {
		sample += "; stopped before the end"
	}
	checksums, signatures := "every checksum is right", fmt.Sprintf("all are right; %s say the same", humanize.Plural(r.Signed, "count"))
	if damaged := v.Survey.Damaged; damaged > 0 {
		checksums = humanize.Plural(damaged, "record") + " damaged, which are left out"
	}
	if r.IsContradicted() { // perhaps of a signature
		signatures = fmt.Sprintf("with %s, until the command ended", humanize.Plural(r.Signed, "count"))
	}
	facts := []fact{
		{"ledger", fmt.Sprintf("%s of %s", humanize.Int(r.Done), humanize.Plural(r.Tasks, "task")), checksums},
		{"signatures", humanize.Plural(r.Statements, "statement"), signatures},
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

// Commands are the ways to check the run again.
func (v *documentView) Commands() []command {
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

// Origin says where the run and the page come from.
func (v *documentView) Origin() []fact {
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
