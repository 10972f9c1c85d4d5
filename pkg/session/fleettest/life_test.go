package fleettest

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/bus/bustest/memory"
	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/split"
	"nqueens/pkg/symmetry"
	"nqueens/pkg/testkit"
)

const (
	// lease is how long a worker holds a chunk without extending its lease.
	lease = 10 * time.Second
	// endsWithin is how long a run may take once faults have stopped. Most take seconds. A task whose voters
	// have all counted it for an earlier coordinator, which has lost their counts, is tried once a minute,
	// and any of them may count it again.
	endsWithin = 2 * time.Hour
)

// life is what happens to the processes of one run and to their server. Only its own goroutine uses rng.
type life struct {
	t      *testing.T
	rng    *rand.Rand
	server *memory.Server
	log    *testkit.Log

	begun    time.Time
	board    int
	manifest queens.Manifest
	trust    ledger.Trust
	plan     string // what was drawn, for a failed test

	lies        float64 // the share of the tasks that liars count wrong
	workers     []*worker
	coordinator *coordinator // the newest
	processes   sync.WaitGroup
	total       chan struct{} // closed when a coordinator has the total
	ended       sync.Once     // closes total
	story       []string      // what has happened, for a failed test
	told        bool          // the story is logged although the test passes
}

func newLife(t *testing.T, seed uint64) *life {
	rng := rand.New(rand.NewPCG(seed, 0))
	l := &life{t: t, rng: rng, log: new(testkit.Log), total: make(chan struct{}), begun: time.Now()}
	l.server = memory.NewServer(memory.Config{Lease: lease, Seed: seed, MaxChunks: 20 + rng.IntN(80), MaxResults: 200 + rng.IntN(2000)})
	l.board = 8 + rng.IntN(3)
	kind := []queens.Symmetry{queens.None, queens.Mirror, queens.Full}[rng.IntN(3)]
	classes, err := symmetry.Classes(l.board, kind)
	l.must(err)
	l.manifest, err = split.Plan(t.Context(), l.board, kind, classes, 2)
	l.must(err)
	l.trust = ledger.Trust{Redundancy: 1 + rng.IntN(3), SpotCheck: run.SpotCheck{Share: []float64{0, 0.1, 1}[rng.IntN(3)], Bounded: rng.IntN(2) == 0}}
	l.trust.Seed[0] = byte(seed)
	l.drawWorkers()
	l.plan += fmt.Sprintf("; side %d, symmetry %s, %d tasks, redundancy %d, spot checks %v, bounded %v",
		l.board, kind, l.manifest.Tasks, l.trust.Redundancy, l.trust.SpotCheck.Share, l.trust.SpotCheck.Bounded)
	return l
}

// drawWorkers draws honest admitted workers, as many as must agree on a task or more, and others. All liars lie
// alike. Fewer of them are admitted than must agree; where one suffices, there is one liar, if each of its counts
// is checked.
func (l *life) drawWorkers() {
	redundancy := l.trust.Redundancy
	for range max(redundancy, 2) + l.rng.IntN(3) {
		l.workers = append(l.workers, &worker{life: l, admitted: true})
	}
	admitted, others := l.rng.IntN(redundancy), l.rng.IntN(3)
	if redundancy == 1 {
		admitted, others = 0, 0
		if l.trust.SpotCheck.Share == 1 && !l.trust.SpotCheck.Bounded {
			admitted = l.rng.IntN(2)
		}
	}
	for i := range admitted + others {
		l.workers = append(l.workers, &worker{life: l, admitted: i < admitted, lies: true})
	}
	if l.rng.IntN(3) == 0 {
		l.workers = append(l.workers, &worker{life: l})
	}
	l.lies = math.Pow(l.rng.Float64(), 4) // often one or two tasks: liars are quarantined after the first dispute
	for i, w := range l.workers {
		w.number, w.threads, w.seed = i, 1+l.rng.IntN(2), l.rng.Uint64()
		w.pace = time.Duration(float64(time.Second) * (0.05 + 2*l.rng.Float64()))
	}
	l.plan = fmt.Sprintf("%d honest workers, %d liars that are admitted and %d that are not, of %d; they lie on %.2f of the tasks",
		len(l.workers)-admitted-others, admitted, others, len(l.workers), l.lies)
}

// isLie reports whether the liars count a task wrong.
func (l *life) isLie(first queens.Prefix) bool {
	drawn := rand.NewPCG(uint64(first.Cols)<<32|uint64(first.Left), uint64(first.Right)<<32|uint64(l.board)).Uint64()
	return float64(drawn)/math.MaxUint64 < l.lies
}

// play plays the life to its end.
func (l *life) play() {
	defer l.end()
	l.coordinator = l.startCoordinator(l.newLedger)
	for _, w := range l.workers {
		w.start()
	}
	for stop := time.Now().Add(time.Duration(l.rng.IntN(150)) * time.Second); time.Now().Before(stop) && !l.isOver(l.pause(4*time.Second)); {
		l.disturb()
	}
	l.recover()
	defer l.note(time.Now())
	for deadline := time.After(endsWithin); ; {
		select {
		case <-l.total:
			return
		case <-deadline:
			l.t.Fatalf("no total %v after faults have stopped; server: %v", endsWithin, l.server)
		case <-l.coordinator.gone:
			l.resume()
		}
	}
}

// logger returns a logger that writes the fake time.
func (l *life) logger() zerolog.Logger { return l.log.Logger().With().Timestamp().Logger() }

// note logs how long the life was.
func (l *life) note(recovered time.Time) {
	c := l.server.Counts()
	l.t.Logf("%v, %v of them after faults had stopped; %d requests, %d connections, %d claims, %d faults, %d events",
		time.Since(l.begun).Round(time.Second), time.Since(recovered).Round(time.Second), c.Requests, c.Connections, c.Claims, c.Faults, len(l.story))
}

// pause waits for a random time up to most, and returns whether a coordinator has the total.
func (l *life) pause(most time.Duration) <-chan time.Time {
	return time.After(time.Duration(l.rng.Int64N(int64(most))))
}

// isOver waits, and reports whether a coordinator has the total.
func (l *life) isOver(wait <-chan time.Time) bool {
	select {
	case <-l.total:
		return true
	case <-wait:
		return false
	}
}

// end ends all processes.
func (l *life) end() {
	l.coordinator.kill()
	for _, w := range l.workers {
		w.kill()
	}
	l.processes.Wait()
	if l.t.Failed() || l.told {
		l.t.Logf("%s\n%s\nlog:\n%s", l.plan, strings.Join(l.story, "\n"), strings.Join(l.log.Lines(""), ""))
	}
}

// tell notes what happens now.
func (l *life) tell(format string, args ...any) {
	l.story = append(l.story, time.Now().Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
}

func (l *life) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

// recover stops all faults, ends all pauses, starts the workers that have died, and a coordinator if there is none.
func (l *life) recover() {
	l.tell("faults stop")
	l.server.SetFaults(memory.Faults{})
	l.server.SetAway(false)
	for _, w := range l.workers {
		w.paused.Store(false)
		if !w.lies && w.isGone() {
			w.start()
		}
	}
}

// resume starts a coordinator with the newest ledger, as a person does when the last one has ended.
func (l *life) resume() {
	<-l.coordinator.gone
	folder := l.coordinator.folder
	time.Sleep(time.Second)
	l.tell("a coordinator resumes the run")
	l.coordinator = l.startCoordinator(func(ctx context.Context) (*ledger.Ledger, string, error) {
		opened, err := ledger.Open(ctx, folder, nil)
		return opened, folder, err
	})
}

// newLedger makes a ledger in a new folder.
func (l *life) newLedger(context.Context) (*ledger.Ledger, string, error) {
	folder := l.t.TempDir()
	created, err := ledger.Create(folder, ledger.Header{Run: runName, Created: time.Now(), Manifest: l.manifest, Trust: l.trust})
	return created, folder, err
}

// runName is the name of all runs.
const runName = "n8-fleet"
