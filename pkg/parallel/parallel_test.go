package parallel_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"

	"nqueens/pkg/parallel"
)

// numbers yields 0 to limit-1.
func numbers(limit int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := range limit {
			if !yield(i) {
				return
			}
		}
	}
}

// Results come in the order of the items, each once, however long each call takes.
func TestOrder(t *testing.T) {
	for _, items := range []int{0, 1, 2, 1000} {
		var got []int
		err := parallel.InOrder(t.Context(), numbers(items), func(_ context.Context, i int) (int, error) {
			for range rand.IntN(50) {
				runtime.Gosched()
			}
			return i * i, nil
		}, func(square int) error {
			got = append(got, square)
			return nil
		})
		var want []int
		for i := range items {
			want = append(want, i*i)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%d items: results %v, error %v", items, got, err)
		}
	}
}

// Map returns the results in the order of the items.
func TestMap(t *testing.T) {
	for _, items := range []int{0, 1, 100} {
		got := parallel.Map(slices.Collect(numbers(items)), func(i int) int {
			for range rand.IntN(50) {
				runtime.Gosched()
			}
			return i * i
		})
		if len(got) != items || slices.ContainsFunc(slices.Collect(numbers(items)), func(i int) bool {
			return got[i] != i*i
		}) {
			t.Errorf("%d items: results %v", items, got)
		}
	}
}

// InOrder returns the error of the first item in order that fails, even if a later item fails
// sooner. done is not called for that item and later ones.
func TestFirstError(t *testing.T) {
	later := make(chan struct{})
	done := 0
	err := parallel.InOrder(t.Context(), numbers(1000), func(_ context.Context, i int) (int, error) {
		switch {
		case i == 3 && runtime.GOMAXPROCS(0) > 1:
			<-later // a later item has failed
		case i == 4 && runtime.GOMAXPROCS(0) > 1:
			defer close(later)
		case i < 3:
			return i, nil
		}
		return i, fmt.Errorf("item %d", i)
	}, func(int) error { done++; return nil })
	if err == nil || err.Error() != "item 3" || done != 3 {
		t.Errorf("error %v after %d results, want the error of item 3", err, done)
	}
	stop := errors.New("stop")
	err = parallel.InOrder(t.Context(), numbers(1000), func(_ context.Context, i int) (int, error) {
		return i, nil
	}, func(i int) error {
		if i == 5 {
			return stop
		}
		return nil
	})
	if !errors.Is(err, stop) {
		t.Errorf("error %v, want the error of done", err)
	}
}

// InOrder takes only a few items of an endless sequence in advance, and ends with its context.
func TestEndlessSequence(t *testing.T) {
	cause := errors.New("cause")
	ctx, cancel := context.WithCancelCause(t.Context())
	var taken, finished atomic.Int64
	endless := func(yield func(int) bool) {
		for i := 0; yield(i); i++ {
			if lead := taken.Add(1) - finished.Load(); lead > int64(6*runtime.GOMAXPROCS(0)+3) {
				t.Errorf("%d items are held", lead)
				return
			}
		}
	}
	err := parallel.InOrder(ctx, endless, func(_ context.Context, i int) (int, error) {
		return i, nil
	}, func(i int) error {
		finished.Add(1)
		if i == 1000 {
			cancel(cause)
		}
		return nil
	})
	if !errors.Is(err, cause) {
		t.Errorf("error %v, want %v", err, cause)
	}
}
