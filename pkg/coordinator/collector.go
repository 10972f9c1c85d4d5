package coordinator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"nqueens/pkg/audit"
	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/ratelimit"
	"nqueens/pkg/run"
	"nqueens/pkg/split"
	"nqueens/pkg/symmetry"
)

// collector records results in the ledger, after checking that each counted the task
// that it names, and keeps figures of what is accepted.
type collector struct {
	cfg      *Config
	manifest queens.Manifest
	ledger   *ledger.Ledger
	window   *window
	limiter  ratelimit.Limiter // of warnings: each is logged once

	// Figures of the accepted results, for progress only: the total is never made of them.
	sums     symmetry.Sums
	coreTime time.Duration
	workers  map[string]uint64 // tasks by worker

	trust      *trust
	agreed     []uint64                   // a bit for each task on which enough voters agree
	agreedLen  uint64                     // of them
	agreedOf   []uint64                   // of them, by class
	shares     []float64                  // of the run's work, of one task of each class
	disputes   map[uint64]*ledger.Dispute // those open, see isOpen
	unrefereed map[uint64]error           // disputed tasks that this process can't count, and why
	lastRead   run.StreamPosition         // of the last result received
	judged     []uint64                   // tasks whose disputes were settled: not yet looked at for keys to quarantine
	duplicates uint64
	counters   counters
	recording  time.Duration // spent on recording results in the ledger
}

func newCollector(cfg *Config, l *ledger.Ledger, w *window, t *trust, shares []float64) *collector {
	m := l.Header().Manifest
	return &collector{
		cfg: cfg, manifest: m, ledger: l, window: w, trust: t,
		limiter:    ratelimit.Limiter{Interval: ratelimit.Forever},
		unrefereed: make(map[uint64]error), agreed: make([]uint64, (m.Tasks+63)/64), agreedOf: make([]uint64, len(m.Classes)),
		workers: make(map[string]uint64), disputes: make(map[uint64]*ledger.Dispute), shares: shares, lastRead: l.Position(),
	}
}

// load reads what the ledger holds already. It calls each with every accepted result.
func (c *collector) load(ctx context.Context, each func(r *queens.Result)) error {
	for r, err := range c.ledger.All() {
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
		c.add(&r)
		c.note(r.Task)
		each(&r)
	}
	for _, d := range c.ledger.Disputes() {
		if c.isOpen(&d) {
			c.disputes[d.Task] = &d
		} else {
			c.judged = append(c.judged, d.Task)
		}
	}
	return nil
}

// isOpen reports whether a dispute has yet to be settled: by the coordinator's own count, or by
// the votes of workers where it can't count the task. Two liars can outvote one honest worker.
func (c *collector) isOpen(d *ledger.Dispute) bool {
	return !d.Settled || c.cfg.Referee != nil && !d.HasReferee() && c.unrefereed[d.Task] == nil
}

// complete reports whether enough voters agree on every task, no dispute is open, no spot check
// is in flight, and nothing is left to be voided.
func (c *collector) complete() bool {
	return c.agreedLen == c.manifest.Tasks && len(c.disputes) == 0 && c.window.checks == 0 && !c.ledger.IsVoiding()
}

// workDone returns the share of the run's estimated work on which enough voters agree.
func (c *collector) workDone() float64 { return split.WorkDone(&c.manifest, c.shares, c.agreedOf) }

// record records a batch of results, or keeps those whose tasks are not in flight yet as
// pending. It returns the ids of tasks to look up: of the pending results, and of
// disputes to settle. An error ends the run.
func (c *collector) record(batch []taskDelivery) (wanted []uint64, err error) {
	var valid []taskDelivery
	var rejected []ledger.Rejection
	before := make(map[uint64]queens.Result) // accepted results of the same tasks
	c.judgeAdmission(batch)
	for i := range batch {
		d := &batch[i]
		r := &d.result
		reason, err := c.rejectReason(r, before)
		if d.foreign {
			reason = errOtherManifest
		}
		switch {
		case err != nil:
			return nil, err
		case reason == nil:
			valid = append(valid, *d)
		case !errors.Is(reason, errNotIssued):
			if c.limiter.Allow(reason.Error()) {
				c.cfg.Log.Warn().Err(reason).Uint64("task", r.Task).Str("worker", r.Worker).Str("kernel", r.Kernel).
					Msg("refused a result; more of its kind are kept as evidence, not logged")
			}
			c.counters.rejected(reason)
			r.Attempt = max(r.Attempt, 1)
			rejected = append(rejected, ledger.Rejection{Result: *r, Reason: reason.Error()})
		case c.window.pending.add(*d):
			wanted = append(wanted, r.Task)
		case c.limiter.Allow("pending"):
			c.cfg.Log.Warn().Int("held", maxPending).
				Msg("too many results of tasks not published yet: dropping the rest, whose tasks are counted again")
		}
	}
	position := c.ledger.Position()
	if c.window.pending.count == 0 {
		position = c.lastRead // otherwise the pending results would be lost with this process
	}
	results := make([]queens.Result, len(valid))
	for i := range valid {
		results[i] = valid[i].result
	}
	begun := time.Now()
	verdicts, err := c.ledger.Accept(results, rejected, position)
	c.recording += time.Since(begun)
	if err != nil {
		return nil, err
	}
	conflicts, err := c.applyVerdicts(valid, verdicts, before)
	if err != nil {
		return nil, err
	}
	return append(wanted, c.updateDisputes(conflicts)...), c.checkKnownTotal()
}

// judgeAdmission notes whether the keys of results are admitted now.
func (c *collector) judgeAdmission(batch []taskDelivery) {
	var last *queens.Sealed // of the same chunk result
	var admitted, byToken bool
	for i := range batch {
		r := &batch[i].result
		if r.Sealed == nil {
			continue
		}
		if r.Sealed != last {
			last = r.Sealed
			admitted, byToken = c.trust.admits(r.Key, batch[i].admission)
		}
		r.Admitted, r.ByToken = admitted, byToken
	}
}

// Reasons why a result is not recorded.
var (
	errUnknownTask   = errors.New("the run has no such task")
	errHashMismatch  = errors.New("its hash is not that of the task: something else was counted")
	errOtherManifest = errors.New("it was counted for another manifest than the run's")
	errNotIssued     = errors.New("the task was not published yet")
)

// rejectReason returns the reason why a result can't be recorded, or nil. It sets the attempt,
// and adds the accepted result of the task, if there is one, to before.
func (c *collector) rejectReason(r *queens.Result, before map[uint64]queens.Result) (reason, err error) {
	if r.Task >= c.manifest.Tasks {
		return errUnknownTask, nil
	}
	accepted, ok, err := c.ledger.Result(r.Task)
	if err != nil {
		return nil, err
	}
	if ok {
		before[r.Task] = accepted
	}
	switch {
	case r.IsOwn():
	case c.ledger.IsQuarantined(r.Key):
		return errQuarantined, nil
	case c.trust.Redundancy > 1 && !r.Admitted:
		return errUnadmitted, nil
	}
	hash := accepted.Hash
	r.Attempt = 1
	if t := c.window.tasks[r.Task]; t != nil {
		hash, r.Attempt = t.hash, max(t.attempt, 1)
	} else if !ok {
		return errNotIssued, nil
	}
	if r.Hash != hash {
		return errHashMismatch, nil
	}
	return nil, nil
}

// applyVerdicts updates the window and the figures with the ledger's verdicts, where
// accepted holds the tasks' earlier results. It returns the tasks whose disputes changed.
func (c *collector) applyVerdicts(results []taskDelivery, verdicts []ledger.Verdict, accepted map[uint64]queens.Result) ([]uint64, error) {
	var changed []uint64
	for i := range results {
		d := &results[i]
		r := &d.result
		c.counters.judged(verdicts[i])
		switch verdicts[i] {
		case ledger.Accepted, ledger.Confirmed:
			if verdicts[i] == ledger.Accepted {
				c.add(r)
				accepted[r.Task] = *r
			}
			c.searched(r)
			if verdicts[i] == ledger.Confirmed && c.window.tasks[r.Task] == nil {
				c.duplicates++ // nobody asked for it
			}
			if c.disputes[r.Task] != nil {
				changed = append(changed, r.Task)
			}
		case ledger.Duplicate:
			c.duplicates++
			c.window.repeated(r.Task, d.chunk)
		case ledger.Refused:
		case ledger.Conflict, ledger.Settled:
			changed = append(changed, r.Task)
			now, _, err := c.ledger.Result(r.Task)
			if err != nil {
				return nil, err
			}
			before := accepted[r.Task]
			c.remove(&before)
			c.add(&now)
			accepted[r.Task] = now
		}
		c.settle(d, verdicts[i])
	}
	return changed, nil
}

// searched notes how long a worker took for a task.
func (c *collector) searched(r *queens.Result) {
	if r.IsOwn() {
		return
	}
	c.window.guide.observe(r.Worker, c.window.share(r.Task), r.Elapsed)
	if c.cfg.OnSearch != nil {
		c.cfg.OnSearch(r.Elapsed)
	}
	c.cfg.Roster.ObserveResult(r.Key, r.Worker, 8/float64(c.weight(r))*float64(r.Count), r.Elapsed)
}

// settle takes a task out of flight if enough voters agree on it, after a result; otherwise its
// chunk is published again once all of it is counted.
func (c *collector) settle(d *taskDelivery, verdict ledger.Verdict) {
	id := d.result.Task
	agrees, t := c.note(id), c.window.tasks[id]
	if t == nil || t.disputed || verdict == ledger.Conflict {
		return
	}
	if verdict == ledger.Accepted {
		t.need = max(t.need, d.need)
	}
	if c.trust.isChecked(id, t.need) {
		c.window.accepted(id, d.result.Elapsed, d.chunk)
		return
	}
	c.window.longest = max(c.window.longest, d.result.Elapsed)
	c.window.setAgreed(t, agrees)
	c.window.counted(id, d.chunk, verdict != ledger.Duplicate)
}

// updateDisputes logs the disputes of these tasks, and returns those to count again.
func (c *collector) updateDisputes(tasks []uint64) (disputed []uint64) {
	slices.Sort(tasks)
	for _, id := range slices.Compact(tasks) {
		d, _ := c.ledger.Dispute(id)
		wasOpen := c.disputes[id] != nil
		if !c.isOpen(&d) {
			c.judged = append(c.judged, id)
		}
		switch {
		case c.isOpen(&d):
			c.disputes[id] = &d
			c.cfg.Log.Error().Uint64("task", id).Msg("conflict: " + audit.DescribeDispute(&d) + "; it is counted again")
			disputed = append(disputed, id)
		case wasOpen:
			delete(c.disputes, id)
			switch {
			case !c.note(id):
				c.window.undisputed(id, slices.Concat(d.Votes, d.Voided)[0].Hash)
			case c.trust.SpotCheck > 0 && !c.trust.isChecked(id, c.trust.Redundancy+1): // the others are void
				c.window.dropCheck(id)
			default:
				c.window.accepted(id, 0, 0)
			}
			c.cfg.Log.Warn().Uint64("task", id).Msg("conflict settled: " + audit.DescribeDispute(&d))
		default:
			c.cfg.Log.Error().Uint64("task", id).Msg("conflict, outvoted: " + audit.DescribeDispute(&d))
		}
	}
	return disputed
}

// checkKnownTotal returns an error as soon as the accepted results exceed the published
// total, and no other voter is going to say whether they are right, nor is a key to be quarantined.
func (c *collector) checkKnownTotal() error {
	if c.cfg.Known == nil || len(c.disputes) > 0 || len(c.judged) > 0 || c.window.checks > 0 || c.agreedLen < c.ledger.Len() || c.ledger.IsVoiding() {
		return nil
	}
	if sum := c.sums.Partial(); sum.Cmp(c.cfg.Known) > 0 {
		return fmt.Errorf("%w: %d of %d tasks sum to %d, more than the published total, %d",
			queens.ErrContradiction, c.ledger.Len(), c.manifest.Tasks, sum, c.cfg.Known)
	}
	return nil
}
