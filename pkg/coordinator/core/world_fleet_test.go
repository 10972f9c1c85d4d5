package core

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"nqueens/pkg/queens"
	"nqueens/pkg/split"
	"nqueens/pkg/symmetry"
)

var (
	fleetWorkers = flag.Int("fleet-workers", 40, "worker processes of the simulated fleet")
	fleetThreads = flag.Int("fleet-threads", 2, "threads of each worker of the simulated fleet")
	fleetHostile = flag.Int("fleet-hostile", 2, "hostile workers of the simulated fleet")
	fleetTrip    = flag.Int("fleet-round-trip", 300, "milliseconds of a round trip of the fleet")
)

// TestFleet simulates a run of five minutes by workers of a hundred owners, without faults. Tasks
// take 2.5 to 7.5 s, and need two owners. The hostile workers have owners of their own: half of
// them count wrong, and the others hoard, in all ways. The total is right, and the threads of
// honest workers search nearly all the time.
func TestFleet(t *testing.T) {
	const owners, mean, length = 100, 5, 300
	honestThreads := (*fleetWorkers - *fleetHostile) * *fleetThreads
	tasks := uint64(length * honestThreads / mean / 2)
	s := setup{redundancy: 2, kernels: []string{generic},
		classes:   []uint64{tasks - tasks/5, tasks / 5},
		roundTrip: time.Duration(*fleetTrip) * time.Millisecond,
		machines:  []machine{{name: "home", user: queens.CoordinatorUser, kernel: generic}}}
	rng := rand.New(rand.NewPCG(1, 1))
	for range tasks {
		s.seconds = append(s.seconds, mean*(0.5+rng.Float64()))
	}
	rogues := max(1, owners**fleetHostile / *fleetWorkers)
	var hoarders []queens.Machine
	for i := range *fleetWorkers {
		m := machine{name: fmt.Sprint("m", i), user: fmt.Sprint("owner", i%owners), kernel: "avx2",
			processes: 1, searchers: *fleetThreads, speed: 1}
		if i < *fleetHostile {
			m.user = fmt.Sprint("rogue", i%rogues)
			m.lies, m.offset = []lie{constant, rare, random}[i%3], uint64(1+i)
			if i%2 == 1 {
				hoarders = append(hoarders, m.id())
				continue
			}
		}
		s.machines = append(s.machines, m)
	}
	w := newWorld(s, seeded{rng}, func(string, ...any) {})
	for i, m := range hoarders {
		w.hoard(m, conducts[i%len(conducts)])
	}
	w.unchecked = true
	w.live()
	if w.failure != "" {
		t.Fatal(w.failure)
	}
	busy := w.searched.Seconds() / w.ended.Seconds() / float64(honestThreads)
	t.Logf("%d workers with %d threads, %d hostile, round trip %v: %d tasks, %v, honest threads %.1f%% "+
		"busy, the total is right", *fleetWorkers, *fleetThreads, *fleetHostile, s.roundTrip, tasks,
		w.ended.Round(time.Second), 100*busy)
	if busy < 0.95 {
		t.Errorf("the threads of honest workers were busy for %.1f%% of the time", 100*busy)
	}
}

// TestFleetIsBusy simulates a run of one worker without faults. The tasks are those of the
// splitter. Their times differ from the estimates as much as those of real tasks do. Nearly all
// threads search nearly all the time.
func TestFleetIsBusy(t *testing.T) {
	const side, threads = 22, 100
	const nodesPerSecond = 4e9 // speed of a thread
	classes, err := symmetry.Classes(side, queens.Full)
	if err != nil {
		t.Fatal(err)
	}
	s := setup{redundancy: 1, kernels: []string{generic}}
	var nodes []float64 // nodes of a task, for each class
	all := 0.0
	for i, plan := range split.PlanSizes(classes) {
		profile := split.Probe(classes[i].Board, 1<<10)
		tasks := max(1, math.Ceil(profile[plan.Depth]/float64(plan.Batch)))
		s.classes = append(s.classes, uint64(tasks))
		nodes = append(nodes, profile.NodesBelow(plan.Depth)/tasks)
		all += profile.NodesBelow(plan.Depth)
		for task := range uint64(tasks) {
			factor := 0.4 + 1.2*float64(task*2654435761%1024)/1024
			s.seconds = append(s.seconds, nodes[i]/nodesPerSecond*factor)
		}
	}
	for _, n := range nodes {
		s.shares = append(s.shares, n/all)
	}
	s.machines = []machine{{name: "m0", kernel: generic, processes: 1, searchers: threads, speed: 1}}
	w := newWorld(s, quiet{}, func(string, ...any) {})
	w.unchecked = true
	w.live()
	if w.failure != "" {
		t.Fatal(w.failure)
	}
	busy := w.searched.Seconds() / w.ended.Seconds() / threads
	t.Logf("n = %d, %d tasks, %d threads: %v, %.1f%% busy", side, len(w.truth), threads,
		w.ended.Round(time.Second/10), 100*busy)
	if busy < 0.97 {
		t.Errorf("the threads were busy for %.1f%% of the time", 100*busy)
	}
}
