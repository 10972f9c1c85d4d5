package ledger

import (
	"cmp"
	"slices"

	"nqueens/pkg/queens"
)

// facts are what was recorded of each task, in any order. A task takes 16 bytes, and each count but the first 16 more.
type facts struct {
	first    []fact // of each task; source 0 for none
	more     []fact // further counts
	recounts map[uint64][]recount
	number   uint64 // of recounts

	redundancy int

	sources   []source // from 1 on
	sourceIDs map[sourceKey]uint32
	machines  []machine
	ids       map[string]uint32 // of machines
	records   map[string]*queens.Ban
	bans      map[string]queens.Ban // derived: of the records and the verdicts
	stale     bool                  // machines are void that are not banned, or the reverse

	buffer []fact
}

// fact is a count by a source.
type fact struct {
	count  uint64
	source uint32
	next   uint32 // index in more of another count of the task, from 1; 0 for none
}

type recount struct {
	count  uint64
	kernel string
	deeper bool
}

// source is a machine and a kernel.
type source struct {
	machine uint32
	kernel  string
}

type sourceKey struct{ machine, kernel string }

type machine struct {
	name string
	void bool // the totals leave its counts out: it was banned when they were derived
}

func newFacts(h *Header) facts {
	return facts{
		first: make([]fact, h.Manifest.Tasks), more: make([]fact, 1), redundancy: h.Redundancy,
		sources: make([]source, 1), recounts: make(map[uint64][]recount),
		sourceIDs: make(map[sourceKey]uint32), ids: make(map[string]uint32), records: make(map[string]*queens.Ban),
	}
}

// source returns the id of a machine and a kernel.
func (f *facts) source(name, kernel string) (uint32, error) {
	key := sourceKey{name, kernel}
	id, known := f.sourceIDs[key]
	if known {
		return id, nil
	}
	if err := cmp.Or(queens.ValidateMachine(name), queens.ValidateName("a kernel", kernel)); err != nil {
		return 0, err
	}
	of, known := f.ids[name]
	if !known {
		of = uint32(len(f.machines))
		_, banned := f.bans[name]
		f.machines, f.ids[name] = append(f.machines, machine{name, banned}), of
	}
	id = uint32(len(f.sources))
	f.sources, f.sourceIDs[key] = append(f.sources, source{of, kernel}), id
	return id, nil
}

// addCount adds a count of a task, and reports whether it is new.
func (f *facts) addCount(task uint64, source uint32, count uint64) bool {
	last := &f.first[task]
	if last.source == 0 {
		last.count, last.source = count, source
		return true
	}
	for ; ; last = &f.more[last.next] {
		if last.source == source && last.count == count {
			return false
		}
		if last.next == 0 {
			break
		}
	}
	last.next = uint32(len(f.more))
	f.more = append(f.more, fact{count: count, source: source})
	return true
}

// addRecount adds a recount of a task, and reports whether it is new.
func (f *facts) addRecount(task uint64, r recount) bool {
	if slices.Contains(f.recounts[task], r) {
		return false
	}
	f.recounts[task] = append(f.recounts[task], r)
	f.number++
	return true
}

// addBan adds the record of a ban. Of several for a machine, that of the first task stays.
func (f *facts) addBan(b queens.Ban) {
	if other := f.records[b.Machine]; other == nil || compareBans(b, *other) < 0 {
		f.records[b.Machine] = &b
	}
}

func compareBans(a, b queens.Ban) int {
	return cmp.Or(cmp.Compare(a.Machine, b.Machine), cmp.Compare(a.Task, b.Task), cmp.Compare(a.Count, b.Count), cmp.Compare(a.Recount, b.Recount))
}

// of returns the counts of a task. They are valid until the next call.
func (f *facts) of(task uint64) []fact {
	f.buffer = f.buffer[:0]
	if c := f.first[task]; c.source != 0 {
		f.buffer = append(f.buffer, c)
		for c.next != 0 {
			c = f.more[c.next]
			f.buffer = append(f.buffer, c)
		}
	}
	return f.buffer
}

// by returns the machine of a count.
func (f *facts) by(c fact) *machine { return &f.machines[f.sources[c.source].machine] }

// outcome is what the facts of a task say.
type outcome struct {
	count    uint64 // valid if done or agree > 0
	agree    int    // machines that agree on count, those that are banned left out; 0 if it is disputed
	done     bool
	verdict  bool
	disputed bool // counts differ, those of banned machines left out, and there is no verdict
	differed bool // counts differ, those of banned machines and recounts included
	broken   bool // recounts differ
}

// checked reports whether the task is done by more than one count.
func (o *outcome) checked() bool { return o.done && (o.verdict || o.agree >= 2) }

// outcome applies the rules to a task. See fold.go.
func (f *facts) outcome(task uint64) (o outcome) {
	first := &f.first[task]
	var recounts []recount
	if len(f.recounts) > 0 {
		recounts = f.recounts[task]
	}
	if len(recounts) == 0 && first.next == 0 { // as of nearly all tasks at redundancy 1
		if first.source != 0 && !f.by(*first).void {
			o.count, o.agree, o.done = first.count, 1, f.redundancy == 1
		}
		return o
	}
	counts := f.of(task)
	var all, valid spread
	for _, r := range recounts {
		o.broken = o.broken || r.count != recounts[0].count
		all.add(r.count)
		valid.add(r.count)
	}
	for _, c := range counts {
		all.add(c.count)
		if !f.by(c).void {
			valid.add(c.count)
		}
	}
	o.differed, o.count = all.differs, valid.count
	switch {
	case len(recounts) > 0 && !o.broken && (len(recounts) > 1 || f.bearsOut(counts, recounts[0].count)):
		o.count, o.verdict = recounts[0].count, true
	case valid.differs:
		o.disputed = true
		return o
	}
	o.agree = f.agreeing(counts, o.count, false)
	o.done = o.verdict || o.agree >= f.redundancy
	return o
}

// spread tells whether numbers differ.
type spread struct {
	count   uint64 // the first number
	any     bool
	differs bool
}

func (s *spread) add(count uint64) {
	if !s.any {
		s.count, s.any = count, true
	}
	s.differs = s.differs || count != s.count
}

// bearsOut reports whether counts make one recount a verdict: one of them equals it, and no two machines agree on another.
func (f *facts) bearsOut(counts []fact, recount uint64) bool {
	for _, c := range counts {
		if c.count != recount && f.agreeing(counts, c.count, true) >= 2 {
			return false
		}
	}
	return f.agreeing(counts, recount, true) > 0
}

// agreeing returns how many machines counted that count, those that are banned left out unless void is true.
func (f *facts) agreeing(counts []fact, count uint64, void bool) (machines int) {
	for i, c := range counts {
		again := slices.ContainsFunc(counts[:i], func(d fact) bool { return d.count == count && f.by(d) == f.by(c) })
		if c.count == count && !again && (void || !f.by(c).void) {
			machines++
		}
	}
	return machines
}

// judge derives who is banned, and why: by the record, or else by the first task whose verdict one of its counts
// contradicts. Verdicts do not depend on that.
func (f *facts) judge() {
	f.bans = make(map[string]queens.Ban, len(f.records))
	for task := range f.recounts {
		o := f.outcome(task)
		for _, c := range f.of(task) {
			b := queens.Ban{Machine: f.by(c).name, Task: task, Count: c.count, Recount: o.count}
			if other, known := f.bans[b.Machine]; o.verdict && c.count != o.count && (!known || compareBans(b, other) < 0) {
				f.bans[b.Machine] = b
			}
		}
	}
	for name, b := range f.records {
		f.bans[name] = *b
	}
	f.stale = slices.ContainsFunc(f.machines, func(m machine) bool { return m.void != f.isBanned(m.name) })
}

// void makes the counts of banned machines void.
func (f *facts) void() {
	for i := range f.machines {
		f.machines[i].void = f.isBanned(f.machines[i].name)
	}
	f.stale = false
}

func (f *facts) isBanned(name string) bool {
	_, banned := f.bans[name]
	return banned
}
