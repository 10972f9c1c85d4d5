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
	Run               string            `json:"run"`              // name of the run
	N                 int               `json:"n"`                // side of the board
	Placed            []queens.Square   `json:"placed,omitempty"` // squares of the queens placed beforehand, each [row,column]
	Verified          bool              `json:"verified"`         // the run is complete and nothing contradicts
	Total             *queens.Decimal   `json:"total"`            // number of solutions; null unless "verified", or "stopped" without a contradiction
	Known             queens.Comparison `json:"known"`            // how the total compares with the published one
	Done              uint64            `json:"done"`             // tasks that are done
	Tasks             uint64            `json:"tasks"`            // all tasks
	Dropped           int               `json:"dropped"`          // damaged results, which are left out
	Stopped           bool              `json:"stopped"`          // a signal ended the command early
	Whole             string            `json:"whole,omitempty"`  // how the whole board was counted again: a symmetry, or "mirror-image"
	Seconds           float64           `json:"seconds"`          // time that this command took
	Recounts                            // of the sample
	*queens.Confirmed                   // by the workers that counted, nil without a total: the recount adds nothing to it
}

// Verify computes the total of the ledger at path, counts a sample of its tasks again, and all of a small board. Without a
// total it still counts the sample, because that may tell which count is wrong. The error is that of the first step that
// fails, or of two: it wraps [queens.ErrIncomplete], [queens.ErrContradiction] or the cause of ctx's end, and what was found
// until then is valid; any other error says why nothing is found.
func Verify(ctx context.Context, path string, sample Sample) (Verification, error) {
	begun := time.Now()
	s, notes, err := ledger.Load(path)
	if err != nil {
		return Verification{}, err
	}
	m := &s.Header().Manifest
	v := Verification{Run: s.Header().Run, N: m.N, Placed: m.Placed, Done: s.NumberDone(), Tasks: m.Tasks, Dropped: len(notes.Dropped)}
	found, noTotal := total(ctx, path, s)
	if noTotal == nil && s.Ended() != queens.Complete {
		found, noTotal = nil, fmt.Errorf("%w: all tasks of run %s are done, but its ledger does not say that it is complete: resume it", queens.ErrIncomplete, v.Run)
	}
	if noTotal != nil && !errors.Is(noTotal, queens.ErrIncomplete) && !errors.Is(noTotal, queens.ErrContradiction) {
		return v, noTotal
	}
	if v.Done > 0 {
		v.Recounts, err = recount(ctx, s, sample)
	}
	if err == nil && noTotal == nil {
		v.Whole, err = recountAll(ctx, m, found, sample.Threads)
	}
	if err != nil && noTotal != nil {
		err = fmt.Errorf("%w; %w", noTotal, err)
	} else if noTotal != nil {
		err = noTotal
	}
	v.Verified, v.Stopped = err == nil, ctx.Err() != nil
	v.Known, v.Seconds = queens.Compare(m.N, m.Placed, found), time.Since(begun).Seconds()
	if noTotal == nil && !errors.Is(err, queens.ErrContradiction) && (v.Verified || v.Stopped) {
		c := s.Confirmation(found)
		v.Total, v.Confirmed = (*queens.Decimal)(found), &queens.Confirmed{Level: c.Level(), By: c}
	}
	return v, err
}

const (
	// maxRecountN is the greatest side of a board that is counted again as a whole: that takes only seconds.
	maxRecountN = 16
	// mirrorImage is how a board with placed queens is counted again.
	mirrorImage = "mirror-image"
)

// recountAll counts a small board again by another symmetry than that of the run, and says how. It mirrors queens placed
// beforehand left to right. The error wraps [queens.ErrContradiction] if the totals differ.
func recountAll(ctx context.Context, m *queens.Manifest, total *big.Int, threads int) (string, error) {
	if m.N > maxRecountN {
		return "", nil
	}
	job := count.Job{N: m.N, Symmetry: queens.Mirror, Kernel: kernel.Available()[0], Threads: threads}
	if m.Symmetry == queens.Mirror {
		job.Symmetry = queens.Full
	}
	how := string(job.Symmetry)
	if len(m.Placed) > 0 {
		how, job.Symmetry = mirrorImage, queens.None
		for _, square := range m.Placed {
			job.Placed = append(job.Placed, square.Mirrored(m.N))
		}
	}
	again, err := count.Run(ctx, job)
	if err == nil && again.Cmp(total) != 0 {
		err = fmt.Errorf("%w: the ledger's total is %d, counted again by symmetry %s it is %d", queens.ErrContradiction, total, how, again)
	}
	return how, err
}
