package count_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"nqueens/pkg/count"
	"nqueens/pkg/queens"
)

// One returns the errors of the kernel and the cause of its context. If a counter can't be made or
// closed, the error names the kernel.
func TestOneFails(t *testing.T) {
	cause, errNew, errClose := errors.New("cause"), errors.New("new"), errors.New("close")
	fake := newFake(func(ctx context.Context) (uint64, error) { return 2, context.Cause(ctx) })
	fake.CloseError = errClose
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	got, err := count.One(ctx, count.Kernels{Prefixes: fake.Kernel(t)}, new(queens.Task))
	if !errors.Is(err, cause) || !errors.Is(err, errClose) || got != (queens.TaskCount{}) {
		t.Errorf("counted %+v, error %v", got, err)
	}
	fake.New = func() error { return errNew }
	_, err = count.One(t.Context(), count.Kernels{Prefixes: fake.Kernel(t)}, new(queens.Task))
	if !errors.Is(err, errNew) || !strings.Contains(err.Error(), "fake") {
		t.Errorf("error %v, want %v of fake", err, errNew)
	}
}
