package coordinator

import (
	"errors"
	"fmt"
	"time"

	"nqueens/pkg/coordinator/agreement"
	"nqueens/pkg/ledger"
	"nqueens/pkg/run"
	"nqueens/pkg/split"
)

// delivery is the result of a chunk with its position in the stream of results, or the news
// that every result that the server had at a time was delivered.
type delivery struct {
	result   run.ChunkResult
	position run.StreamPosition
	wrong    bool // something else than one of the tasks was counted
	caughtUp time.Time
}

// hasWrongHash reports whether a result has another hash of a task than the split gives.
func hasWrongHash(index *split.Index, r *run.ChunkResult) bool {
	for i, task := range index.Range(r.First, len(r.Counts)) {
		if task.Hash() != r.Counts[i].Hash {
			return true
		}
	}
	return false
}

// Reasons why a result is not recorded.
var (
	errUnknownTask   = errors.New("the run has no such task")
	errHashMismatch  = errors.New("its hash is not that of the task: something else was counted")
	errOtherManifest = errors.New("it was counted for another manifest than the run's")
	errQuarantined   = errors.New("its key is quarantined: it counted wrong")
	errUnadmitted    = errors.New("its key is not admitted, and the run takes counts of admitted keys only")
)

// report is the result of a chunk.
type report struct {
	*run.ChunkResult
	early    bool  // it is one of the first of its key
	rejected error // why it is not recorded; nil if it is
}

// deliver records results that come from the server. The first time that all are there, it has tasks published.
func (c *core) deliver(now time.Time, batch []delivery) error {
	b := acceptance{core: c, results: make([]run.Result, 0, len(batch))}
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
		c.reconcile(now)
	}
	return nil
}

// recordOwn records a count of the coordinator itself.
func (c *core) recordOwn(now time.Time, task uint64, worker string, count run.TaskCount) error {
	b := acceptance{core: c}
	b.add(&delivery{result: run.ChunkResult{
		Run: c.run, Manifest: c.manifest.Hash, First: task, Worker: worker, Counts: []run.TaskCount{count},
	}})
	if err := b.accept(now); err != nil {
		return err
	}
	if worker == run.Referee {
		c.acquit(now)
	}
	return nil
}

// acceptance is results that are recorded in one transaction.
type acceptance struct {
	*core
	reports  []report
	results  []run.Result
	rejected uint64
}

// add adds the results of the tasks of a chunk, or none of them: the ledger stores a signed statement whole.
func (b *acceptance) add(d *delivery) {
	r := report{ChunkResult: &d.result}
	var admitted, byToken bool
	var refusal error // why nothing is accepted from its key
	if s := d.result.Sealed; s != nil {
		admitted, byToken = b.trust.admits(s.Key, d.result.Admission)
		refusal = b.trust.refusal(s.Key, admitted)
		r.early = !b.trust.own[s.Key] && b.ledger.Chunks(s.Key) < run.EarlyChunks
	}
	tasks := uint64(len(d.result.Counts))
	switch {
	case tasks > b.manifest.Tasks || d.result.First > b.manifest.Tasks-tasks:
		r.rejected = errUnknownTask
	case d.result.Manifest != b.manifest.Hash:
		r.rejected = errOtherManifest
	case d.wrong:
		r.rejected = errHashMismatch
	default:
		r.rejected = refusal
	}
	for i := range d.result.Counts {
		one := d.result.Result(i, 1)
		one.Admitted, one.ByToken = admitted, byToken
		if r.rejected != nil {
			b.journal.refused(&one, r.rejected, b.core)
			b.figures.rejected(r.rejected)
			b.rejected++
			continue
		}
		one.Attempt = b.flight.Attempt(one.Task)
		b.results = append(b.results, one)
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
		// The chunk of a result that is not recorded is found missing later: nobody reports garbage as fast as others
		// count, or names the chunks of others.
		if r.rejected == nil {
			for k := range r.Counts {
				b.take(now, r, &results[k], verdicts[k])
			}
			results, verdicts = results[len(r.Counts):], verdicts[len(r.Counts):]
			if r.Chunk != 0 {
				b.flight.Returned(now, r.Chunk, r.First, len(r.Counts))
			}
		}
		if err := b.carryOut(now); err != nil {
			return err
		}
	}
	return b.checkKnownTotal()
}

// take takes up the verdict of the ledger on a result.
func (b *acceptance) take(now time.Time, r *report, one *run.Result, v ledger.Verdict) {
	count := agreement.Count{
		Result: one, First: v == ledger.Accepted, Gained: v != ledger.Duplicate && v != ledger.Refused,
		Conflict: v == ledger.Conflict || v == ledger.Settled,
		Early:    r.early, Standing: b.ledger.Standing(one.Task), Dispute: b.ledger.Dispute(one.Task),
	}
	b.figures.judged(v, b.agreement.State(one.Task) == agreement.Agreed)
	if !one.IsOwn() && (v == ledger.Accepted || v == ledger.Confirmed) {
		b.flight.Observe(now, one.Task, one.Elapsed)
		if b.cfg.OnSearch != nil {
			b.cfg.OnSearch(one.Elapsed)
		}
		weight := b.manifest.Classes[b.manifest.ClassOf(one.Task)].Weight
		b.cfg.Roster.ObserveResult(one.Key, one.Worker, float64(weight)*float64(one.Count), one.Elapsed)
	}
	b.agreement.Counted(now, &count)
}

// reconcile notes that the results that the server had at the start are recorded. From now on
// tasks are published.
func (c *core) reconcile(now time.Time) {
	c.reconciled = true
	c.restart(now)
	accepted := c.ledger.Len() - c.figures.resumed
	if c.figures.resumed > 0 || accepted > 0 {
		disputes, _ := c.agreement.Disputes()
		c.cfg.Log.Info().Uint64("in_ledger", c.figures.resumed).Uint64("accepted_from_server", accepted).
			Uint64("duplicates", c.figures.results.Duplicate).Uint64("tasks", c.manifest.Tasks).Int("open_disputes", disputes).
			Msg("reconciled: publishing the remaining tasks")
	}
}

// checkKnownTotal returns an error as soon as the accepted results exceed the published total, and no other voter
// is going to say whether they are right, nor is a key to be quarantined.
func (c *core) checkKnownTotal() error {
	disputes, _ := c.agreement.Disputes()
	due, _ := c.agreement.Checks()
	if c.cfg.Known == nil || disputes > 0 || due > 0 || c.agreement.Done() < c.ledger.Len() || c.ledger.IsRevoking() {
		return nil
	}
	if sum := c.figures.solutions(); sum.Cmp(c.cfg.Known) > 0 {
		return fmt.Errorf("%w: %d of %d tasks sum to %d, more than the published total, %d",
			run.ErrContradiction, c.ledger.Len(), c.manifest.Tasks, sum, c.cfg.Known)
	}
	return nil
}
