//go:build unix

package main_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math"
	"math/big"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"nqueens/pkg/bus"
	"nqueens/pkg/count"
	"nqueens/pkg/kernel"
	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/split"
	"nqueens/pkg/testkit"
	"nqueens/pkg/worker"
)

var (
	liarsN    = flag.Int("liars.n", 0, "side of the board of TestLyingWorkers, which then logs a table; 0 for one small run")
	liarsRuns = flag.Int("liars.runs", 3, "runs for each line of the table of TestLyingWorkers")
)

// fleetSize is how many workers, with a key each, count a run among liars.
const fleetSize = 10

// Of ten workers with admitted keys some count wrong in a share of their tasks, each by another number, in a
// real run of a board for which no total is published. With two voters a task the total is exact. With one,
// what is wrong in the ledger is by liars that were not found. No honest worker is quarantined.
func TestLyingWorkers(t *testing.T) {
	long(t)
	type config struct {
		flags []string
		wrong float64
		liars int
	}
	var configs []config
	for _, flags := range [][]string{nil, {"--redundancy", "2"}} {
		for _, wrong := range []float64{0.1, 0.01} {
			for _, liars := range []int{1, 2, 5} {
				configs = append(configs, config{flags, wrong, liars})
			}
		}
	}
	n, runs, depth := 12, 1, "4"
	if *liarsN > 0 {
		n, runs = *liarsN, *liarsRuns
	} else {
		configs = testkit.Sample(t, 1, configs)
	}
	rng, table := testkit.Rand(t), make([]string, len(configs))
	t.Cleanup(func() { t.Logf("\n%s%s", liarsHead, strings.Join(table, "")) })
	for i, c := range configs {
		seed := rng.Uint64()
		t.Run(fmt.Sprintf("redundant=%t,wrong=%v,liars=%d", c.flags != nil, c.wrong, c.liars), func(t *testing.T) {
			t.Parallel()
			rng, sum := rand.New(rand.NewPCG(seed, 0)), liarRun{}
			for range runs {
				r := liarRun{t: t, rng: rng, n: n, redundant: c.flags != nil, wrong: c.wrong, liars: c.liars}
				r.count(append(c.flags, "--depth", depth))
				sum.add(&r)
			}
			table[i] = sum.line(c.flags, runs)
		})
	}
}

// liarsHead is the head of the table in docs/dev/benchmarks.md.
const liarsHead = "| n | tasks | run | tasks wrong | liars | found | unseen, by the formula | each after tasks, mean | of them wrong | wrong tasks in the ledgers | wrong totals |\n" +
	"|---:|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|\n"

// liarRun is a run with liars among its workers, and what came of it.
type liarRun struct {
	t         *testing.T
	rng       *rand.Rand
	n         int
	redundant bool
	wrong     float64 // share of its tasks that a liar counts wrong
	liars     int

	tasks                  uint64
	early                  int // tasks in the first 20 chunks of a key, in the mean of the honest keys
	found                  int // liars
	foundTasks, foundWrong int // what those had counted until they were found, and how much of it was wrong
	wrongTasks             int // in the ledger
	wrongTotals            int // printed
}

// answered is that a liar has counted a task.
type answered struct {
	at    time.Time
	wrong bool
}

// liar is a counter that is wrong in a share of its counts.
type liar struct {
	kernel.Counter
	rng   *rand.Rand
	share float64
	by    uint64 // that it adds
	log   *[]answered
}

func (l liar) Count(ctx context.Context, b *queens.Board, prefixes []queens.Prefix, pulse *atomic.Uint64) (uint64, error) {
	n, err := l.Counter.Count(ctx, b, prefixes, pulse)
	if err == nil {
		lies := l.rng.Float64() < l.share
		if lies {
			n += l.by
		}
		*l.log = append(*l.log, answered{time.Now(), lies})
	}
	return n, err
}

// count counts the completions of a queen on the first row with a coordinator in a process of its own and
// ten workers in this one, which are connected to a server as those of other machines are.
func (r *liarRun) count(flags []string) {
	r.t.Helper()
	var names []string
	for i := range fleetSize {
		names = append(names, workerName(i))
	}
	c := startGuarded(r.t, names...)
	column := r.rng.IntN(r.n)
	args := slices.Concat(c.as("coordinator"), []string{fmt.Sprint(r.n), "--place", fmt.Sprintf("0,%d", column), "--symmetry", "none"}, flags)
	coordinator := startCount(r.t, args...)
	name := coordinator.Await(counting)

	ctx, stop := context.WithCancel(r.t.Context())
	var working sync.WaitGroup
	logs := make([][]answered, r.liars)
	for i := range fleetSize {
		k := kernel.Reference()
		if i < r.liars {
			honest, rng := k.New, rand.New(rand.NewPCG(r.rng.Uint64(), 0))
			k.New = func() (kernel.Counter, error) {
				counter, err := honest()
				return liar{counter, rng, r.wrong, uint64(i) + 1, &logs[i]}, err
			}
		}
		working.Go(func() {
			id := c.identity(names[i])
			workHere(ctx, r.t, c.url, bus.Credentials{Identity: id, TLS: c.tls()}, worker.Config{Name: names[i], Identity: id, Kernel: k}, nil)
		})
	}
	printed := strings.TrimSpace(coordinator.ExpectExit(0))
	stop()
	working.Wait()
	c.server.Kill()
	r.judge(c, filepath.Join(coordinator.Flag("--data"), name), logs, column, printed)
}

// judge compares the ledger and the printed total with counts by another kernel.
func (r *liarRun) judge(c *cluster, folder string, logs [][]answered, column int, printed string) {
	r.t.Helper()
	l, err := ledger.OpenReadOnly(folder)
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() {
		if err := l.Close(); err != nil {
			r.t.Error(err)
		}
	}()
	for _, q := range l.Quarantined() {
		i := -1
		for at := range logs {
			if c.identity(workerName(at)).Key() == q.Key {
				i = at
			}
		}
		if i < 0 {
			r.t.Errorf("an honest key is quarantined: %s", q.Reason)
			continue
		}
		r.found++
		for _, a := range logs[i] {
			if !a.at.After(q.At) {
				r.foundTasks++
				if a.wrong {
					r.foundWrong++
				}
			}
		}
	}
	manifest := l.Header().Manifest
	r.tasks = manifest.Tasks
	r.early = r.earlyTasks(c, l)
	fastest := kernel.Available()[0]
	err = count.Each(r.t.Context(), fastest, 2, split.Tasks(&manifest), func(right count.Counted) error {
		accepted, ok, err := l.Result(right.Task.ID)
		if err == nil && ok && accepted.Count != right.Count {
			r.wrongTasks++
			if l.IsQuarantined(accepted.Key) || r.redundant {
				r.t.Errorf("task %d has the wrong count of %s", right.Task.ID, accepted.Worker)
			}
		}
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	total, err := count.Run(r.t.Context(), count.Job{
		N: r.n, Symmetry: queens.None, Placed: []queens.Square{{Row: 0, Column: column}}, Kernel: fastest, Threads: 2,
	})
	if err != nil {
		r.t.Fatal(err)
	}
	if got, ok := new(big.Int).SetString(printed, 10); !ok || got.Cmp(total) != 0 {
		r.wrongTotals++
	}
	if (r.wrongTotals > 0) != (r.wrongTasks > 0) {
		r.t.Errorf("it printed %s, the total is %d, and %d tasks have wrong counts", printed, total, r.wrongTasks)
	}
}

// earlyTasks returns how many tasks are in the first 20 chunks of an honest key, in the mean, by the results
// that were accepted.
func (r *liarRun) earlyTasks(c *cluster, l *ledger.Ledger) (tasks int) {
	r.t.Helper()
	chunks := make(map[string]map[uint64]int) // tasks, by key and report
	for i := r.liars; i < fleetSize; i++ {
		chunks[c.identity(workerName(i)).Key()] = make(map[uint64]int)
	}
	for result, err := range l.Range(0, math.MaxUint64) {
		if err != nil {
			r.t.Fatal(err)
		}
		if honest := chunks[result.Key]; honest != nil {
			honest[result.StatementID]++
		}
	}
	for _, statements := range chunks {
		inOrder := slices.Sorted(maps.Keys(statements))
		for _, id := range inOrder[:min(len(inOrder), 20)] {
			tasks += statements[id]
		}
	}
	return tasks / len(chunks)
}

// unseen is the probability that a liar of the run is not found, by the formula of docs/dev/benchmarks.md.
func (r *liarRun) unseen() float64 {
	const share = 0.01 // of the chunks are checked after the first ones
	each := float64(r.tasks) / fleetSize
	early := min(float64(r.early), each)
	return math.Pow(1-r.wrong, early) * math.Pow(1-r.wrong*share, each-early)
}

// add adds what came of another run.
func (r *liarRun) add(o *liarRun) {
	r.n, r.wrong, r.tasks, r.early = o.n, o.wrong, o.tasks, o.early
	r.liars += o.liars
	r.found += o.found
	r.foundTasks += o.foundTasks
	r.foundWrong += o.foundWrong
	r.wrongTasks += o.wrongTasks
	r.wrongTotals += o.wrongTotals
}

// line returns a line of the table in docs/dev/benchmarks.md.
func (r *liarRun) line(flags []string, runs int) string {
	who, after, of, unseen := "R = 1, s = 1%", "-", "-", fmt.Sprintf("%.1f%%", 100*r.unseen())
	if len(flags) > 0 {
		who, unseen = "R = 2", "-"
	}
	if r.found > 0 {
		after, of = fmt.Sprint(r.foundTasks/r.found), fmt.Sprintf("%.1f", float64(r.foundWrong)/float64(r.found))
	}
	return fmt.Sprintf("| %d | %d | %s | %.0f%% | %d | %d of %d | %s | %s | %s | %d | %d of %d |\n", r.n, r.tasks, who, 100*r.wrong, r.liars/runs, r.found,
		r.liars, unseen, after, of, r.wrongTasks, r.wrongTotals, runs)
}
