package coordinator

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/audit"
	"nqueens/pkg/ledger"
	"nqueens/pkg/progress"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/split"
	"nqueens/pkg/symmetry"
)

// collector enters results into the ledger, after checking that each counted the task
// that it names, and watches what comes together.
type collector struct {
	manifest queens.Manifest
	known    *big.Int
	ledger   *ledger.Ledger
	window   *window
	roster   *progress.Roster
	log      zerolog.Logger

	sums          symmetry.Sums // of what is accepted: for progress and alarm, never the total
	shares        []float64     // of the work, that a task of each class has
	work          float64       // share of what is accepted
	coreTime      time.Duration // of what is accepted
	workers       map[string]struct{}
	disputes      map[uint64]*ledger.Dispute // those that are not settled
	lastRead      run.StreamPosition         // of the last result that came
	duplicates    uint64
	loggedReasons map[error]struct{} // of refusals, logged once each
	warnedFull    bool               // that there was no room for early results
}

func newCollector(cfg *Config, l *ledger.Ledger, w *window) *collector {
	m := l.Header().Manifest
	return &collector{
		manifest:      m,
		known:         cfg.Known,
		ledger:        l,
		window:        w,
		roster:        cfg.Roster,
		log:           cfg.Log,
		shares:        split.Shares(&m),
		workers:       make(map[string]struct{}),
		lastRead:      l.Position(),
		loggedReasons: make(map[error]struct{}),
	}
}

// load goes through what the ledger holds already.
func (b *collector) load() error {
	for r, err := range b.ledger.All() {
		if err != nil {
			return err
		}
		b.add(&r)
	}
	b.loadOpenDisputes()
	return b.checkKnownTotal()
}

func (b *collector) add(r *queens.Result) {
	class := b.manifest.ClassOf(r.Task)
	b.sums.Add(b.manifest.Classes[class].K, r.Count)
	b.work += b.shares[class]
	b.coreTime += r.Elapsed
	b.workers[r.Worker] = struct{}{}
}

// updateRate tells of a result who counted it, for people to see.
func (b *collector) updateRate(r *queens.Result) {
	weight := 8 / float64(b.manifest.Classes[b.manifest.ClassOf(r.Task)].K)
	b.roster.ObserveResult(r.Worker, weight*float64(r.Count), r.Elapsed)
}

// loadOpenDisputes notes which disputes are not settled.
func (b *collector) loadOpenDisputes() {
	b.disputes = make(map[uint64]*ledger.Dispute)
	for _, d := range b.ledger.Disputes() {
		if !d.Settled {
			b.disputes[d.Task] = &d
		}
	}
}

// runToTotal reports whether every task has an accepted result that nothing contradicts.
func (b *collector) complete() bool {
	return b.ledger.Len() == b.manifest.Tasks && len(b.disputes) == 0
}

// record takes a batch of results. It returns the tasks whose results are to be checked
// or settled, for which the tasks are to be found. An error ends the run.
func (b *collector) record(batch []delivery) (wanted []uint64, err error) {
	var fitting []queens.Result
	var refused []ledger.Rejection
	for _, a := range batch {
		reason, err := b.rejectReason(&a.result)
		switch {
		case err != nil:
			return nil, err
		case errors.Is(reason, errNotIssued):
			if b.buffer(a) {
				wanted = append(wanted, a.result.Task)
			}
		case reason != nil:
			b.logRejected(&a.result, reason)
			refused = append(refused, ledger.Rejection{Result: a.result, Reason: reason.Error()})
		default:
			fitting = append(fitting, a.result)
		}
	}
	before, err := b.acceptedBefore(fitting)
	if err != nil {
		return nil, err
	}
	at := b.ledger.Position()
	if b.window.pending.count == 0 {
		at = b.lastRead // else those held would be lost with this process
	}
	verdicts, err := b.ledger.Accept(fitting, refused, at)
	if err != nil {
		return nil, err
	}
	disputed, err := b.applyVerdicts(fitting, verdicts, before)
	if err != nil {
		return nil, err
	}
	return append(wanted, disputed...), b.checkKnownTotal()
}

// acceptedBefore returns what the ledger has accepted of the tasks of these results.
func (b *collector) acceptedBefore(results []queens.Result) (map[uint64]queens.Result, error) {
	have := make(map[uint64]queens.Result)
	for i := range results {
		r, ok, err := b.ledger.Result(results[i].Task)
		if err != nil {
			return nil, err
		}
		if ok {
			have[r.Task] = r
		}
	}
	return have, nil
}

// applyVerdicts acts on the verdicts on results, of whose tasks some had been accepted before.
// It returns the tasks that are to be counted again.
func (b *collector) applyVerdicts(results []queens.Result, verdicts []ledger.Verdict, accepted map[uint64]queens.Result) ([]uint64, error) {
	var conflicts []uint64
	for i := range results {
		r := &results[i]
		switch verdicts[i] {
		case ledger.Accepted:
			b.window.accepted(r.Task, r.Elapsed)
			b.add(r)
			b.updateRate(r)
			accepted[r.Task] = *r
		case ledger.Duplicate:
			b.duplicates++
		case ledger.Conflict:
			conflicts = append(conflicts, r.Task)
		case ledger.Settled:
			conflicts = append(conflicts, r.Task)
			now, _, err := b.ledger.Result(r.Task)
			if err != nil {
				return nil, err
			}
			k := b.manifest.Classes[b.manifest.ClassOf(r.Task)].K
			b.sums.Replace(k, accepted[r.Task].Count, now.Count)
			accepted[r.Task] = now
		}
	}
	if len(conflicts) == 0 {
		return nil, nil
	}
	slices.Sort(conflicts)
	before := b.disputes
	b.loadOpenDisputes()
	var disputed []uint64
	for _, d := range b.ledger.Disputes() {
		if _, now := slices.BinarySearch(conflicts, d.Task); !now {
			continue
		}
		switch {
		case !d.Settled:
			b.log.Error().Uint64("task", d.Task).Msg("conflict: " + audit.DescribeDispute(&d) + "; it is given to others to count")
			disputed = append(disputed, d.Task)
		case before[d.Task] != nil:
			b.window.accepted(d.Task, 0)
			b.log.Warn().Uint64("task", d.Task).Msg("conflict settled: " + audit.DescribeDispute(&d))
		default:
			b.log.Error().Uint64("task", d.Task).Msg("conflict, outvoted: " + audit.DescribeDispute(&d))
		}
	}
	return disputed, nil
}

// Why a result is refused, or not entered yet.
var (
	errUnknownTask  = errors.New("the run has no such task")
	errHashMismatch = errors.New("its hash is not that of the task: something else was counted")
	errNotIssued    = errors.New("the task was not given out yet")
)

// rejectReason returns the reason why a result can't be entered, or nil.
func (b *collector) rejectReason(r *queens.Result) (reason, err error) {
	if r.Task >= b.manifest.Tasks {
		return errUnknownTask, nil
	}
	hash, out := b.window.expected(r.Task)
	if !out {
		accepted, ok, err := b.ledger.Result(r.Task)
		if err != nil {
			return nil, err
		}
		if !ok {
			return errNotIssued, nil
		}
		hash = accepted.Hash
	}
	if r.Hash != hash {
		return errHashMismatch, nil
	}
	return nil, nil
}

// renewLoop keeps a result that came before its task was drawn, and reports whether it could.
func (b *collector) buffer(a delivery) bool {
	if b.window.pending.add(a) {
		return true
	}
	if !b.warnedFull {
		b.warnedFull = true
		b.log.Warn().Int("held", maxPending).Msg("results came for more tasks than can be held until those are made; the rest is counted again")
	}
	return false
}

func (b *collector) logRejected(r *queens.Result, reason error) {
	if _, said := b.loggedReasons[reason]; said {
		return
	}
	b.loggedReasons[reason] = struct{}{}
	b.log.Warn().Err(reason).Uint64("task", r.Task).Str("worker", r.Worker).Str("kernel", r.Kernel).
		Msg("refused a result; more of its kind are kept as evidence, not logged")
}

// checkKnownTotal returns an error as soon as what is accepted exceeds the known total.
func (b *collector) checkKnownTotal() error {
	if b.known == nil || len(b.disputes) > 0 {
		return nil
	}
	if sum := b.sums.Partial(); sum.Cmp(b.known) > 0 {
		return fmt.Errorf("%w: %d of %d tasks sum to %d already, the known total is %d",
			queens.ErrContradiction, b.ledger.Len(), b.manifest.Tasks, sum, b.known)
	}
	return nil
}
