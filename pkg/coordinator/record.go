package coordinator

import (
	"errors"
	"fmt"
	"time"

	"nqueens/pkg/coordinator/agreement"
	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/split"
)

// delivery is the result of a chunk with its position in the stream of results, or the news
// that every result that the server had at a time was delivered.
type delivery struct {
	result   queens.ChunkResult
	position run.StreamPosition
	wrong    []bool // by index of result.Counts: something else than the task was counted; nil if nowhere
	caughtUp time.Time
}

// wrongHashes says of which tasks a result has another hash than the split gives, by index; nil if of none.
func wrongHashes(index *split.Index, r *queens.ChunkResult) (wrong []bool) {
	for i, task := range index.Range(r.First, len(r.Counts)) {
		if task.Hash() != r.Counts[i].Hash {
			if wrong == nil {
				wrong = make([]bool, len(r.Counts))
			}
			wrong[i] = true
		}
	}
	return wrong
}

// Reasons why a result is not recorded.
var (
	errUnknownTask   = errors.New("the run has no such task")
	errHashMismatch  = errors.New("its hash is not that of the task: something else was counted")
	errOtherManifest = errors.New("it was counted for another manifest than the run's")
	errQuarantined   = errors.New("its key is quarantined: it counted wrong")
	errUnadmitted    = errors.New("its key is not admitted, and the run takes counts of admitted keys only")
)

// report is the result of a chunk, as far as it is recorded.
type report struct {
	*queens.ChunkResult
	early    bool  // it is one of the first of its key
	refusal  error // why nothing is accepted from its key
	rejected int   // results of its tasks that are not recorded
	recorded int   // results that are
}

// deliver records results that come from the server. The first time that all are there, it has tasks published.
func (c *core) deliver(now time.Time, batch []delivery) error {
	b := acceptance{core: c, results: make([]queens.Result, 0, len(batch))}
	for i := range batch {
		d := &batch[i]
		if !d.caughtUp.IsZero() {
			c.caughtUp = d.caughtUp
			continue
		}
		c.lastRead = d.position
		c.figures.chunkResults++
		b.add(d)
	}
	if err := b.accept(now); err != nil {
		return err
	}
	if !c.caughtUp.IsZero() && !c.reconciled {
		c.reconcile()
	}
	return nil
}

// recordOwn records a count of the coordinator itself.
func (c *core) recordOwn(now time.Time, task uint64, worker string, count queens.TaskCount) error {
	b := acceptance{core: c}
	b.add(&delivery{result: queens.ChunkResult{
		Run: c.run, Manifest: c.manifest.Hash, First: task, Worker: worker, Counts: []queens.TaskCount{count},
	}})
	if err := b.accept(now); err != nil {
		return err
	}
	if worker == queens.Referee {
		c.acquit(now)
	}
	return nil
}

// acceptance is results that are recorded in one transaction.
type acceptance struct {
	*core
	reports  []report
	results  []queens.Result
	rejected []ledger.Rejection
}

// add adds the results of the tasks of a chunk.
func (b *acceptance) add(d *delivery) {
	r := report{ChunkResult: &d.result}
	var admitted, byToken bool
	if s := d.result.Sealed; s != nil {
		admitted, byToken = b.trust.admits(s.Key, d.result.Admission)
		r.refusal = b.trust.refusal(s.Key, admitted)
		r.early = !b.trust.own[s.Key] && b.ledger.Chunks(s.Key) < agreement.EarlyChunks
	}
	for i := range d.result.Counts {
		one := d.result.Result(i, 1)
		one.Admitted, one.ByToken = admitted, byToken
		reason := r.refusal
		switch {
		case one.Task >= b.manifest.Tasks:
			reason = errUnknownTask
		case d.result.Manifest != b.manifest.Hash:
			reason = errOtherManifest
		case len(d.wrong) > i && d.wrong[i]:
			reason = errHashMismatch
		}
		if reason == nil {
			one.Attempt = b.flight.Attempt(one.Task)
			b.results = append(b.results, one)
			r.recorded++
			continue
		}
		b.journal.refused(&one, reason, b.core)
		b.figures.rejected(reason)
		b.rejected = append(b.rejected, ledger.Rejection{Result: one, Reason: reason.Error()})
		r.rejected++
	}
	b.reports = append(b.reports, r)
}

// accept records all that was added, and takes up what the ledger makes of it. An error ends the run.
func (b *acceptance) accept(now time.Time) error {
	if len(b.reports) == 0 {
		return nil
	}
	begun := time.Now()
	verdicts, err := b.ledger.Accept(b.results, b.rejected, b.lastRead)
	b.figures.recording += time.Since(begun)
	if err != nil {
		return err
	}
	results := b.results
	for i := range b.reports {
		r := &b.reports[i]
		for k := range r.recorded {
			b.take(now, r, &results[k], verdicts[k])
		}
		results, verdicts = results[r.recorded:], verdicts[r.recorded:]
		switch {
		case r.Chunk == 0:
		case r.refusal != nil:
			b.flight.Returned(now, r.Chunk, r.First, 0)
		case r.rejected > 0: // its chunk is found missing later: nobody reports garbage as fast as others count
			b.flight.Answered(r.Chunk)
		default:
			b.flight.Returned(now, r.Chunk, r.First, len(r.Counts))
		}
		if err := b.carryOut(now); err != nil {
			return err
		}
	}
	return b.checkKnownTotal()
}

// take takes up the verdict of the ledger on a result.
func (b *acceptance) take(now time.Time, r *report, one *queens.Result, v ledger.Verdict) {
	count := agreement.Count{
		Result: one, First: v == ledger.Accepted, Gained: v != ledger.Duplicate && v != ledger.Refused,
		Conflict: v == ledger.Conflict || v == ledger.Settled,
		Early:    r.early, Standing: b.standing(one.Task), Dispute: b.disputeOf(one.Task),
	}
	b.figures.judged(v, b.agreement.State(one.Task) == agreement.Agreed)
	if !one.IsOwn() && (v == ledger.Accepted || v == ledger.Confirmed) {
		b.flight.Observe(now, one.Worker, one.Task, one.Elapsed)
		if b.cfg.OnSearch != nil {
			b.cfg.OnSearch(one.Elapsed)
		}
		k := b.manifest.Classes[b.manifest.ClassOf(one.Task)].K
		b.cfg.Roster.ObserveResult(one.Key, one.Worker, 8/float64(k)*float64(one.Count), one.Elapsed)
	}
	b.agreement.Counted(now, &count)
}

// reconcile notes that the results that the server had at the start are recorded. From now on
// tasks are published.
func (c *core) reconcile() {
	c.reconciled = true
	c.figures.restart(c)
	accepted := c.ledger.Len() - c.figures.resumed
	if c.figures.resumed > 0 || accepted > 0 {
		disputes, _ := c.agreement.Disputes()
		c.cfg.Log.Info().Uint64("in_ledger", c.figures.resumed).Uint64("accepted_from_server", accepted).
			Uint64("duplicates", c.figures.duplicates).Uint64("tasks", c.manifest.Tasks).Int("open_disputes", disputes).
			Msg("reconciled: publishing the remaining tasks")
	}
}

// checkKnownTotal returns an error as soon as the accepted results exceed the published total, and no other voter
// is going to say whether they are right, nor is a key to be quarantined.
func (c *core) checkKnownTotal() error {
	disputes, _ := c.agreement.Disputes()
	due, _ := c.agreement.Checks()
	if c.cfg.Known == nil || disputes > 0 || due > 0 || c.agreement.Done() < c.ledger.Len() || c.ledger.IsVoiding() {
		return nil
	}
	if sum := c.figures.solutions(); sum.Cmp(c.cfg.Known) > 0 {
		return fmt.Errorf("%w: %d of %d tasks sum to %d, more than the published total, %d",
			queens.ErrContradiction, c.ledger.Len(), c.manifest.Tasks, sum, c.cfg.Known)
	}
	return nil
}
