package coordinator

import (
	"flag"
	"fmt"
	"hash"
	"hash/fnv"
	"strings"
)

var eventsFlag = flag.Bool("events", false, "print every event of simulated lives")

// trace hashes all that happens, and remembers the last events for people.
type trace struct {
	hash   hash.Hash64
	recent []string
	steps  int
}

// maxRecent is the number of events that a failure shows.
const maxRecent = 80

func newTrace() trace { return trace{hash: fnv.New64a()} }

// sum returns the hash.
func (t *trace) sum() uint64 { return t.hash.Sum64() }

// last returns the last events.
func (t *trace) last() string { return strings.Join(t.recent, "\n") }

func (t *trace) add(text string) {
	_, _ = t.hash.Write([]byte(text)) // it never fails
	_, _ = t.hash.Write([]byte{'\n'})
	if len(t.recent) == maxRecent {
		t.recent = t.recent[1:]
	}
	t.recent = append(t.recent, text)
	if *eventsFlag {
		fmt.Println(text)
	}
}

// note adds an event to the trace.
func (w *world) note(format string, args ...any) {
	w.trace.add(fmt.Sprint(w.trace.steps, " ", fmt.Sprintf(format, args...)))
}

// fault reports whether something goes wrong that has a chance to.
func (w *world) fault(kind string, chance float64) bool {
	if w.quiet || chance <= 0 || w.rng.Float64() >= chance*w.faults.intensity {
		return false
	}
	w.note("fault: %s", kind)
	w.faults.note(kind)
	return true
}

func (f *faults) note(kind string) {
	f.count++
	if f.kinds == nil {
		f.kinds = make(map[string]int)
	}
	f.kinds[kind]++
}
