package session

import "nqueens/pkg/queens"

// halvesFrom has, for the name of a kernel, the least side that the method halves was measured to
// count faster than the method prefixes: see docs/benchmarks.md. A kernel that is missing was not
// measured.
var halvesFrom = map[string]int{"avx2": 21, "avx512": 22}

// fastest returns the method that counts the job in the least time with the named kernel.
func (j *Job) fastest(kernel string) queens.Method {
	from, measured := halvesFrom[kernel]
	if measured && j.N >= from && j.byHalves() {
		return queens.Halves
	}
	return queens.Prefixes
}

// byHalves reports whether the method halves can count the job.
func (j *Job) byHalves() bool {
	return j.Symmetry == queens.Full && len(j.Placed) == 0 && j.Depth == 0
}
