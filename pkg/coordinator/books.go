package coordinator

import (
	"errors"
	"fmt"
	"math/big"
	"strings"

	"github.com/rs/zerolog"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/symmetry"
)

// books enters results into the ledger, after checking that each is of a task of
// the run that was really given out, and watches what comes together.
type books struct {
	manifest *queens.Manifest
	known    *big.Int
	ledger   *ledger.Ledger
	window   *window
	log      zerolog.Logger

	sums       symmetry.Sums // of what is accepted: for progress and alarm, never the total
	workers    map[string]struct{}
	duplicates uint64
	refused    uint64
	reasons    map[error]struct{} // of refusals, logged once each
	told       int                // disputes logged
}

func newBooks(cfg *Config, l *ledger.Ledger, w *window) *books {
	return &books{
		manifest: &cfg.Manifest,
		known:    cfg.Known,
		ledger:   l,
		window:   w,
		log:      cfg.Log,
		workers:  make(map[string]struct{}),
		reasons:  make(map[error]struct{}),
	}
}

// complete reports whether every task has an accepted result.
func (b *books) complete() bool {
	return b.ledger.Len() == b.manifest.Tasks
}

// enter takes a batch of results. An error ends the run.
func (b *books) enter(batch []queens.Result) error {
	fitting := batch[:0]
	for _, r := range batch {
		if reason := b.misfit(&r); reason != nil {
			b.refuse(&r, reason)
			continue
		}
		fitting = append(fitting, r)
	}
	verdicts, err := b.ledger.Accept(fitting)
	if err != nil {
		return err
	}
	for i, r := range fitting {
		switch verdicts[i] {
		case ledger.Accepted:
			b.window.accepted(r.Task)
			b.sums.Add(b.manifest.Classes[b.manifest.ClassOf(r.Task)].K, r.Count)
			b.workers[r.Worker] = struct{}{}
		case ledger.Duplicate:
			b.duplicates++
		case ledger.Conflict: // told below
		}
	}
	for disputes := b.ledger.Disputes(); b.told < len(disputes); b.told++ {
		b.log.Error().Msg("conflict: " + describe(&disputes[b.told]))
	}
	return b.alarm()
}

// Why a result is refused.
var (
	errUnknownTask  = errors.New("the run has no such task")
	errOtherTask    = errors.New("its hash is not that of the task: something else was counted")
	errNotPublished = errors.New("the task was never given out")
)

// misfit returns the reason why a result can't be one of the run's, or nil.
func (b *books) misfit(r *queens.Result) error {
	if r.Task >= b.manifest.Tasks {
		return errUnknownTask
	}
	hash, out := b.window.expected(r.Task)
	if !out {
		accepted, ok := b.ledger.Result(r.Task)
		if !ok {
			return errNotPublished
		}
		hash = accepted.Hash
	}
	if r.Hash != hash {
		return errOtherTask
	}
	return nil
}

func (b *books) refuse(r *queens.Result, reason error) {
	b.refused++
	if _, said := b.reasons[reason]; said {
		return
	}
	b.reasons[reason] = struct{}{}
	b.log.Warn().Err(reason).Uint64("task", r.Task).Str("worker", r.Worker).Str("kernel", r.Kernel).
		Msg("refused a result; more of its kind are counted, not logged")
}

// alarm returns an error as soon as what is accepted exceeds the known total.
func (b *books) alarm() error {
	if b.known == nil {
		return nil
	}
	if sum := b.sums.Floor(); sum.Cmp(b.known) > 0 {
		return fmt.Errorf("%w: %d of %d tasks sum to %d already, the known total is %d",
			queens.ErrContradiction, b.ledger.Len(), b.manifest.Tasks, sum, b.known)
	}
	return nil
}

// undisputed returns an error that names the tasks with contradicting results, if
// there are any.
func (b *books) undisputed() error {
	disputes := b.ledger.Disputes()
	if len(disputes) == 0 {
		return nil
	}
	lines := make([]string, len(disputes))
	for i := range disputes {
		lines[i] = describe(&disputes[i])
	}
	return fmt.Errorf("%w: no total while results contradict each other: %s", queens.ErrIncomplete, strings.Join(lines, "; "))
}

func describe(d *ledger.Dispute) string {
	return fmt.Sprintf("task %d was counted %d by %s (%s, attempt %d) and %d by %s (%s, attempt %d)",
		d.Accepted.Task, d.Accepted.Count, d.Accepted.Worker, d.Accepted.Kernel, d.Accepted.Attempt,
		d.Other.Count, d.Other.Worker, d.Other.Kernel, d.Other.Attempt)
}
