package core

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"nqueens/pkg/queens"
)

var (
	lives   = flag.Int("lives", 300, "simulated lives to play")
	minutes = flag.Int("minutes", 0, "minutes to play lives instead")
	seed    = flag.Uint64("seed", 1, "seed of the first life; 0 draws one")
)

// TestSimulation simulates lives of runs on all CPUs, each from a seed. A failure names its seed.
// -lives 1 -seed S -v repeats that life, and prints what happens in it if it fails again.
func TestSimulation(t *testing.T) {
	first := *seed
	if first == 0 {
		first = rand.Uint64() >> 1
	}
	began := time.Now()
	var next, failed atomic.Int64
	var simulated atomic.Int64
	more := func(i int64) bool {
		return failed.Load() < 10 &&
			(*minutes == 0 && i < int64(*lives) ||
				*minutes > 0 && time.Since(began) < time.Duration(*minutes)*time.Minute)
	}
	var wait sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for i := next.Add(1) - 1; more(i); i = next.Add(1) - 1 {
				w := play(first+uint64(i), func(string, ...any) {})
				simulated.Add(int64(w.now))
				if w.failure != "" {
					failed.Add(1)
					t.Errorf("seed %d: %s", first+uint64(i), w.failure)
				}
			}
		})
	}
	wait.Wait()
	played := next.Load() - int64(runtime.GOMAXPROCS(0))
	t.Logf("%d lives from seed %d on, %v each on the mean, %.0f a minute and core, %d failed", played,
		first,
		(time.Duration(simulated.Load()) / time.Duration(max(played, 1))).Round(time.Second),
		float64(played)/time.Since(began).Minutes()/float64(runtime.GOMAXPROCS(0)), failed.Load())
	if *lives == 1 && failed.Load() > 0 {
		play(first, func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) })
	}
}

// play simulates the life that a seed determines, and returns its world.
func play(seed uint64, trace func(string, ...any)) *world {
	rng := rand.New(rand.NewPCG(seed, 1))
	s := drawSetup(rng)
	s.halves = seed%4 == 0
	if s.halves {
		for i := range s.machines {
			s.machines[i].kernel = queens.HalvesPrefix + s.machines[i].kernel
		}
	}
	w := newWorld(s, seeded{rng}, trace)
	w.live()
	return w
}

// drawSetup draws the setup of a life. There are always enough honest machines for the redundancy.
func drawSetup(rng *rand.Rand) setup {
	s := setup{
		published: rng.IntN(3) == 0, redundancy: []int{1, 1, 2, 2, 2}[rng.IntN(5)],
		spot:    []float64{0, 0, 0.1, 0.3, 1}[rng.IntN(5)],
		kernels: []string{"avx512", "avx2", generic}[rng.IntN(3):], poison: map[uint64]bool{},
		dying: map[string]bool{},
		end:   time.Duration(rng.IntN(120)) * time.Second,
	}
	tasks := 0
	for range 1 + rng.IntN(3) {
		n := rng.IntN(10)
		tasks += n
		s.classes = append(s.classes, uint64(n))
	}
	seconds := []float64{0.01, 0.3, 3, 30}[rng.IntN(4)]
	for range tasks {
		s.seconds = append(s.seconds, seconds*(0.5+rng.Float64()))
	}
	if rng.IntN(12) == 0 && tasks > 0 {
		s.poison[rng.Uint64N(uint64(tasks))] = true
	}
	switch rng.IntN(12) {
	case 0:
		s.dying[s.kernels[0]] = true
	case 1:
		s.dying["all"] = true
	case 2:
		s.wrong = s.kernels[0]
	}
	liars := []int{0, 0, 0, 1, 1, 2}[rng.IntN(6)]
	lies := []lie{constant, rare, random, agreeing}[rng.IntN(4)]
	wrong := 0
	if s.wrong != "" {
		wrong = 1 // one more machine, because the first machine's recounts are wrong
	}
	for i := range s.redundancy + liars + wrong + rng.IntN(3) {
		m := machine{
			name: fmt.Sprint("m", i), kernel: []string{"avx512", "avx2", generic}[rng.IntN(3)],
			processes: 1 + rng.IntN(2)*rng.IntN(2),
			searchers: 1 + rng.IntN(3), together: rng.IntN(4) == 0,
			speed: []float64{1, 1, 1, 10}[rng.IntN(4)], offset: 10 * uint64(i+1),
		}
		if rng.IntN(3) == 0 {
			m.from = time.Duration(rng.IntN(60)) * time.Second
		}
		s.machines = append(s.machines, m)
	}
	for range liars {
		m := &s.machines[rng.IntN(len(s.machines))]
		if m.lies == honest {
			m.lies = lies
			if lies == agreeing {
				m.offset = 5
			}
		}
	}
	s.alone = len(s.machines) == 1 && rng.IntN(2) == 0
	for i := range s.secret {
		s.secret[i] = byte(rng.IntN(256))
	}
	s.hostile = !s.alone && rng.IntN(2) == 0
	if s.alone || rng.IntN(2) == 0 {
		s.machines[0].user = queens.CoordinatorUser // the coordinator's own worker
	}
	if !s.alone {
		s.addOwners(rng)
		s.roundTrip = []time.Duration{0, 0, 0, 300 * time.Millisecond, time.Second}[rng.IntN(5)]
		s.loss = []float64{0, 0, 0.05}[rng.IntN(3)]
	}
	if rng.IntN(3) == 0 {
		s.most = 10 + rng.Uint64N(30)
	}
	return s
}

// addOwners may make some machines those of invited users, and may add hostile ones: several
// machines of an invited user, and one that says that it is the coordinator's.
func (s *setup) addOwners(rng *rand.Rand) {
	if rng.IntN(2) == 0 {
		for i := range s.machines[1:] {
			s.machines[1+i].user = []string{"", fmt.Sprint("user", i)}[rng.IntN(2)]
		}
	}
	if rng.IntN(3) == 0 {
		for i := range 1 + rng.IntN(4) {
			lies := []lie{honest, constant, rare, random, agreeing}[rng.IntN(5)]
			m := machine{
				name: fmt.Sprint("x", i), user: "mallory", kernel: generic, processes: 1, searchers: 1,
				speed: 1, lies: lies, offset: 13,
			}
			if lies == agreeing {
				m.offset = 5 // as other liars in agreement have
			}
			s.machines = append(s.machines, m)
		}
	}
	if home := s.machines[0]; rng.IntN(3) == 0 && home.user == queens.CoordinatorUser {
		s.machines = append(s.machines, machine{
			name: home.name, kernel: generic, processes: 1, searchers: 1, speed: 1, lies: random, offset: 7,
		})
	}
}
