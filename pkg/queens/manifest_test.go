package queens_test

import (
	"math/rand/v2"
	"testing"

	"nqueens/pkg/queens"
)

// ClassOf returns the class of a task, also after classes without tasks. TasksOf returns the number
// of tasks of a class.
func TestClassOf(t *testing.T) {
	for _, sizes := range [][]int{
		{1}, {5}, {2, 3}, {0, 1}, {1, 0}, {0, 0, 4}, {4, 0, 0}, {2, 0, 3}, {2, 0, 0, 3},
		{0, 2, 0, 0, 1, 0}, {1, 1, 1, 1},
	} {
		checkClassOf(t, sizes)
	}
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 0))
		sizes := make([]int, 1+rng.IntN(9))
		for i := range sizes {
			sizes[i] = max(0, rng.IntN(12)-4)
		}
		checkClassOf(t, sizes)
	}
}

// checkClassOf checks ClassOf and TasksOf on classes with the given numbers of tasks.
func checkClassOf(t *testing.T, sizes []int) {
	t.Helper()
	var m queens.Manifest
	var classOf []int
	for class, size := range sizes {
		m.Classes = append(m.Classes, queens.ClassPlan{First: m.Tasks})
		m.Tasks += uint64(size)
		for range size {
			classOf = append(classOf, class)
		}
	}
	for id, want := range classOf {
		if got := m.ClassOf(uint64(id)); got != want {
			t.Errorf("classes of %v tasks: task %d is of class %d, want %d", sizes, id, got, want)
		}
	}
	for class, want := range sizes {
		if got := m.TasksOf(class); got != uint64(want) {
			t.Errorf("classes of %v tasks: class %d has %d tasks", sizes, class, got)
		}
	}
}

// ClassOf and TasksOf work for ids up to 2^64-1.
func TestClassOfLargeIDs(t *testing.T) {
	m := queens.Manifest{Classes: []queens.ClassPlan{{First: 0}, {First: 1 << 63}, {First: 1<<64 - 1}},
		Tasks: 1<<64 - 1}
	for id, want := range map[uint64]int{0: 0, 1<<63 - 1: 0, 1 << 63: 1, 1<<64 - 2: 1} {
		if got := m.ClassOf(id); got != want {
			t.Errorf("task %d is of class %d, want %d", id, got, want)
		}
	}
	for class, want := range []uint64{1 << 63, 1<<63 - 1, 0} {
		if got := m.TasksOf(class); got != want {
			t.Errorf("class %d has %d tasks, want %d", class, got, want)
		}
	}
}
