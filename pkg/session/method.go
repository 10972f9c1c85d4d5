package session

import (
	"nqueens/pkg/halves"
	"nqueens/pkg/queens"
)

// halvesFrom has, for the name of a kernel of the method halves, the least side from which that
// method is faster than the method prefixes with the kernel of the same name, as measured on one core.
// No kernel is listed yet, because none was measured to the end.
var halvesFrom = map[string]int{}

// fastest returns the method that counts the job in the least time, as far as it can count the job.
func (j *Job) fastest(by halves.Kernel) queens.Method {
	from, measured := halvesFrom[by.Name]
	if measured && j.N >= from && j.byHalves() {
		return queens.Halves
	}
	return queens.Prefixes
}

// byHalves reports whether the method halves can count the job.
func (j *Job) byHalves() bool {
	return j.Symmetry == queens.Full && len(j.Placed) == 0 && j.Depth == 0
}
