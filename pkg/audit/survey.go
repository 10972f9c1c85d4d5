package audit

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"nqueens/pkg/ledger"
	"nqueens/pkg/parallel"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// stoppedSurvey bounds the survey of a ledger after a signal: a person waits for the end of the command.
const stoppedSurvey = 5 * time.Second

var errStoppedSurvey = fmt.Errorf("the command was stopped, and reads for %v at most", stoppedSurvey)

// Survey reads a ledger for a report. It reads every accepted result once, on all cores, and holds two
// numbers for each worker. If ctx has ended before, it reads for a few seconds at most. If ctx ends, the
// time is over or a record is damaged, the survey is of what was read until then, and says so.
func Survey(ctx context.Context, l *ledger.Ledger) run.Survey {
	if ctx.Err() != nil {
		bounded, stop := context.WithTimeoutCause(context.WithoutCancel(ctx), stoppedSurvey, errStoppedSurvey)
		defer stop()
		ctx = bounded
	}
	h := l.Header()
	s := run.Survey{
		Manifest: h.Manifest, Created: h.Created, State: l.State(),
		Redundancy: h.Trust.Redundancy, SpotCheck: h.Trust.SpotCheck,
		Done: l.Len(), Rejected: l.Rejected(), Damaged: len(l.Damaged()),
	}
	all := contributions{by: make(map[contributor]*run.Contribution)}
	err := parallel.InOrder(ctx, ranges(h.Manifest.Tasks), func(ctx context.Context, ids idRange) (*contributions, error) {
		return contributionsOf(ctx, l, ids)
	}, func(some *contributions) error {
		all.addAll(some)
		return nil
	})
	if err != nil {
		s.Unread = err.Error()
	}
	s.Times = all.times
	all.list(&s)
	surveyDisputes(l, &s)
	surveyQuarantines(l, &s)
	return s
}

// contributor is a worker with a key and a kernel.
type contributor struct{ worker, key, kernel string }

// contributions are what the accepted results of some tasks add up to.
type contributions struct {
	by    map[contributor]*run.Contribution
	times run.TaskTimes
}

// contributionsOf reads the results of a range of tasks.
func contributionsOf(ctx context.Context, l *ledger.Ledger, ids idRange) (*contributions, error) {
	some := &contributions{by: make(map[contributor]*run.Contribution)}
	var latest contributor
	var of *run.Contribution // of latest: tasks of a chunk follow each other
	for r, err := range l.Range(ids.first, ids.end) {
		if err == nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return nil, err
		}
		if c := (contributor{r.Worker, r.Key, r.Kernel}); of == nil || c != latest {
			latest, of = c, some.of(c)
		}
		of.Add(1, max(r.Elapsed, 0))
		some.times.Add(r.Elapsed)
	}
	return some, nil
}

// of returns the contribution of a contributor, which may be new.
func (c *contributions) of(id contributor) *run.Contribution {
	of := c.by[id]
	if of == nil {
		of = &run.Contribution{Worker: id.worker, Key: id.key, Kernel: id.kernel}
		c.by[id] = of
	}
	return of
}

func (c *contributions) addAll(some *contributions) {
	for id, of := range some.by {
		c.of(id).Add(of.Tasks, of.CoreTime)
	}
	c.times.AddAll(&some.times)
}

// list adds the contributions to a survey, and those of each kernel.
func (c *contributions) list(s *run.Survey) {
	byKernel := contributions{by: make(map[contributor]*run.Contribution)}
	var all []run.Contribution
	for id, of := range c.by {
		all = append(all, *of)
		byKernel.of(contributor{kernel: id.kernel}).Add(of.Tasks, of.CoreTime)
	}
	for _, of := range byKernel.by {
		s.Kernels = append(s.Kernels, *of)
	}
	sortContributions(s.Kernels)
	shown := min(len(s.Kernels), run.MaxSurveyed)
	s.Kernels, s.OtherKernels = s.Kernels[:shown], len(s.Kernels)-shown
	sortContributions(all)
	listed := min(len(all), run.MaxSurveyed)
	s.Contributions, s.OtherWorkers = all[:listed:listed], len(all)-listed
	for i := range all[listed:] {
		of := &all[listed+i]
		s.Others.Add(of.Tasks, of.CoreTime)
	}
}

func sortContributions(all []run.Contribution) {
	slices.SortFunc(all, func(a, b run.Contribution) int {
		return cmp.Or(cmp.Compare(b.CoreTime, a.CoreTime), cmp.Compare(b.Tasks, a.Tasks),
			cmp.Compare(a.Worker, b.Worker), cmp.Compare(a.Key, b.Key), cmp.Compare(a.Kernel, b.Kernel))
	})
}

func surveyDisputes(l *ledger.Ledger, s *run.Survey) {
	disputes := l.Disputes()
	s.DisputeCount = len(disputes)
	for i := range disputes[:min(len(disputes), run.MaxSurveyed)] {
		d := &disputes[i]
		accepted, counted, err := l.Result(d.Task)
		counted = counted && err == nil
		of := run.Dispute{Task: d.Task, Settled: d.Settled}
		add := func(v *queens.Result, void bool) {
			if len(of.Votes) == run.MaxVotes {
				of.More++
				return
			}
			of.Votes = append(of.Votes, run.Vote{
				Count: v.Count, Worker: v.Worker, Key: v.Key, Kernel: v.Kernel,
				Accepted: counted && !void && v.Count == accepted.Count, Void: void,
			})
		}
		for i := range d.Votes {
			add(&d.Votes[i], false)
		}
		for i := range d.Voided {
			add(&d.Voided[i], true)
		}
		s.Disputes = append(s.Disputes, of)
	}
}

func surveyQuarantines(l *ledger.Ledger, s *run.Survey) {
	quarantined := l.Quarantined()
	s.QuarantinedCount = len(quarantined)
	for _, q := range quarantined[:min(len(quarantined), run.MaxSurveyed)] {
		s.Quarantined = append(s.Quarantined, run.QuarantinedKey{Key: q.Key, Reason: q.Reason, At: q.At, Task: q.Task})
	}
}
