package coordinator

import (
	"fmt"
	"reflect"
	"time"

	"nqueens/pkg/run"
)

// traits is what a hostile worker does. An honest one has none.
type traits struct {
	lying   lying
	wrong   uint64      // how much more it counts when it lies; colluding workers have the same
	keys    []signature // that it signs with in turn; none: only with its own
	bare    float64     // chance of a repetition without the proof that its key is admitted
	garbage float64     // chance of a chunk with other hashes
	partial float64     // chance of a chunk of which it reports the first tasks only
	repeats float64     // chance of a result that it reports again
	ignores float64     // chance of a chunk that it acknowledges without a result
	unasked float64     // chance of a result of a chunk that it has not taken
	hoards  bool        // it keeps its chunks for ever
	claims  bool        // its heartbeats name chunks that it does not hold
	absurd  bool        // the times of its searches are
}

// String returns what a worker does.
func (t traits) String() string {
	if reflect.DeepEqual(t, traits{}) {
		return "honest"
	}
	type plain traits
	return fmt.Sprintf("%+v", plain(t))
}

// signature is a key, and the proof that it is admitted, or nil.
type signature struct {
	key       string
	admission []byte
}

type lying int

const (
	never lying = iota
	always
	rarely
	chosen // on some tasks, the same ones as others
)

// isDisruptive reports whether no run ends in a bounded time while enough of such workers are there.
func (t *traits) isDisruptive() bool {
	return t.garbage > 0 || t.partial > 0 || t.repeats > 0 || t.ignores > 0 || t.unasked > 0 || t.hoards || t.claims || t.absurd
}

// lies reports whether a worker counts a task wrong.
func (p *worker) lies(task uint64) bool {
	switch p.traits.lying {
	case always:
		return true
	case rarely:
		return p.w.chance(0.1)
	case chosen:
		return task%5 == 0
	case never:
	}
	return false
}

func (w *world) chance(c float64) bool { return w.rng.Float64() < c }

// identity returns the key with which a worker signs now.
func (p *worker) identity() (key string, admission []byte) {
	if n := len(p.traits.keys); n > 0 {
		s := p.traits.keys[p.chunks%n]
		return s.key, s.admission
	}
	return p.key, p.admission
}

// tellUnasked reports a chunk that the worker has not taken.
func (p *worker) tellUnasked() {
	w := p.w
	if n := len(w.queue.messages); n > 0 && p.traits.unasked > 0 && w.chance(p.traits.unasked) && !w.stream.full {
		w.faults.note("result of a chunk that was not taken")
		m := w.queue.messages[w.rng.IntN(n)]
		p.report(m.chunk, time.Now().Add(-w.setup.search))
		if w.chance(0.3) {
			w.queue.remove(m.sequence, m.chunk.ID)
		}
	}
}

// lie is a wrong count of a task.
type lie struct{ task, count uint64 }

// lies has the keys that reported each wrong count, and whether each was admitted.
type lies map[lie]map[string]bool

func (l lies) add(one lie, key string, admitted bool) {
	if l[one] == nil {
		l[one] = make(map[string]bool)
	}
	l[one][key] = l[one][key] || admitted
}

// admitted returns the number of admitted keys that reported a wrong count.
func (l lies) admitted(one lie) (n int) {
	for _, admitted := range l[one] {
		if admitted {
			n++
		}
	}
	return n
}

// has reports whether a key has ever lied.
func (l lies) has(key string) bool {
	for _, keys := range l {
		if _, lied := keys[key]; lied {
			return true
		}
	}
	return false
}

// cast draws the workers.
func (w *world) cast() {
	honest := 1 + w.rng.IntN(4)
	if len(w.setup.deadly) > 0 { // workers of three keys must die of a task
		honest = max(honest, 3)
	}
	for range honest {
		w.join([]byte{1})
	}
	if w.rng.IntN(5) == 0 {
		w.workers[0].own = true
	}
	if w.setup.redundancy == 1 {
		for range w.rng.IntN(3) {
			w.join(nil)
		}
	}
	for range w.rng.IntN(5) {
		w.joinHostile()
	}
}

// join adds an honest worker with a key of its own.
func (w *world) join(admission []byte) *worker {
	id := w.newID()
	p := &worker{
		w: w, name: fmt.Sprint("w", id), key: fmt.Sprint("k", id), admission: admission,
		threads: 1 + w.rng.IntN(3), counted: make(map[uint64]bool),
	}
	w.workers = append(w.workers, p)
	return p
}

// joinHostile adds a worker that is not honest.
func (w *world) joinHostile() {
	p := w.join(pick(w.rng, nil, []byte{1}, []byte{1}))
	t := &p.traits
	t.lying = pick(w.rng, never, always, rarely, chosen, chosen)
	t.wrong = pick(w.rng, 1, 1, w.newID(), 1<<40)
	some := func() float64 { return pick(w.rng, 0, 0, 0, 0, 0, 0.2, 1) }
	t.bare, t.garbage, t.partial, t.repeats = some(), some(), some(), some()/2
	t.ignores, t.unasked = some(), some()/4
	t.hoards, t.claims, t.absurd = w.rng.IntN(8) == 0, w.rng.IntN(10) == 0, w.rng.IntN(12) == 0
	if w.rng.IntN(4) == 0 { // an owner of many keys
		for i := range 2 + w.rng.IntN(3) {
			t.keys = append(t.keys, signature{fmt.Sprint(p.key, "-", i), pick(w.rng, nil, []byte{1})})
		}
	}
	if w.rng.IntN(8) == 0 { // a stolen key
		victim := w.workers[w.rng.IntN(len(w.workers))]
		t.keys = append(t.keys, signature{victim.key, victim.admission})
	}
	if w.rng.IntN(4) == 0 { // a stolen name
		p.name = w.workers[w.rng.IntN(len(w.workers))].name
	}
	if w.rng.IntN(20) == 0 { // the name of the coordinator
		p.name = run.Referee + " "
	}
}
