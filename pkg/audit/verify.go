package audit

import (
	"context"
	"errors"
	"fmt"
	"math/big"

	"nqueens/pkg/kernel"
	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/split"
	"nqueens/pkg/symmetry"
)

// CheckManifest returns nil if this program splits the run into the tasks of its manifest,
// by the classes that the board requires.
func CheckManifest(ctx context.Context, name string, m *queens.Manifest) error {
	err := CheckClasses(m)
	if err == nil {
		err = split.Check(ctx, m)
	}
	if err != nil {
		return fmt.Errorf("run %s: %w", name, err)
	}
	return nil
}

// EarlyContradictionError says that a run ended contradicted before all its tasks were
// counted. It wraps [run.ErrContradiction].
type EarlyContradictionError struct {
	Run      string
	Done     uint64 // Tasks with a count.
	Manifest queens.Manifest
}

// Error names the run and says how far it came.
func (e *EarlyContradictionError) Error() string {
	return fmt.Sprintf("%v: run %s was contradicted before it was complete, at %d of %d tasks",
		run.ErrContradiction, e.Run, e.Done, e.Manifest.Tasks)
}

// Unwrap returns [run.ErrContradiction].
func (e *EarlyContradictionError) Unwrap() error { return run.ErrContradiction }

// FinalTotal returns the [Total] of a run that has ended, compared with the published one.
// If the run ended contradicted before it was complete, the error is an
// [EarlyContradictionError]. A run that ended contradicted has no total, whatever its counts add up to.
func FinalTotal(ctx context.Context, l *ledger.Ledger) (*big.Int, error) {
	h := l.Header()
	total, err := Total(ctx, l, h.Manifest.KnownTotal())
	switch {
	case l.State() != run.Contradicted:
		return total, err
	case errors.Is(err, run.ErrIncomplete):
		return nil, &EarlyContradictionError{Run: h.Run, Done: l.Len(), Manifest: h.Manifest}
	case err == nil:
		return nil, fmt.Errorf("%w: run %s ended contradicted, although its counts add up to one total", run.ErrContradiction, h.Run)
	}
	return nil, err
}

// Verification is what [Verify] finds.
type Verification struct {
	Run      string          `json:"run"`              // name of the run
	N        int             `json:"n"`                // side of the board
	Placed   []queens.Square `json:"placed,omitempty"` // squares of the queens placed beforehand
	Verified bool            `json:"verified"`         // the run is complete and nothing contradicts
	// number of solutions; null unless "verified", or "stopped" without a contradiction
	Total *run.Decimal      `json:"total"`
	Known queens.Comparison `json:"known"` // how the total compares with the published one
	Done  uint64            `json:"done"`  // tasks with an accepted count
	Tasks uint64            `json:"tasks"` // all tasks
	Signatures
	Recounts
	Stopped bool `json:"stopped"` // a signal ended the command early
	// how the whole run was counted again: a symmetry, or "mirror-image"; absent if the board is too large
	Whole   string  `json:"whole,omitempty"`
	Seconds float64 `json:"seconds"` // time that this command took
	// By the workers that counted: the recount adds nothing to it.
	run.Confirmed

	Err error `json:"-"` // Why the run is not verified.
}

// IsContradicted reports whether something contradicts the ledger or its total.
func (v *Verification) IsContradicted() bool { return errors.Is(v.Err, run.ErrContradiction) }

// Verify checks all signatures of a ledger, computes its total, counts a sample of its tasks again, and all of a
// small board. Without a total it calls onNoTotal and still counts the sample, because that may tell which count is
// wrong. [Verification.Err] is the error of the first of these steps that fails, or of two. Verify returns it too if
// it is neither a contradiction nor that something is missing, nor the end of ctx: then nothing is found.
func Verify(ctx context.Context, l *ledger.Ledger, s Sample, onNoTotal func(error)) (Verification, error) {
	h := l.Header()
	m := &h.Manifest
	v := Verification{Run: h.Run, N: m.N, Placed: m.Placed, Done: l.Len(), Tasks: m.Tasks}
	total, err := v.verify(ctx, l, s, onNoTotal)
	v.Err, v.Verified = err, err == nil
	v.Stopped = ctx.Err() != nil && (v.IsContradicted() || errors.Is(err, context.Cause(ctx)))
	if err != nil && !v.Stopped && !v.IsContradicted() && !errors.Is(err, run.ErrIncomplete) {
		return v, err
	}
	v.Known = CompareKnown(l, total, err)
	if v.IsContradicted() || !v.Verified && !v.Stopped {
		total = nil
	}
	confirmation := l.Confirmation(total)
	v.Total, v.Confirmed = (*run.Decimal)(total), confirmation.Confirmed(total != nil)
	return v, nil
}

// verify returns the ledger's total, or nil, and what contradicts it.
func (v *Verification) verify(ctx context.Context, l *ledger.Ledger, s Sample, onNoTotal func(error)) (total *big.Int, err error) {
	v.Seed = s.Seed
	h := l.Header()
	if err := CheckManifest(ctx, v.Run, &h.Manifest); err != nil {
		return nil, err
	}
	if v.Signatures, err = CheckSignatures(ctx, l); err != nil {
		return nil, err
	}
	total, noTotal := FinalTotal(ctx, l)
	if noTotal != nil {
		if !errors.Is(noTotal, run.ErrIncomplete) && !errors.Is(noTotal, run.ErrContradiction) {
			return nil, noTotal
		}
		onNoTotal(noTotal)
	}
	v.Recounts, err = Recount(ctx, l, s)
	if err == nil && total != nil {
		v.Whole, err = recountAll(ctx, l, total, &s)
	}
	switch {
	case err == nil, errors.Is(noTotal, run.ErrContradiction) && ctx.Err() != nil && !errors.Is(err, run.ErrContradiction):
		err = noTotal // as Recount does, it leaves out that a signal has ended it
	case noTotal != nil:
		err = fmt.Errorf("%w; %w", noTotal, err)
	}
	return total, err
}

// recountAll counts the whole run again with the kernel that recounts its first task.
func recountAll(ctx context.Context, l *ledger.Ledger, total *big.Int, s *Sample) (string, error) {
	m := l.Header().Manifest
	first, _, err := l.Result(0)
	if err != nil {
		return "", err
	}
	k := kernel.Differing(first.Kernel)
	if s.Kernel != nil {
		k = *s.Kernel
	}
	return RecountAll(ctx, &m, total, k, s.Threads)
}

// CompareKnown returns how a run compares with the published total. ended is the error with which the
// run ended. A contradicted run without a total is a mismatch if its counts can't add up to the published
// total any more: their sum is larger, or all tasks are counted and it is smaller.
func CompareKnown(l *ledger.Ledger, total *big.Int, ended error) queens.Comparison {
	m := l.Header().Manifest
	known := m.KnownTotal()
	if known == nil || total == nil && !errors.Is(ended, run.ErrContradiction) {
		return queens.Unpublished
	}
	sum, all := total, true
	if total == nil {
		sums := symmetry.Sums(l.Figures().Solutions())
		sum, all = sums.Total(), l.Len() == m.Tasks
	}
	switch difference := sum.Cmp(known); {
	case difference == 0 && total != nil:
		return queens.Match
	case difference > 0 || difference < 0 && all:
		return queens.Mismatch
	}
	return queens.Unpublished
}
