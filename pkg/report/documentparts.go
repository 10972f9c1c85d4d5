package report

import (
	"fmt"
	"html/template"
	"math"
	"math/big"
	"reflect"
	"slices"
	"time"

	"nqueens/pkg/humanize"
	"nqueens/pkg/run"
)

// functions are how the page formats values.
var functions = template.FuncMap{
	"int": func(n any) string { return humanize.Int(whole(n)) }, "plural": func(n any, noun string) string { return humanize.Plural(whole(n), noun) },
	"big": func(d *run.Decimal) string { return humanize.Big((*big.Int)(d)) }, "rate": humanize.Rate, "squares": humanize.Squares,
	"time": shortTime, "seconds": func(s float64) string { return shortTime(time.Duration(s * float64(time.Second))) }, "moment": moment,
	"key": shortKey, "worker": workerName, "votes": votes, "moreVotes": moreVotes, "more": more, "shell": humanize.ShellWords,
	"phrase": phrase, "checkedShare": checkedShare, "shareOfWork": shareOfWork, "differing": differing,
	"percent": func(share float64) string { return fmt.Sprintf("%.3g%%", 100*share) },
}

// whole returns a whole number of any type.
func whole(n any) uint64 {
	if v := reflect.ValueOf(n); v.CanUint() {
		return v.Uint()
	}
	return uint64(max(reflect.ValueOf(n).Int(), 0))
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
		most = max(most, all[i].CoreTime.Duration)
	}
	for _, c := range all {
		mean, part := "-", 0.0
		if c.Tasks > 0 {
			mean = shortTime(c.CoreTime.Duration / time.Duration(min(c.Tasks, math.MaxInt64)))
		}
		if total := v.Survey.CoreTime; total > 0 {
			part = float64(c.CoreTime.Duration) / float64(total)
		}
		quarantined := c.Key != "" && slices.ContainsFunc(v.Survey.Quarantined, func(q run.QuarantinedKey) bool { return q.Key == c.Key })
		shares = append(shares, share{c, mean, humanize.Percent(part, part == 1), percent(100 * float64(c.CoreTime.Duration) / float64(most)), quarantined})
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
	case run.Referee:
		return "the coordinator, to settle disputes"
	case run.Checker:
		return "the coordinator, as a check"
	}
	return name
}

// shortKey returns the first letters of a key, which tell keys of one run apart.
func shortKey(key string) string {
	const letters = 12
	if len(key) <= letters {
		return key
	}
	return key[:letters] + "…"
}

// vote is a count of a disputed task, and what became of it.
type vote struct {
	run.Result
	Verdict string
}

// maxVotes bounds the votes of a dispute that a table lists.
const maxVotes = 10

// votes returns the first votes of a dispute.
func votes(d run.Dispute) (all []vote) {
	for _, v := range d.Votes {
		switch {
		case !d.Settled:
			all = append(all, vote{v, "open"})
		case v.Count == d.Accepted:
			all = append(all, vote{v, "accepted"})
		default:
			all = append(all, vote{v, "not accepted"})
		}
	}
	for _, v := range d.Revoked {
		all = append(all, vote{v, "revoked: the key was quarantined"})
	}
	return all[:min(len(all), maxVotes)]
}

// moreVotes returns how many votes of a dispute a table leaves out.
func moreVotes(d run.Dispute) int { return max(len(d.Votes)+len(d.Revoked)-maxVotes, 0) }

// more says how many things there are beyond those that are listed, or nothing if there are none.
func more(all any, listed int, noun string) string {
	n := whole(all)
	if n <= uint64(listed) {
		return ""
	}
	return fmt.Sprintf("And %s.", humanize.Plural(n-uint64(listed), "more "+noun))
}
