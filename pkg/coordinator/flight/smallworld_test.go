package flight_test

import (
	"flag"
	"fmt"
	"hash/maphash"
	"runtime"
	"strings"
	"sync"
	"testing"

	"nqueens/pkg/testkit"
)

var depth = flag.Int("depth", 4, "explore `events` after the start of each small run; one more takes about four times as long")

// deeper is how many more events are explored where the coordinator is prompt: less happens meanwhile.
const deeper = 2

// runs are the small runs.
var runs = []rules{
	{name: "losses", redundancy: 1, chunk: 1, faults: 2, deaths: 1},
	{name: "chunks of two tasks", redundancy: 1, chunk: 2, faults: 2, deaths: 1},
	{name: "a stranger that lies", redundancy: 1, share: 1, referee: true, checks: true, liar: true, stranger: true, chunk: 3, prompt: true, faults: 1, deaths: 1},
	{name: "a voter that lies", redundancy: 1, share: 1, liar: true, chunk: 3, prompt: true, faults: 1, deaths: 1},
	{name: "two voters", redundancy: 2, chunk: 3, prompt: true, faults: 2, deaths: 1},
	{name: "two voters, one lies", redundancy: 2, referee: true, share: 1, liar: true, chunk: 3, prompt: true, faults: 1, deaths: 1},
}

// Whatever happens in a small run, what must hold holds, and the run ends once the faults stop.
func TestSmallWorlds(t *testing.T) {
	states := 0
	for _, r := range runs {
		t.Run(r.name, func(t *testing.T) {
			s := newSearch(&r)
			most := *depth
			if r.prompt {
				most += deeper
			}
			s.run(t, most)
			t.Logf("%d states", len(s.seen))
			states += len(s.seen)
		})
	}
	fmt.Printf("small worlds: %d states, all within %d to %d events\n", states, *depth, *depth+deeper)
}

// The same holds after long sequences of random events with more faults.
func TestLongWalks(t *testing.T) {
	rng := testkit.Rand(t)
	for range 100 {
		for _, r := range runs {
			r.faults, r.deaths = 6, 2
			w := newWorld(&r)
			for step := 0; step < 60 && w.wrong == ""; step++ {
				w.play(rng.IntN(len(w.events())))
				w.check()
			}
			w.finish()
			if w.wrong != "" {
				t.Fatal(w.describe())
			}
		}
	}
}

// search is a breadth-first search over the states of a world. A path is the indexes of the events that lead to a
// state.
type search struct {
	rules *rules
	seed  maphash.Seed
	mu    sync.Mutex
	seen  map[uint64]bool
	next  [][]byte
	wrong *world
}

func newSearch(r *rules) *search {
	return &search{rules: r, seed: maphash.MakeSeed(), seen: make(map[uint64]bool)}
}

// run looks at every state that can be reached with so many events.
func (s *search) run(t *testing.T, depth int) {
	s.look(newWorld(s.rules), nil)
	for range depth {
		paths := s.next
		s.next = nil
		work := make(chan []byte)
		var group sync.WaitGroup
		for range runtime.GOMAXPROCS(0) {
			group.Go(func() {
				for path := range work {
					s.expand(path)
				}
			})
		}
		for _, path := range paths {
			work <- path
		}
		close(work)
		group.Wait()
		if w := s.wrong; w != nil {
			t.Fatal(w.describe())
		}
	}
}

// expand looks at all states that follow the state at the end of a path.
func (s *search) expand(path []byte) {
	w := s.replay(path)
	for i := range len(w.events()) {
		if i > 0 {
			w = s.replay(path)
		}
		w.play(i)
		w.check()
		s.look(w, append(path[:len(path):len(path)], byte(i)))
	}
}

// look takes up a state, unless it is known. From some states it lets the run go on to its end.
func (s *search) look(w *world, path []byte) {
	hash := maphash.String(s.seed, w.String())
	s.mu.Lock()
	known := s.seen[hash]
	if !known {
		s.seen[hash] = true
		s.next = append(s.next, path)
	}
	number := len(s.seen)
	s.mu.Unlock()
	if !known && w.wrong == "" && number%finished == 0 {
		w.trace = append(w.trace, event{what: "the faults end"})
		w.finish()
	}
	if w.wrong != "" {
		s.mu.Lock()
		s.wrong = w
		s.mu.Unlock()
	}
}

// finished is the number of states of which one is continued to the end of the run.
const finished = 8

// replay returns the state at the end of a path.
func (s *search) replay(path []byte) *world {
	w := newWorld(s.rules)
	for _, i := range path {
		w.play(int(i))
	}
	return w
}

// describe says what is wrong, and how it came.
func (w *world) describe() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, after:\n", w.name, w.wrong)
	for _, e := range w.trace {
		fmt.Fprintln(&b, e)
	}
	b.WriteString(w.String())
	return b.String()
}

// play plays the next event of an index.
func (w *world) play(i int) {
	e := w.events()[i]
	w.trace = append(w.trace, e)
	e.play()
	w.settle()
}
