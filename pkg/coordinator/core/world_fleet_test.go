package core

import (
	"flag"
	"fmt"
	"math"
	"testing"
	"time"

	"nqueens/pkg/queens"
	"nqueens/pkg/split"
	"nqueens/pkg/symmetry"
)

var (
	fleetSide    = flag.Int("fleet-n", 22, "side of the board that a simulated fleet counts")
	fleetThreads = flag.Int("fleet-threads", 100,
		"threads of the simulated fleet, a hundred on each machine")
)

// TestFleetIsBusy simulates a run of a large fleet without faults. The tasks are those of the
// splitter. Their times differ from the estimates as much as those of real tasks do. Nearly all
// threads search nearly all the time.
func TestFleetIsBusy(t *testing.T) {
	const nodesPerSecond = 4e9 // speed of a thread
	classes, err := symmetry.Classes(*fleetSide, queens.Full)
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
	for i := 0; i < *fleetThreads; i += 100 {
		s.machines = append(s.machines,
			machine{name: fmt.Sprint("m", i), kernel: generic, processes: 1,
				searchers: min(100, *fleetThreads-i), speed: 1})
	}
	w := newWorld(s, quiet{}, func(string, ...any) {})
	w.unchecked = true
	w.live()
	if w.failure != "" {
		t.Fatal(w.failure)
	}
	busy := w.searched.Seconds() / w.ended.Seconds() / float64(*fleetThreads)
	t.Logf("n = %d, %d tasks, %d threads: %v, %.1f%% busy", *fleetSide, len(w.truth), *fleetThreads,
		w.ended.Round(time.Second/10), 100*busy)
	if busy < 0.97 {
		t.Errorf("the threads were busy for %.1f%% of the time", 100*busy)
	}
}
