package coordinator_test

import (
	"errors"
	"testing"

	"nqueens/pkg/run"
)

// A sum beyond the published total ends the run at once, one below it at the end.
func TestContradictionWithTheKnownTotal(t *testing.T) {
	t.Parallel()
	for name, wrong := range map[string]uint64{"beyond": 1 << 60, "below": 0} {
		t.Run(name, func(t *testing.T) {
			r := start(t, 6, nil)
			tasks := r.take(r.tasks())
			results := make([]*run.ChunkResult, len(tasks))
			changed := false
			for i, d := range tasks {
				results[i] = r.result(d, "w")
				if !changed && results[i].Counts[0].Count > 0 {
					results[i].Counts[0].Count, changed = wrong, true
					if wrong > 0 {
						r.publish(results[i]) // alone it must be enough
						break
					}
				}
			}
			if wrong == 0 {
				for _, result := range results {
					r.publish(result)
				}
			}
			got, err := r.end()
			if !errors.Is(err, run.ErrContradiction) || got.Total != nil {
				t.Fatalf("total %v, error %v, want no total and %v", got.Total, err, run.ErrContradiction)
			}
		})
	}
}
