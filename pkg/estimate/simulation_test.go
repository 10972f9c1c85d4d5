package estimate

import (
	"math"
	"testing"
)

// Small schedules take as long, in as many chunks, as by hand.
func TestSchedule(t *testing.T) {
	t.Parallel()
	ones := func(tasks int) taskClass { return taskClass{Tasks: tasks, Mean: 1, Most: tasks} }
	type classes = []taskClass
	type plan struct {
		classes                   []taskClass
		threads                   int
		latency, longest, service float64
	}
	for _, c := range []struct {
		name string
		plan
		chunks int
		took   float64
	}{
		{"one thread waits for the first chunk only", plan{classes: classes{ones(4)}, threads: 1, latency: 0.5, longest: 1}, 4, 4.5},
		{"chunks of half of the rest: 4, 2, 1, 1", plan{classes: classes{ones(8)}, threads: 1, longest: 100}, 4, 8},
		{"of at most three: 3, 2, 1, 1, 1", plan{classes: classes{ones(8)}, threads: 1, longest: 3}, 5, 8},
		{"of one class: 1, 3, 2, 1, 1", plan{classes: classes{ones(1), ones(7)}, threads: 1, longest: 100}, 5, 8},
		{"two threads share evenly", plan{classes: classes{ones(8)}, threads: 2, longest: 1}, 8, 4},
		{"one task more", plan{classes: classes{ones(9)}, threads: 2, longest: 1}, 9, 5},
		{"a task waits for the thread that fetched it", plan{classes: classes{{Tasks: 1, Mean: 3, Most: 1}, ones(3)}, threads: 2, longest: 1}, 4, 4},
		{"a latency that fetching ahead hides", plan{classes: classes{ones(6)}, threads: 1, latency: 1, longest: 1}, 6, 7},
		{"a latency too long to hide", plan{classes: classes{ones(4)}, threads: 1, latency: 2, longest: 1}, 4, 9},
		{"a server that is faster than the threads", plan{classes: classes{ones(4)}, threads: 1, service: 0.5, longest: 1}, 4, 4.5},
		{"a server that is slower", plan{classes: classes{ones(4)}, threads: 4, service: 2, longest: 1}, 4, 9},
	} {
		s := simulation{Classes: c.classes, Threads: c.threads, Parts: 2, Longest: c.longest, Latency: c.latency, Service: c.service}
		if got := s.Run(); got.Chunks != c.chunks || math.Abs(got.Took-c.took) > 1e-9 {
			t.Errorf("%s: %d chunks take %v, want %d and %v", c.name, got.Chunks, got.Took, c.chunks, c.took)
		}
	}
}

// A part of a fleet with a part of the tasks loses about as much time as the whole fleet.
func TestScaled(t *testing.T) {
	s := simulation{Threads: 4000, Parts: 4, Longest: 1.5, Latency: 0.002, Service: 1e-5, Spread: taskSpread}
	for range 50 {
		s.Classes = append(s.Classes, taskClass{Tasks: 4001, Mean: 1, Most: 4001})
	}
	whole, part := s.Run(), s.Scaled(8)
	got := part.Run()
	if part.Threads != 500 || math.Abs(float64(got.Chunks*8)/float64(whole.Chunks)-1) > 0.01 || math.Abs(got.Ideal/whole.Ideal-1) > 0.01 ||
		got.Loss() < 0.5*whole.Loss() || got.Loss() > 2*whole.Loss() {
		t.Errorf("%d threads: %+v, loss %v, want about an eighth of %+v, loss %v", part.Threads, got, got.Loss(), whole, whole.Loss())
	}
}
