package core

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"testing"
	"time"
)

var depth = flag.Int("depth", 1,
	"faults in each life of a tiny run; one more takes several hundred times as long")

// deviations are faults at chosen places: call number i of pick with p > 0 returns at[i]. Elsewhere
// there is no fault.
type deviations struct {
	at      map[int]int
	choices []int // how many choices each pick had
}

func (d *deviations) pick(n int, p float64) int {
	if p == 0 {
		return 0
	}
	i := len(d.choices)
	d.choices = append(d.choices, n)
	return d.at[i]
}

func (d *deviations) between(low, high time.Duration) time.Duration { return low + (high-low)/8 }

// tiny has small runs. TestOrders simulates all their lives with few faults.
var tiny = map[string]setup{
	"one machine": {redundancy: 1, machines: []machine{tinyMachine(0, honest)}},
	"two machines": {redundancy: 1,
		machines: []machine{tinyMachine(0, honest), tinyMachine(1, honest)}},
	"redundancy 2": {redundancy: 2,
		machines: []machine{tinyMachine(0, honest), tinyMachine(1, honest)}},
	"a liar": {redundancy: 2,
		machines: []machine{tinyMachine(0, honest), tinyMachine(1, constant), tinyMachine(2, honest)}},
	"a deadly task": {redundancy: 1, poison: map[uint64]bool{1: true},
		machines: []machine{tinyMachine(0, honest), tinyMachine(1, honest)}},
	"a spot check": {redundancy: 1, spot: 1,
		machines: []machine{tinyMachine(0, honest), tinyMachine(1, honest)}},
	"a wrong recount": {redundancy: 2, wrong: generic,
		machines: []machine{tinyMachine(0, honest), tinyMachine(1, constant), tinyMachine(2, honest),
			tinyMachine(3, honest)}},
}

func tinyMachine(i int, lies lie) machine {
	return machine{name: fmt.Sprint("m", i), kernel: "avx2", processes: 1, searchers: 1, speed: 1,
		lies: lies, offset: uint64(10 + i)}
}

// TestOrders simulates every life of tiny runs with at most as many faults as the flag -depth says.
// Each point where a message can be lost, doubled or late, or a process can be killed, stopped, cut
// off or frozen, may have a fault.
func TestOrders(t *testing.T) {
	for name, s := range tiny {
		t.Run(name, func(t *testing.T) {
			s.classes, s.seconds, s.kernels, s.end = []uint64{2}, []float64{1, 2}, []string{generic},
				12*time.Second
			played := 0
			level := []map[int]int{{}}
			for faults := 0; faults <= *depth; faults++ {
				var next []map[int]int
				for _, at := range level {
					d := &deviations{at: at}
					w := newWorld(s, d, func(string, ...any) {})
					w.live()
					played++
					if w.failure != "" {
						t.Errorf("faults %v: %s", at, w.failure)
						if os.Getenv("NQUEENS_TRACE") != "" {
							newWorld(s, &deviations{at: at}, func(f string, args ...any) {
								fmt.Printf(f+"\n", args...)
							}).live()
						}
						return
					}
					last := -1
					for i := range at {
						last = max(last, i)
					}
					for i := last + 1; i < len(d.choices) && faults < *depth; i++ {
						for choice := 1; choice < d.choices[i]; choice++ {
							more := maps.Clone(at)
							more[i] = choice
							next = append(next, more)
						}
					}
				}
				level = next
			}
			t.Logf("%d lives", played)
		})
	}
}
