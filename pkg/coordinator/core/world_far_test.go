package core

import (
	"math/rand/v2"
	"testing"
	"time"
)

// A worker that is far away is as busy as a near one: at a round trip of 1 s it counts at least 95%
// as many tasks a second, and at least 90% if a twentieth of the messages is lost. Without losses,
// each task is handed out once.
func TestFarAway(t *testing.T) {
	near := farAway(t, 0, 0).perSecond()
	for _, far := range []struct {
		roundTrip time.Duration
		loss      float64
		least     float64 // part of the rate of the near worker
	}{
		{280 * time.Millisecond, 0, 0.95},
		{time.Second, 0, 0.95},
		{time.Second, 0.05, 0.9},
	} {
		w := farAway(t, far.roundTrip, far.loss)
		t.Logf("round trip %v, %v lost: %.1f tasks/s, near %.1f; %d tasks, %d handed out", far.roundTrip,
			far.loss, w.perSecond(), near, len(w.truth), w.handedOut)
		if w.perSecond() < far.least*near {
			t.Errorf("round trip %v, %v lost: %.1f tasks/s, near %.1f", far.roundTrip, far.loss,
				w.perSecond(), near)
		}
		if far.loss == 0 && w.handedOut != uint64(len(w.truth)) {
			t.Errorf("round trip %v: %d tasks are handed out, the run has %d", far.roundTrip, w.handedOut,
				len(w.truth))
		}
	}
}

func (w *world) perSecond() float64 { return float64(len(w.truth)) / w.ended.Seconds() }

// farAway simulates a run of 150 s by a worker with 64 threads, whose tasks take 0.2 to 0.6 s.
func farAway(t *testing.T, roundTrip time.Duration, loss float64) *world {
	s := setup{redundancy: 1, kernels: []string{generic}, classes: []uint64{24000},
		roundTrip: roundTrip, loss: loss}
	s.machines = []machine{{name: "m0", kernel: "avx2", processes: 1, searchers: 64, speed: 1}}
	rng := rand.New(rand.NewPCG(1, 1))
	for range s.classes[0] {
		s.seconds = append(s.seconds, 0.2+0.4*rng.Float64())
	}
	w := newWorld(s, seeded{rng}, func(string, ...any) {})
	w.unchecked = true // checks of all tasks after each event would take minutes
	w.live()
	if w.failure != "" {
		t.Errorf("round trip %v, %v lost: %s", roundTrip, loss, w.failure)
	}
	return w
}
