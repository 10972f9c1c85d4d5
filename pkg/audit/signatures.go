package audit

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"nqueens/pkg/ledger"
	"nqueens/pkg/parallel"
	"nqueens/pkg/run"
)

// Signatures are what [CheckSignatures] has checked.
type Signatures struct {
	// statements of workers whose signatures are right, each of the counts of a chunk
	Statements uint64 `json:"statements"`
	// counts that agree with these statements: accepted ones, and others of the same tasks
	Signed uint64 `json:"signed"`
}

// CheckSignatures checks all that workers signed in a ledger: each statement is signed by its key and
// is of this run and its manifest, and each result says what its statement says. The coordinator signs none
// of its own results. The error wraps [run.ErrContradiction] if a result is not signed, or says
// something else; it is a [ledger.DamagedError], or the cause of ctx's end.
func CheckSignatures(ctx context.Context, l *ledger.Ledger) (all Signatures, err error) {
	note := func(some Signatures) error {
		all.Statements += some.Statements
		all.Signed += some.Signed
		return nil
	}
	err = parallel.InOrder(ctx, rangesOfStatements(l.Statements()), func(ctx context.Context, r idRange) (Signatures, error) {
		return verifyStatements(ctx, l, r)
	}, note)
	if err != nil {
		return all, err
	}
	err = parallel.InOrder(ctx, ranges(l.Header().Manifest.Tasks), func(ctx context.Context, ids idRange) (Signatures, error) {
		return checkResults(ctx, l, ids)
	}, note)
	if err != nil {
		return all, err
	}
	c := newStatements(l)
	for _, d := range l.Disputes() {
		for _, votes := range [][]run.Result{d.Votes, d.Revoked} {
			for i := range votes {
				if err := c.check(&votes[i]); err != nil {
					return all, err
				}
			}
		}
	}
	return all, note(c.found)
}

// rangeStatements is the number of statements that a core verifies at a time: 100 ms or so.
const rangeStatements = 1 << 11

// rangesOfStatements divides the statements 1 to n.
func rangesOfStatements(n uint64) iter.Seq[idRange] {
	return func(yield func(idRange) bool) {
		for first := uint64(1); first <= n; first += rangeStatements {
			if !yield(idRange{first, min(first+rangeStatements, n+1)}) {
				return
			}
		}
	}
}

// verifyStatements verifies a range of statements.
func verifyStatements(ctx context.Context, l *ledger.Ledger, numbers idRange) (found Signatures, err error) {
	for number := numbers.first; number < numbers.end; number++ {
		if ctx.Err() != nil {
			return found, context.Cause(ctx)
		}
		if err := l.VerifyStatement(number); err != nil {
			return found, contradiction(err)
		}
		found.Statements++
	}
	return found, nil
}

// checkResults checks the accepted results of a range of tasks, and their confirmations. Disputes
// have none.
func checkResults(ctx context.Context, l *ledger.Ledger, ids idRange) (Signatures, error) {
	c := newStatements(l)
	for r, err := range l.Range(ids.first, ids.end) {
		switch {
		case err != nil:
			return c.found, err
		case ctx.Err() != nil:
			return c.found, context.Cause(ctx)
		}
		supporters := []run.Result{r}
		if l.Dispute(r.Task) == nil && l.HasConfirmations(r.Task) {
			if supporters, err = l.Supporters(r.Task); err != nil {
				return c.found, err
			}
		}
		for i := range supporters {
			if err := c.check(&supporters[i]); err != nil {
				return c.found, err
			}
		}
	}
	return c.found, nil
}

// statements are some statements, whose signatures are checked elsewhere.
type statements struct {
	ledger *ledger.Ledger
	parsed map[uint64]*run.ChunkResult
	found  Signatures
}

func newStatements(l *ledger.Ledger) *statements {
	return &statements{ledger: l, parsed: make(map[uint64]*run.ChunkResult)}
}

// check returns an error unless a result is what its statement says, or is the coordinator's own.
func (s *statements) check(r *run.Result) error {
	if r.IsOwn() {
		return nil
	}
	if r.StatementID == 0 {
		return contradiction(fmt.Errorf("the result of task %d by %s is not signed", r.Task, r.Worker))
	}
	statement, err := s.of(r.StatementID)
	if err != nil {
		return contradiction(err)
	}
	i := r.Task - statement.First
	if r.Task < statement.First || i >= uint64(len(statement.Counts)) {
		return contradiction(fmt.Errorf("the result of task %d by %s names statement %d, which has no such task", r.Task, r.Worker, r.StatementID))
	}
	signed := statement.Result(int(i), r.Attempt)
	signed.Sealed, signed.Admitted, signed.ByToken, signed.StatementID = nil, r.Admitted, r.ByToken, r.StatementID
	if signed != *r {
		return contradiction(fmt.Errorf("the result of task %d is not what its worker signed: %d by %s (%s, key %s), and signed is %d by %s (%s, key %s)",
			r.Task, r.Count, r.Worker, r.Kernel, r.Key, signed.Count, signed.Worker, signed.Kernel, signed.Key))
	}
	s.found.Signed++
	return nil
}

// maxParsed bounds the statements in memory. A range of tasks rarely has more.
const maxParsed = 1 << 10

// of returns what a statement says.
func (s *statements) of(id uint64) (*run.ChunkResult, error) {
	if r, ok := s.parsed[id]; ok {
		return r, nil
	}
	sealed, err := s.ledger.Statement(id)
	if err != nil {
		return nil, err
	}
	r, err := run.ParseStatement(sealed.Statement)
	if err != nil {
		return nil, fmt.Errorf("statement %d: %w", id, err)
	}
	if len(s.parsed) >= maxParsed {
		clear(s.parsed)
	}
	r.Sealed = &run.Sealed{Key: sealed.Key}
	s.parsed[id] = &r
	return &r, nil
}

// contradiction returns an error that wraps [run.ErrContradiction], unless the file is damaged.
func contradiction(err error) error {
	if errors.As(err, new(*ledger.DamagedError)) {
		return err
	}
	return fmt.Errorf("%w: %w", run.ErrContradiction, err)
}
