package coordinator

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// scripts/simulate sets these.
var (
	livesFlag   = flag.Int("lives", 40, "lives that TestSimulation plays")
	minutesFlag = flag.Float64("minutes", 0, "minutes for which TestSimulation plays lives, if not 0")
	seedFlag    = flag.Uint64("seed", 0, "seed of the first life of TestSimulation; the next ones follow. 0 draws it")
)

// However the queue, the stream of results, the record, the clocks and the workers fail, and however some of them
// lie, a count that is accepted at the end is right, unless as many keys lied alike as must agree on a task; no key
// is quarantined that has not lied; and once the faults stop and enough honest voters are there, the run ends.
func TestSimulation(t *testing.T) {
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64N(1 << 40)
	}
	all := tally{kinds: make(map[string]int)}
	begun := time.Now()
	t.Run("lives", func(t *testing.T) {
		for range runtime.GOMAXPROCS(0) {
			t.Run("core", func(t *testing.T) {
				t.Parallel()
				all.play(t, seed, begun)
			})
		}
	})
	minutes := time.Since(begun).Minutes() * float64(runtime.GOMAXPROCS(0))
	t.Logf("%d lives from seed %d: %d faults, %.0f a minute and core; %d steps, %v simulated",
		all.lives, seed, all.faults, float64(all.faults)/minutes, all.steps, all.took.Round(time.Second))
	for _, kind := range slices.Sorted(maps.Keys(all.kinds)) {
		t.Logf("%7d  %s", all.kinds[kind], kind)
	}
	for _, bad := range all.failed {
		t.Errorf("seed %d fails: go test ./pkg/coordinator -run '^TestSimulation$' -lives 1 -seed %d", bad, bad)
	}
}

// tally counts what lives came to.
type tally struct {
	next   atomic.Uint64
	mu     sync.Mutex
	lives  int
	faults int
	steps  int
	took   time.Duration
	kinds  map[string]int
	failed []uint64
}

// play plays lives until there were enough of them, or one has failed.
func (a *tally) play(t *testing.T, first uint64, begun time.Time) {
	for {
		n := a.next.Add(1) - 1
		if *minutesFlag > 0 && time.Since(begun).Minutes() >= *minutesFlag || *minutesFlag <= 0 && n >= uint64(*livesFlag) {
			return
		}
		a.playOne(t, first+n)
	}
}

// playOne plays a life. A life that fails ends the test.
func (a *tally) playOne(t *testing.T, seed uint64) {
	l := life{seed: seed}
	defer func() { a.add(&l, t.Failed()) }()
	l = playLife(t, seed, nil)
}

func (a *tally) add(l *life, failed bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lives++
	a.faults += l.faults.count
	a.steps += l.steps
	a.took += l.took
	for kind, n := range l.faults.kinds {
		a.kinds[kind] += n
	}
	if failed {
		a.failed = append(a.failed, l.seed)
	}
}

// A seed repeats a life: every event, command and state.
func TestSameSeedSameTrace(t *testing.T) {
	seed := rand.Uint64N(1 << 40)
	var hashes []string
	for s := range uint64(4) {
		first, second := playLife(t, seed+s, nil), playLife(t, seed+s, nil)
		if first.hash != second.hash {
			t.Errorf("seed %d has the traces %016x and %016x", seed+s, first.hash, second.hash)
		}
		hashes = append(hashes, fmt.Sprintf("%016x", first.hash))
	}
	t.Logf("the traces from seed %d on: %s", seed, strings.Join(hashes, " "))
}
