package audit_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"nqueens/pkg/audit"
	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/testkit"
)

// A life is a random log of a run: machines that are honest, wrong at random, or liars in
// agreement; recounts, bans, spot checks and several starts. It has what a coordinator writes: bans
// and disputes are with the records from which they follow.
type life struct {
	*counted
	rng    *rand.Rand
	truth  []uint64 // the right count of each task
	state  *ledger.State
	log    []byte
	ends   []int // offsets at which the writes end
	frames []int // offsets at which the frames end
}

func newLife(t *testing.T, run *counted, seed uint64) *life {
	t.Helper()
	l := &life{counted: run, rng: rand.New(rand.NewPCG(seed, 52))}
	for _, r := range run.results {
		l.truth = append(l.truth, r.Counts...)
	}
	h := run.header
	h.Redundancy, h.SpotCheck = 1+l.rng.IntN(2), float64(l.rng.IntN(2))/4
	l.state = ledger.NewState(&h)
	l.write(t, &h)
	recounts := l.rng.IntN(4)
	for starts := range 1 + l.rng.IntN(3) {
		l.write(t, &ledger.Start{Number: starts + 1, Instance: l.rng.Uint64(), Version: "v", At: at})
		for range l.rng.IntN(16) {
			l.step(t, recounts)
		}
		if l.rng.IntN(2) == 0 {
			l.write(t, l.mark(queens.Stopped, 0))
		}
	}
	return l
}

// step writes what a coordinator may write next. Of ten steps with a dispute, the given number
// settle it.
func (l *life) step(t *testing.T, recounts int) {
	unsettled := l.state.Unsettled()
	switch x := l.rng.IntN(20); {
	case x == 0:
		l.write(t, l.mark(queens.Running, 0))
	case x == 1: // a spot check or a lost task
		l.write(t, l.recountOf(l.rng.Uint64N(uint64(len(l.truth)))))
	case len(unsettled) > 0 && x < 2+2*recounts:
		l.write(t, l.recountOf(unsettled[l.rng.IntN(len(unsettled))]))
	default:
		machine := string(rune('a' + l.rng.IntN(6)))
		if first := l.rng.IntN(len(l.results)); !l.state.Banned(testkit.Machine(machine)) {
			l.write(t, l.resultOf(machine, first))
		}
	}
}

// resultOf returns a result of a machine for one of the ranges of the run. Machines a and b are
// honest, c and d tell the same lies about a fifth of the tasks, e is wrong at random and f always.
func (l *life) resultOf(machine string, number int) *ledger.Result {
	r := *l.results[number]
	r.Machine, r.Process, r.Counts = testkit.Machine(machine), "p"+machine, nil
	for task := r.First; task < r.End(); task++ {
		count := l.truth[task]
		switch machine {
		case "c", "d":
			if task%5 == 0 {
				count++
			}
		case "e":
			count += uint64(max(0, l.rng.IntN(8)-6))
		case "f":
			count += 2
		}
		r.Counts = append(r.Counts, count)
	}
	return &r
}

// recountOf returns the next recount of a task, by a search that has not recounted the task.
func (l *life) recountOf(task uint64) *ledger.Recount {
	r := &ledger.Recount{Task: task, Count: l.truth[task], Machine: "home", Kernel: "avx2",
		Why: ledger.Disputed, At: at}
	if l.header.Manifest.Method == queens.Halves {
		for _, c := range l.state.Counts(task) {
			if c.Recount && c.Kernel == r.Kernel {
				r.Kernel = queens.HalvesPrefix + "generic"
			}
		}
		return r
	}
	for _, c := range l.state.Counts(task) {
		switch {
		case c.Recount && c.Kernel == "avx2" && r.Kernel == "avx2":
			r.Kernel = "generic"
		case c.Recount && c.Kernel == "generic" && !c.Deeper:
			r.Kernel, r.Deeper = "generic", true
		}
	}
	return r
}

// write writes a record with its disputes and bans. It begins a new write, or not.
func (l *life) write(t *testing.T, r ledger.Record) {
	t.Helper()
	c, err := l.state.Apply(r)
	if err != nil {
		t.Fatal(err)
	}
	records := slices.Concat(c.Disputes, []ledger.Record{r})
	for _, b := range c.Banned {
		ban := &ledger.Ban{Ban: b, At: at}
		if _, err := l.state.Apply(ban); err != nil {
			t.Fatal(err)
		}
		records = append(records, ban)
	}
	if len(l.ends) < 2 || l.rng.IntN(3) > 0 { // the header has a write of its own
		l.ends = append(l.ends, len(l.log))
	}
	for _, r := range records {
		if l.log, err = ledger.AppendFrame(l.log, uint32(len(l.ends)), r); err != nil {
			t.Fatal(err)
		}
		l.frames = append(l.frames, len(l.log))
	}
}

// torn returns the log, perhaps without a part of its last write.
func (l *life) torn() []byte {
	if last := l.ends[len(l.ends)-1]; last > l.ends[1] && l.rng.IntN(2) == 0 {
		return l.log[:last+l.rng.IntN(len(l.log)-last)]
	}
	return l.log
}

func fold(log []byte) (*ledger.State, ledger.Notes, error) {
	return ledger.Fold(io.NewSectionReader(bytes.NewReader(log), 0, int64(len(log))), "log")
}

// settled recounts every task that needs a recount, as an honest coordinator does.
func (l *life) settled(t *testing.T, s *ledger.State) {
	t.Helper()
	l.state = s
	for unsettled := s.Unsettled(); len(unsettled) > 0; unsettled = s.Unsettled() {
		l.write(t, l.recountOf(unsettled[0]))
	}
}

// complete lets honest machines count the tasks that are not done, and no others, until every task
// is done.
func (l *life) complete(t *testing.T) {
	t.Helper()
	l.settled(t, l.state)
	for _, machine := range []string{"u", "v", "w", "x", "y", "z"} { // a ban may undo tasks
		for id, task := range l.index.All() {
			if !l.state.Task(id).Done {
				l.write(t, &ledger.Result{
					Machine: testkit.Machine(machine), Process: "p", Kernel: "generic",
					Range: queens.Range{First: id, Tasks: 1},
					Hash:  queens.HashOfRange([]uint64{task.Hash()}), Counts: []uint64{l.truth[id]}, At: at,
				})
				l.settled(t, l.state)
			}
		}
	}
	if l.state.NumberDone() < uint64(len(l.truth)) {
		t.Fatal("honest machines have counted, and tasks are not done")
	}
}

// outcomes says of each task what the log says when all disputes are settled: "right", "wrong" or
// "open".
func (l *life) outcomes(t *testing.T, s *ledger.State) (all []string) {
	t.Helper()
	of := &life{counted: l.counted, rng: l.rng, truth: l.truth, ends: []int{0, 0}}
	of.settled(t, s)
	for task, count := range l.truth {
		o, outcome := s.Task(uint64(task)), "open"
		if o.Done {
			outcome = map[bool]string{true: "right", false: "wrong"}[o.Count == count]
		}
		all = append(all, outcome)
	}
	return all
}

// Damage never makes a wrong total. If one byte of a log is damaged anywhere, with or without a
// torn write at its end, an honest coordinator with honest workers continues, and counts every task
// right that the undamaged log counts right or leaves open, or the log is refused. At the end, the
// two routes give the same total.
func TestDamage(t *testing.T) {
	lives := 2000
	if text := os.Getenv("NQUEENS_TEST_LOGS"); text != "" {
		var err error
		if lives, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	runs := []*counted{countRun(t, queens.Mirror), countHalves(t)}
	folder := t.TempDir()
	for _, run := range runs {
		if err := os.Mkdir(filepath.Join(folder, run.header.Run), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	found := map[string]int{}
	for seed := range uint64(lives) {
		run := runs[(seed%4+1)/4]
		path := filepath.Join(folder, run.header.Run, ledger.File)
		l := newLife(t, run, seed)
		log := l.torn()
		undamaged, notes, err := fold(log)
		if err != nil || len(notes.Dropped)+len(notes.Mended) > 0 {
			t.Fatalf("seed %d: %+v, %v", seed, notes, err)
		}
		want := l.outcomes(t, undamaged)
		at, flip := l.rng.IntN(len(log)), byte(1+l.rng.IntN(255))
		if at < l.ends[1] && l.rng.IntN(8) > 0 { // not the header, which is long
			at = l.ends[1] + l.rng.IntN(len(log)-l.ends[1])
		}
		log = bytes.Clone(log)
		log[at] ^= flip
		s, notes, err := fold(log)
		if err != nil {
			if !errors.Is(err, ledger.ErrDamaged) {
				t.Fatalf("seed %d, byte %d: %v", seed, at, err)
			}
			found["refused"]++
			continue
		}
		found[fmt.Sprintf("left out %d, mended %d, torn %v", len(notes.Dropped), len(notes.Mended),
			notes.Torn > 0)]++
		l.state, l.log, l.ends = s, log[:notes.Size], make([]int, notes.Write)
		l.complete(t)
		right := true
		for task, outcome := range want {
			isRight := s.Task(uint64(task)).Count == l.truth[task]
			right = right && isRight
			if outcome != "wrong" && !isRight {
				t.Errorf("seed %d, byte %d: task %d is %s in the undamaged log, and counted %d, not %d: %+v",
					seed, at, task, outcome, s.Task(uint64(task)).Count, l.truth[task], notes)
			}
		}
		if err := os.WriteFile(path, l.log, 0o600); err != nil {
			t.Fatal(err)
		}
		total, err := audit.Total(t.Context(), path)
		if right != (err == nil) || !right && !errors.Is(err, queens.ErrContradiction) ||
			right && total.Int64() != 92 {
			t.Errorf("seed %d, byte %d: every count is right: %v, and the total is %v, %v", seed, at, right,
				total, err)
		}
		found[fmt.Sprintf("right: %v", right)]++
		if t.Failed() {
			return
		}
	}
	t.Log(found)
	for _, kind := range []string{"refused", "left out 1, mended 0, torn false",
		"left out 1, mended 0, torn true", "left out 0, mended 1, torn true", "right: true",
		"right: false"} {
		if found[kind] == 0 {
			t.Errorf("no log of the kind %q: %v", kind, found)
		}
	}
}
