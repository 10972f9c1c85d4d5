package ledger_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"nqueens/pkg/ledger"
)

// A ledger is about as large as is expected of it, to a quarter, whatever the number of
// tasks, when they come a few at a time.
func TestExpectedSize(t *testing.T) {
	for _, tasks := range []int{0, 1, 50, 100, 300, 1000, 3000, 10_000, 30_000, 100_000} {
		rng := rand.New(rand.NewPCG(1, 2))
		folder := t.TempDir()
		l := create(t, folder, uint64(tasks))
		acceptMany(t, l, rng, inWindow(rng, tasks, 20), 4+tasks/1000)
		closed(t, l)
		info, err := os.Stat(filepath.Join(folder, file))
		if err != nil {
			t.Fatal(err)
		}
		expected := ledger.ExpectedSize(uint64(tasks))
		if ratio := float64(info.Size()) / float64(expected); ratio < 0.75 || ratio > 1.25 {
			t.Errorf("%d tasks take %d bytes, %d were expected", tasks, info.Size(), expected)
		}
	}
}
