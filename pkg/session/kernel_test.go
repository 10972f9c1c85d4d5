package session_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"nqueens/pkg/kernel"
	"nqueens/pkg/session"
)

// A session whose worker gets no counter ends with an error that names the kernel, and can be
// resumed. A counter that can't be closed does not cost the total.
func TestKernelThatFailsAfterItsSelfTest(t *testing.T) {
	t.Parallel()
	reason := errors.New("the device is busy")
	data := t.TempDir()
	with := func(newErr, closeErr error) (total string, err error) {
		result, err := count(t, data, func(ctx context.Context, cfg session.Config) (*session.Session, error) {
			cfg.Kernel = failing(generic(t), newErr, closeErr)
			return session.Count(ctx, cfg, mirror8)
		})
		return result.Total.String(), err
	}
	if total, err := with(reason, nil); !errors.Is(err, reason) || !strings.Contains(err.Error(), "kernel generic") || total != "<nil>" {
		t.Errorf("New fails: total %s, error %v, want kernel generic and %v", total, err, reason)
	}
	if total, err := with(nil, reason); err != nil || total != "92" {
		t.Errorf("Close fails: total %s, error %v, want 92", total, err)
	}
}

// failing returns the kernel with errors for its second counter; the first is of the self-test.
func failing(k kernel.Kernel, newErr, closeErr error) kernel.Kernel {
	var made atomic.Int64
	plain := k.New
	k.New = func() (kernel.Counter, error) {
		if made.Add(1) == 1 {
			return plain()
		}
		if newErr != nil {
			return nil, newErr
		}
		c, err := plain()
		return unclosable{c, closeErr}, err
	}
	return k
}

type unclosable struct {
	kernel.Counter
	err error
}

func (u unclosable) Close() error { return errors.Join(u.err, u.Counter.Close()) }
