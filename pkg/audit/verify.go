package audit

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"time"

	"nqueens/pkg/count"
	"nqueens/pkg/kernel"
	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
)

// Verification is what [Verify] finds.
type Verification struct {
	Run string `json:"run"` // name of the run
	N   int    `json:"n"`   // side of the board
	// squares of the queens placed beforehand, each [row,column]
	Placed []queens.Square `json:"placed,omitempty"`
	// the run is complete and nothing contradicts it
	Verified bool `json:"verified"`
	// null unless "verified", or "stopped" and not contradicted
	Total *queens.Decimal `json:"total"`
	// how the total compares with the published one
	Known queens.Comparison `json:"known"`
	Done  uint64            `json:"done"`  // tasks that are done
	Tasks uint64            `json:"tasks"` // all tasks
	// damaged results and marks, which are left out
	Dropped int  `json:"dropped"`
	Stopped bool `json:"stopped"` // a signal ended the command early
	// symmetry of a second count of the board by prefixes, or "mirror-image"
	Whole    string  `json:"whole,omitempty"`
	Seconds  float64 `json:"seconds"` // time that this command took
	Recounts         // of the sample
	// by the ledger, and by recounts with the other method; nil without a total
	*queens.Confirmed
}

// ErrOneMethod says that the tasks of a run can be counted by one method only.
var ErrOneMethod = errors.New("tasks of the method " + string(queens.Prefixes) +
	" can be counted by no other method: " +
	"count the board again with --method " + string(queens.Halves) + ", and compare the totals")

// Verify computes the total of the ledger at path, counts a sample of its tasks again, and counts a
// small board again as a whole. If the run is incomplete or contradicted, Verify still counts the
// sample, which may show which count is wrong. With an error it also returns what it has found; if
// [ledger.Load] fails, that is nothing.
func Verify(ctx context.Context, path string, sample Sample) (Verification, error) {
	begun := time.Now()
	defer frugal()()
	s, notes, err := ledger.Load(path)
	if err != nil {
		return Verification{}, err
	}
	m := &s.Header().Manifest
	if sample.Other && m.Method != queens.Halves {
		return Verification{}, ErrOneMethod
	}
	v := Verification{
		Run: s.Header().Run, N: m.N, Placed: m.Placed, Done: s.NumberDone(), Tasks: m.Tasks,
		Dropped: len(notes.Dropped),
	}
	found, noTotal := total(ctx, path, s)
	if noTotal == nil && s.Ended() != queens.Complete {
		found = nil
		noTotal = fmt.Errorf("%w: all tasks are done, but run %s was not completed: resume it",
			queens.ErrIncomplete, v.Run)
	}
	if noTotal == nil || errors.Is(noTotal, queens.ErrIncomplete) ||
		errors.Is(noTotal, queens.ErrContradiction) {
		v.Recounts, err = recount(ctx, s, sample)
	}
	if err == nil && noTotal == nil {
		v.Whole, err = recountAll(ctx, m, found, sample.Threads)
	}
	err = errors.Join(noTotal, err)
	v.Verified, v.Stopped = err == nil, ctx.Err() != nil
	v.Known = queens.Compare(m.N, m.Placed, found)
	v.Seconds = time.Since(begun).Seconds()
	if noTotal == nil && (v.Verified || v.Stopped && !errors.Is(err, queens.ErrContradiction)) {
		c := s.Confirmation(found)
		if sample.Other {
			c.Method = v.Recounted - v.Differing
		}
		v.Total, v.Confirmed = (*queens.Decimal)(found), &queens.Confirmed{Level: c.Level(), By: c}
	}
	return v, err
}

// maxRecountN is the greatest side of a board that is counted again as a whole, which takes
// seconds.
const maxRecountN = 16

// recountAll counts a small board again by prefixes, by another symmetry than the run, and returns
// that symmetry. If queens were placed beforehand, it counts the mirror image of the board, and
// returns "mirror-image". It returns "" for a large board, and with an error, which wraps
// [queens.ErrContradiction] if the totals differ.
func recountAll(
	ctx context.Context, m *queens.Manifest, total *big.Int, threads int,
) (string, error) {
	if m.N > maxRecountN {
		return "", nil
	}
	job := count.Job{
		Method: queens.Prefixes, N: m.N, Symmetry: queens.Mirror, Kernel: kernel.Available()[0],
		Threads: threads,
	}
	if m.Symmetry == queens.Mirror || m.Method == queens.Halves {
		job.Symmetry = queens.Full
	}
	how := string(job.Symmetry)
	if len(m.Placed) > 0 {
		how, job.Symmetry = "mirror-image", queens.None
		for _, square := range m.Placed {
			job.Placed = append(job.Placed, square.Mirrored(m.N))
		}
	}
	switch again, err := count.Run(ctx, job); {
	case err != nil:
		return "", err
	case again.Cmp(total) != 0:
		return "", fmt.Errorf("%w: the ledger's total is %d, by symmetry %s it is %d",
			queens.ErrContradiction, total, how, again)
	}
	return how, nil
}
