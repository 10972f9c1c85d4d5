package audit

import (
	"context"
	"fmt"
	"math/big"

	"nqueens/pkg/count"
	"nqueens/pkg/kernel"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// maxRecountN is the largest side that RecountAll counts: that takes only seconds.
const maxRecountN = 16

// MirrorImage is how [RecountAll] counts a board with placed queens.
const MirrorImage = "mirror-image"

// RecountAll counts the whole board again by another symmetry than that of the run, and
// returns that symmetry. If queens were placed beforehand, it mirrors them left to right
// and returns [MirrorImage]. If the board is too large it returns "" and counts nothing.
// The error wraps [run.ErrContradiction] if the totals differ.
func RecountAll(ctx context.Context, m *queens.Manifest, total *big.Int, k kernel.Kernel, threads int) (string, error) {
	if m.N > maxRecountN {
		return "", nil
	}
	job := count.Job{N: m.N, Symmetry: queens.Mirror, Kernel: k, Threads: threads}
	if m.Symmetry == queens.Mirror {
		job.Symmetry = queens.Full
	}
	by, how := string(job.Symmetry), "by symmetry "+string(job.Symmetry)
	if len(m.Placed) > 0 {
		by, how = MirrorImage, "with the placed queens mirrored"
		job.Symmetry = queens.None
		for _, s := range m.Placed {
			job.Placed = append(job.Placed, s.Mirrored(m.N))
		}
	}
	recounted, err := count.Run(ctx, job)
	if err == nil && recounted.Cmp(total) != 0 {
		err = fmt.Errorf("%w: the ledger's total is %d, %s it is %d", run.ErrContradiction, total, how, recounted)
	}
	return by, err
}
