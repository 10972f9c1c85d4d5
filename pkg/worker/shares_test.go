package worker

import (
	"fmt"
	"math"
	"testing"
	"time"
)

// simulation is threads that search endless queues in virtual time.
type simulation struct {
	shares shares
	now    time.Time
	times  map[string]time.Duration // of chunks
	served map[string]float64       // thread time in seconds
	ahead  int                      // chunks fetched at once by a thread
}

// newSimulation returns a simulation without runs.
func newSimulation() *simulation {
	return &simulation{
		shares: make(shares), now: time.Unix(0, 0), times: make(map[string]time.Duration),
		served: make(map[string]float64), ahead: 1,
	}
}

func (s *simulation) add(run string, weight int, chunk time.Duration) {
	s.times[run] = chunk
	s.shares.set(run, weight, s.now)
}

// thread is one thread with its chunks, of which it searches the first.
type thread struct {
	run  string
	held []*service
	ends time.Time
}

// runFor runs the threads for so long.
func (s *simulation) runFor(threads int, long time.Duration) {
	end := s.now.Add(long)
	all := make([]thread, threads)
	for {
		first := &all[0]
		for i := range all {
			if all[i].ends.Before(first.ends) {
				first = &all[i]
			}
		}
		if first.ends.After(end) {
			s.now = end
			break
		}
		if first.ends.After(s.now) {
			s.now = first.ends
		}
		s.advance(first)
	}
	for i := range all {
		for _, sv := range all[i].held {
			sv.finish(s.now.Sub(sv.begun), false)
		}
	}
}

// advance ends the search of a thread and begins its next.
func (s *simulation) advance(t *thread) {
	if len(t.held) > 0 {
		t.held[0].finish(s.now.Sub(t.held[0].begun), true)
		t.held = t.held[1:]
		s.served[t.run] += s.times[t.run].Seconds()
	}
	if len(t.held) == 0 {
		normal, low := s.shares.order(s.now)
		t.run = append(normal, low...)[0]
		for range s.ahead {
			t.held = append(t.held, s.shares.hold(t.run, s.now))
		}
	}
	t.held[0].begin(s.now, 1)
	t.ends = s.now.Add(s.times[t.run])
}

// want checks the shares of thread time: proportional to these, within 5%.
func (s *simulation) want(t *testing.T, what string, parts map[string]float64) {
	t.Helper()
	var served, all float64
	for run, part := range parts {
		served += s.served[run]
		all += part
	}
	for run, part := range parts {
		if got := s.served[run] / served * all / part; math.Abs(got-1) > 0.05 {
			t.Errorf("%s: run %s got %.3f of its share", what, run, got)
		}
	}
}

// Runs whose chunks take 1 s, 0.1 s and 0.01 s get equal thread time, on any number of threads,
// and if several chunks are fetched at once.
func TestSharesOfDifferentChunks(t *testing.T) {
	t.Parallel()
	for _, threads := range []int{1, 2, 3, 8} {
		for _, ahead := range []int{1, 10} {
			s := newSimulation()
			s.ahead = ahead
			s.add("a", 1, time.Second)
			s.add("b", 1, time.Second/10)
			s.add("c", 1, time.Second/100)
			s.runFor(threads, 4*time.Minute)
			s.want(t, fmt.Sprintf("%d threads, %d ahead", threads, ahead), map[string]float64{"a": 1, "b": 1, "c": 1})
		}
	}
}

// Twenty runs with different chunks get equal thread time.
func TestSharesOfTwentyRuns(t *testing.T) {
	t.Parallel()
	s := newSimulation()
	parts := make(map[string]float64)
	for i := range 20 {
		run := fmt.Sprint("run", i)
		s.add(run, 1, time.Duration(float64(time.Second)*math.Pow(0.8, float64(i))))
		parts[run] = 1
	}
	s.runFor(4, 3*time.Minute)
	s.want(t, "20 runs", parts)
}

// Runs get thread time by their weights. A change of a weight holds from then on.
func TestSharesByWeight(t *testing.T) {
	t.Parallel()
	s := newSimulation()
	s.add("high", 4, time.Second)
	s.add("normal", 1, time.Second/10)
	s.runFor(2, 20*time.Minute)
	s.want(t, "weights 4 and 1", map[string]float64{"high": 4, "normal": 1})
	clear(s.served)
	s.shares.set("high", 1, s.now)
	s.runFor(2, 20*time.Minute)
	s.want(t, "then equal", map[string]float64{"high": 1, "normal": 1})
}

// Runs of weight 0 come after all others, and are equal among themselves. A run that is given
// another weight joins its new class without debts or credit.
func TestSharesOfLowRuns(t *testing.T) {
	t.Parallel()
	s := newSimulation()
	s.add("low1", 0, time.Second)
	s.add("low2", 0, time.Second/100)
	s.runFor(2, 10*time.Minute)
	s.want(t, "low runs alone", map[string]float64{"low1": 1, "low2": 1})
	s.add("normal", 1, time.Second)
	clear(s.served)
	s.runFor(2, 10*time.Minute)
	if s.served["low1"]+s.served["low2"] > 0 {
		t.Errorf("beside a normal run low runs got %v", s.served)
	}
	s.shares.set("low1", 1, s.now)
	clear(s.served)
	s.runFor(2, 10*time.Minute)
	s.want(t, "raised", map[string]float64{"low1": 1, "normal": 1})
}

// A run that joins gets its share from then on: it does not catch up. Nor does one whose queue was
// empty for long.
func TestSharesOfARunThatJoins(t *testing.T) {
	t.Parallel()
	s := newSimulation()
	s.add("old", 1, time.Second)
	s.runFor(2, 20*time.Minute)
	s.add("new", 1, time.Second/10)
	clear(s.served)
	s.runFor(2, 20*time.Minute)
	s.want(t, "a run joins", map[string]float64{"old": 1, "new": 1})

	weight := s.shares["new"]
	delete(s.shares, "new")
	weight.empty = true
	s.runFor(2, 20*time.Minute) // while new has nothing
	s.shares["new"] = weight
	clear(s.served)
	s.runFor(2, 20*time.Minute)
	s.want(t, "a queue was empty", map[string]float64{"old": 1, "new": 1})
}

// A queue that was empty only for a moment costs a run nothing.
func TestSharesAfterAMomentWithoutChunks(t *testing.T) {
	t.Parallel()
	s := newSimulation()
	s.add("a", 1, time.Second)
	s.add("b", 1, time.Second/10)
	for range 600 {
		s.shares["a"].empty = true
		s.runFor(2, 2*time.Second)
	}
	s.want(t, "often empty", map[string]float64{"a": 1, "b": 1})
}

// A chunk counts with its time so far while it is searched, and with the time that it took when it is
// given up; then it is not in the mean.
func TestSharesCountAbandonedSearches(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	s := make(shares)
	s.set("a", 1, now)
	s.set("b", 1, now)
	begun, never := s.hold("a", now), s.hold("b", now)
	begun.begin(now, 1)
	now = now.Add(time.Minute)
	if a := s["a"].total(now); a != 60 {
		t.Errorf("during a search of a minute the pass is %v, want 60", a)
	}
	begun.finish(time.Minute, false)
	begun.finish(time.Hour, false) // nothing more
	never.finish(0, false)
	if a, b := s["a"].total(now), s["b"].total(now); a != 60 || b != 0 {
		t.Errorf("passes %v and %v, want 60 and 0", a, b)
	}
	if mean := s["a"].mean; mean != 0 {
		t.Errorf("the mean is %v, want none", mean)
	}
	if normal, _ := s.order(now); normal[0] != "b" {
		t.Errorf("the order is %v, want b first", normal)
	}
}
