package progress_test

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"nqueens/pkg/progress"
	"nqueens/pkg/queens"
	"nqueens/pkg/split"
)

// replay is a run whose tasks take recorded times. A file in testdata has processor milliseconds of
// tasks in order: of task every/2, and of each task that is a multiple of every later. A task takes
// the time of the nearest recorded one. (avx512 on one thread of a busy machine. The tasks were
// counted in random order, so that a change of the machine's speed shows in no class.)
type replay struct {
	manifest queens.Manifest
	shares   []float64
	times    []time.Duration
	every    uint64
}

func newReplay(t *testing.T, file string, n int, m queens.Method, every uint64) *replay {
	t.Helper()
	manifest, _, err := split.New(t.Context(),
		queens.Manifest{Method: m, N: n, Symmetry: queens.Full}, 0)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	r := &replay{manifest: manifest, shares: split.Shares(&manifest), every: every}
	for _, word := range strings.Fields(string(text)) {
		ms, err := strconv.Atoi(word)
		if err != nil {
			t.Fatal(err)
		}
		r.times = append(r.times, time.Duration(ms)*time.Millisecond)
	}
	if want := (manifest.Tasks + every - every/2 - 1) / every; uint64(len(r.times)) != want {
		t.Fatalf("%s has %d times, want %d", file, len(r.times), want)
	}
	return r
}

// time returns the time of a task on a thread of speed 1.
func (r *replay) time(task uint64) time.Duration {
	return r.times[min(task/r.every, uint64(len(r.times)-1))]
}

// chunk bounds the time of a chunk.
const chunk = 1500 * time.Millisecond

// forecasts runs the tasks from a given one on, on threads of the given speeds. It returns the
// forecasts of each second, and the true times to go. Each thread counts chunks of consecutive
// tasks, and each chunk is at most a quarter of the thread's part of the rest.
func (r *replay) forecasts(first uint64, speeds ...float64) (found []*queens.TimeToGo,
	truths []time.Duration,
) {
	type result struct {
		at    time.Duration
		tasks queens.Range
	}
	var results []result
	free := make([]time.Duration, len(speeds)) // when each thread ends its chunk
	for next := first; next < r.manifest.Tasks; {
		thread := 0
		for i := range free {
			if free[i] < free[thread] {
				thread = i
			}
		}
		most := max((r.manifest.Tasks-next)/uint64(4*len(speeds)), 1)
		tasks, takes := queens.Range{First: next}, time.Duration(0)
		for tasks.Tasks < most && takes < chunk && next < r.manifest.Tasks {
			takes += time.Duration(float64(r.time(next)) / speeds[thread])
			tasks.Tasks++
			next++
		}
		free[thread] += takes
		results = append(results, result{free[thread], tasks})
	}
	end := time.Duration(0)
	for _, at := range free {
		end = max(end, at)
	}
	done := make([]uint64, len(r.manifest.Classes))
	all, recorded := first, uint64(0)
	for task := range first {
		done[r.manifest.ClassOf(task)]++
	}
	var meter progress.Meter
	for now := time.Duration(0); now < end; now += time.Second {
		rest := results[:0]
		for _, x := range results {
			if x.at > now {
				rest = append(rest, x)
				continue
			}
			all += x.tasks.Tasks
			recorded++
			for task := range x.tasks.Tasks {
				done[r.manifest.ClassOf(x.tasks.First+task)]++
			}
		}
		results = rest
		s := queens.Snapshot{
			State: queens.Running, Done: all, Tasks: r.manifest.Tasks,
			WorkDone: queens.Fraction(split.WorkDone(&r.manifest, r.shares, done)),
			Live:     &queens.Live{Threads: len(speeds)}, Elapsed: queens.Seconds{Duration: now},
			Checks: &queens.Checks{Recorded: recorded},
		}
		meter.Measure(&s)
		found, truths = append(found, s.TimeToGo), append(truths, end-now)
	}
	return found, truths
}

// With recorded times, nine of ten forecasts contain the truth: of one machine, of machines of
// different speed, of a run that was resumed, and by both methods. At half time the forecast is
// narrow: at most 10% to each side of its middle in a run of some minutes.
func TestRecordedTimes(t *testing.T) {
	n20 := newReplay(t, "n20.txt", 20, queens.Prefixes, 1)
	n21 := newReplay(t, "n21.txt", 21, queens.Prefixes, 11)
	halves := newReplay(t, "n20halves.txt", 20, queens.Halves, 16)
	made, misses := 0, 0
	for _, c := range []struct {
		name   string
		run    *replay
		first  uint64
		speeds []float64
		half   float64 // greatest width to each side at half time
	}{
		{"n = 20, a minute", n20, 0, []float64{1}, 0.13},
		{"n = 20, half a minute", n20, 0, []float64{1, 1}, 0.18},
		{"n = 21", n21, 0, []float64{1, 1}, 0.1},
		{"n = 21, fast and slow threads", n21, 0, []float64{2, 1, 1, 0.3}, 0.1},
		{"n = 21, slow threads", n21, 0, []float64{0.1, 0.1}, 0.1},
		{"n = 21, resumed", n21, 1500, []float64{1, 1}, 0.15},
		{"n = 20 by halves", halves, 0, []float64{1, 1}, 0.1},
	} {
		forecasts, truths := c.run.forecasts(c.first, c.speeds...)
		known, missed := 0, 0
		for i, f := range forecasts {
			if f != nil {
				known++
				if f.Least.Duration > truths[i] || f.Most.Duration < truths[i] {
					missed++
				}
			}
		}
		made, misses = made+known, misses+missed
		if known < len(forecasts)*8/10 || missed > known/8 {
			t.Errorf("%s: in %d s there are %d forecasts, and %d of them do not contain the truth", c.name,
				len(forecasts), known, missed)
		}
		half := forecasts[len(forecasts)/2]
		least, most := half.Least.Seconds(), half.Most.Seconds()
		if width := (most - least) / (most + least); width > c.half {
			t.Errorf("%s: at half time the forecast is %v, ±%.3f", c.name, *half, width)
		}
	}
	if misses > made/10 {
		t.Errorf("%d of %d forecasts do not contain the truth", misses, made)
	}
}
