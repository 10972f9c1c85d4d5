package flight

import (
	"math"
	"testing"
	"time"
)

// One search that took very long, as on a machine that slept, does not decide the speed when other workers have
// done more.
func TestOneLongSearchDoesNotDecideTheSpeed(t *testing.T) {
	g := newGuide([]float64{1e-6})
	now := time.Unix(0, 0)
	g.observe(now, 1e-6, math.MaxInt64)
	for range 300 {
		now = now.Add(time.Second)
		g.observe(now, 1e-6, time.Second)
	}
	if want := 1e-6; math.Abs(g.speed/want-1) > 1e-9 {
		t.Errorf("the speed is %v, want that of the other workers, %v", g.speed, want)
	}
}

// The median is of the time of the latest searches: half of it was spent at this speed or a lower one.
func TestMedianSpeed(t *testing.T) {
	g := newGuide([]float64{1})
	if got := g.medianSpeed(); got != 0 {
		t.Errorf("the speed is %v before a search", got)
	}
	for range 2 * maxRecent {
		g.observe(time.Unix(0, 0), 1, time.Millisecond) // these are too old
	}
	for i := range maxRecent {
		one := [...]search{{0.1, 10}, {0.2, 10}, {9, 10}, {20, 1}}[i%4]
		g.observe(time.Unix(0, 0), one.speed*one.seconds, time.Duration(one.seconds*float64(time.Second)))
	}
	if got := g.medianSpeed(); math.Abs(got-0.2) > 1e-9 || len(g.recent) != maxRecent {
		t.Errorf("the speed is %v by %d searches, want 0.2", got, len(g.recent))
	}
}

// A chunk is a quarter of what is left for each thread, at most 1.5 s of a thread's work, and one to MaxChunk
// tasks.
func TestChunkSize(t *testing.T) {
	for _, c := range []struct {
		threads           int
		left, speed, task float64
		want              int
	}{
		{1, 1, 0, 0.001, 1},           // the speed is not known
		{1, 1, 1, 0, 1},               // nor the part of the task
		{1, 1, 100, 0.001, 250},       // a quarter of what is left
		{4, 0.5, 100, 0.001, 31},      // a sixteenth of it
		{1, 1, 0.1, 0.001, 150},       // 1.5 s
		{1, 1, 100, 1e-7, 4096},       // MaxChunk
		{1, 1, 0.0001, 0.001, 1},      // a task takes longer
		{1, -1e-12, 100, 0.001, 1},    // rounding
		{1000, 0.001, 100, 0.0001, 1}, // the end
		{1, 1, math.Inf(1), 1e-12, 4096},
	} {
		g := newGuide([]float64{c.task})
		g.threads, g.left, g.speed, g.results = c.threads, c.left, c.speed, math.MaxInt
		if got := g.size(0); got != c.want {
			t.Errorf("%+v: %d tasks", c, got)
		}
	}
}

// A chunk has no more tasks than a thread has counted in the mean: the first results are those of the shortest
// tasks.
func TestFirstChunksAreSmall(t *testing.T) {
	for _, c := range []struct{ threads, results, want int }{
		{1, 0, 1}, {1, 31, 1}, {1, 32, 2}, {4, 160, 10}, {100, 199, 1}, {100, 200, 2}, {100, 1 << 30, 2500},
	} {
		g := newGuide([]float64{1e-6})
		g.threads, g.left, g.speed, g.results = c.threads, 1, 1, c.results
		if got := g.size(0); got != c.want {
			t.Errorf("%d results of %d threads: %d tasks, want %d", c.results, c.threads, got, c.want)
		}
	}
}
