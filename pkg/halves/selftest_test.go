package halves

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"nqueens/pkg/kernel"
)

// Every kernel of this machine passes the self-test.
func TestSelfTest(t *testing.T) {
	for _, k := range Available() {
		if err := SelfTest(t.Context(), k); err != nil {
			t.Error(err)
		}
	}
}

// A kernel with one wrong function fails. The error names the kernel and the number of tables.
func TestSelfTestOfWrongKernel(t *testing.T) {
	for used := 1; used <= chunks; used++ {
		counts := plainCounts()
		counts[used-1] = func(stream []uint64, tables *tables[narrow], t *tally[narrow]) {
			plainCounts()[used-1](stream, tables, t)
			if len(stream) == 5 {
				t.twos[0] ^= 1
			}
		}
		k := generic
		k.Name, k.newBin = "wrong", binsOf(buildPlain, counts)
		err := SelfTest(t.Context(), k)
		text := fmt.Sprintf("a stream of 5 of %d tables", used)
		if err == nil || !strings.Contains(err.Error(), text) ||
			!strings.Contains(err.Error(), "kernel wrong") {
			t.Errorf("a kernel that is wrong for %d tables: error %v", used, err)
		}
	}
}

// A kernel whose tables lack a row for one number of tables fails.
func TestSelfTestOfWrongTables(t *testing.T) {
	for used := 1; used <= chunks; used++ {
		k := generic
		k.newBin = binsOf(func(block *binBlock[narrow], tables *tables[narrow], n int) {
			buildPlain(block, tables, n)
			if n == used {
				tables[used-1][3][2] = 0
			}
		}, plainCounts())
		err := SelfTest(t.Context(), k)
		text := fmt.Sprintf("row 3 of table %d of %d tables", used-1, used)
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("wrong row of %d tables: error %v", used, err)
		}
	}
}

// A canceled self-test returns the cause.
func TestSelfTestEndsWithItsContext(t *testing.T) {
	reason := errors.New("not wanted")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(reason)
	for _, k := range Available() {
		if err := SelfTest(ctx, k); !errors.Is(err, reason) {
			t.Errorf("kernel %s: error %v, want %v", k.Name, err, reason)
		}
	}
}

// Each kernel has the name of a kernel of package kernel that this machine has. Choose finds it by
// that name, and names the kernels of the machine if there is none.
func TestChoose(t *testing.T) {
	for _, k := range Available() {
		if _, err := kernel.Choose(k.Name); err != nil {
			t.Errorf("kernel %s of halves: %v", k.Name, err)
		}
		if got, err := Choose(k.Name); got.Name != k.Name || err != nil {
			t.Errorf("Choose(%q) is %q (error %v)", k.Name, got.Name, err)
		}
	}
	_, err := Choose("abacus")
	if err == nil || !strings.Contains(err.Error(), "generic") ||
		!strings.Contains(err.Error(), "abacus") {
		t.Errorf("error %v, want one that names abacus and generic", err)
	}
}
