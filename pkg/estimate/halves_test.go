package estimate

import (
	"context"
	"errors"
	"testing"

	"nqueens/pkg/count"
	"nqueens/pkg/halves"
	"nqueens/pkg/queens"
)

// An estimate by halves has all row sets, ordered ranges, and memory for all threads. Beyond a
// side, a smaller board of the same parity is measured.
func TestHalves(t *testing.T) {
	for n, measured := range map[int]int{1: 1, 8: 8, 13: 13, 21: 19, 24: 20, 27: 19, 32: 20} {
		k := halves.Available()[0]
		e, err := Halves(t.Context(), HalvesJob{N: n, Kernel: k, Threads: 3, Cores: 2})
		if err != nil {
			t.Fatal(err)
		}
		memory, _, _ := count.NewMemory(0, 3).Of(n)
		if e.N != n || e.Measured != measured || e.RowSets != halves.Sets(n) ||
			e.Method != queens.Halves ||
			e.Kernel != queens.HalvesPrefix+k.Name || e.Memory != memory || len(e.Fleets) != 2 {
			t.Errorf("n = %d: %+v", n, e)
		}
		if n <= 8 && uint64(e.Sample) != e.RowSets || e.Sample == 0 {
			t.Errorf("n = %d: a sample of %d row sets", n, e.Sample)
		}
		for _, r := range []Range{e.CoreSeconds, e.Seconds} {
			if !(r.Low > 0 && r.Low < r.Mid && r.Mid < r.High) {
				t.Errorf("n = %d: the range %+v", n, r)
			}
		}
		if n > 20 && e.CoreSeconds.High < e.CoreSeconds.Low*1.7 {
			t.Errorf("n = %d: the range %+v is narrow", n, e.CoreSeconds)
		}
	}
}

func TestHalvesStopped(t *testing.T) {
	ctx, stop := context.WithCancelCause(t.Context())
	reason := errors.New("stopped")
	stop(reason)
	job := HalvesJob{N: 20, Kernel: halves.Available()[0], Threads: 1, Cores: 1}
	if e, err := Halves(ctx, job); e != nil || !errors.Is(err, reason) {
		t.Errorf("%+v, %v", e, err)
	}
}
