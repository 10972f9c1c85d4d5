package estimate

import (
	"context"
	"time"

	"nqueens/pkg/kernel"
	"nqueens/pkg/queens"
)

// searchProbes is the number of probes behind [Searches], which take some 20 ms.
const searchProbes = 1 << 16

// Searches estimates the time of all searches of a run, added up, on cores like those of this machine: most likely to
// within a quarter. It takes about two seconds on the given number of threads, less where the searches themselves
// take less. If ctx ends, it returns the cause.
func Searches(ctx context.Context, m *queens.Manifest, k kernel.Kernel, threads int) (time.Duration, error) {
	classes := make([]queens.Class, len(m.Classes))
	for i := range m.Classes {
		classes[i] = m.Classes[i].Class
	}
	trees, err := Probe(ctx, classes, searchProbes, 0, threads)
	if err != nil {
		return 0, err
	}
	cost, err := trees.Search(ctx, k, m.Classes, threads, processTime)
	const most = float64(1 << 62) // A run that long never ends.
	return time.Duration(min(cost.Seconds*float64(time.Second), most)), err
}
