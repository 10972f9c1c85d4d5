package session

import (
	"testing"

	"nqueens/pkg/queens"
)

// The method halves is chosen from the measured side on, with a kernel that was measured, and only
// if it can count the job.
func TestFastest(t *testing.T) {
	whole := func(n int) Job { return Job{N: n, Symmetry: queens.Full} }
	mirror, placed, deep := whole(24), whole(24), whole(24)
	mirror.Symmetry, deep.Depth = queens.Mirror, 3
	placed.Symmetry, placed.Placed = queens.None, []queens.Square{{}}
	for _, c := range []struct {
		job    Job
		kernel string
		want   queens.Method
	}{
		{whole(8), "avx2", queens.Prefixes}, {whole(20), "avx2", queens.Prefixes},
		{whole(21), "avx2", queens.Halves},
		{whole(21), "avx512", queens.Prefixes}, {whole(22), "avx512", queens.Halves},
		{whole(32), "avx2", queens.Halves}, {whole(24), "generic", queens.Prefixes},
		{whole(24), "", queens.Prefixes},
		{mirror, "avx2", queens.Prefixes}, {placed, "avx2", queens.Prefixes},
		{deep, "avx2", queens.Prefixes},
	} {
		if got := c.job.fastest(c.kernel); got != c.want {
			t.Errorf("%+v with %s: %s, want %s", c.job, c.kernel, got, c.want)
		}
	}
}
