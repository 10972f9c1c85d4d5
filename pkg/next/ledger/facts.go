package ledger

import (
	"cmp"
	"slices"

	"nqueens/pkg/queens"
)

// facts are what was recorded of each task, in any order. At redundancy 1 a task takes 12 bytes.
type facts struct {
	// first is the first count of each task, by sources: 0 for none. rareBit says that rare has more of the task.
	first   []uint64
	sources []source
	by      []uint32
	// agree are the sources of counts that equal the first one: an array for each further machine that is asked for.
	agree [][]uint32
	rare  map[uint64]*rare

	sourceIDs map[sourceKey]uint32
	machines  []machine
	ids       map[string]uint32
	recounted []uint64 // tasks with a recount
	recounts  uint64
	buffer    []fact
	stale     bool // who is banned has changed
}

const rareBit = 1 << 31

// fact is a count by a source.
type fact struct {
	source uint32
	count  uint64
}

// rare is what few tasks have.
type rare struct {
	facts    []fact
	recounts []recount
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
	name    string
	ban     *queens.Ban // by a record
	against int         // counts that contradict a verdict
	void    bool        // the machine is banned, as far as the totals know
}

func (m *machine) isBanned() bool { return m.ban != nil || m.against > 0 }

func newFacts(h *Header) facts {
	tasks := h.Manifest.Tasks
	f := facts{
		first: make([]uint64, tasks), by: make([]uint32, tasks), sources: make([]source, 1), agree: make([][]uint32, h.Redundancy-1),
		rare: make(map[uint64]*rare), sourceIDs: make(map[sourceKey]uint32), ids: make(map[string]uint32),
	}
	for i := range f.agree {
		f.agree[i] = make([]uint32, tasks)
	}
	return f
}

// source returns the id of a machine and a kernel.
func (f *facts) source(machine, kernel string) (uint32, error) {
	key := sourceKey{machine, kernel}
	id, known := f.sourceIDs[key]
	if known {
		return id, nil
	}
	if err := cmp.Or(queens.ValidateMachine(machine), queens.ValidateName("a kernel", kernel)); err != nil {
		return 0, err
	}
	id = uint32(len(f.sources))
	f.sources = append(f.sources, source{f.machine(machine), kernel})
	f.sourceIDs[key] = id
	return id, nil
}

// machine returns the id of a machine.
func (f *facts) machine(name string) uint32 {
	id, known := f.ids[name]
	if !known {
		id = uint32(len(f.machines))
		f.machines = append(f.machines, machine{name: name})
		f.ids[name] = id
	}
	return id
}

// addCount adds a count of a task, and reports whether it is new.
func (f *facts) addCount(task uint64, source uint32, count uint64) bool {
	added := fact{source, count}
	if f.by[task] == 0 {
		f.first[task], f.by[task] = count, source
		return true
	}
	if slices.Contains(f.of(task), added) {
		return false
	}
	if count == f.first[task] && f.by[task]&^rareBit != 0 {
		for _, more := range f.agree {
			if more[task] == 0 {
				more[task] = source
				return true
			}
		}
	}
	r := f.rareOf(task)
	r.facts = append(r.facts, added)
	return true
}

// addRecount adds a recount of a task, and reports whether it is new.
func (f *facts) addRecount(task uint64, added recount) bool {
	r := f.rareOf(task)
	if slices.Contains(r.recounts, added) {
		return false
	}
	if len(r.recounts) == 0 {
		f.recounted = append(f.recounted, task)
	}
	r.recounts = append(r.recounts, added)
	f.recounts++
	return true
}

// rareOf returns what is rare of a task, to change it.
func (f *facts) rareOf(task uint64) *rare {
	if f.rare[task] == nil {
		f.rare[task] = new(rare)
		f.by[task] |= rareBit
	}
	return f.rare[task]
}

// addBan adds the record of a ban. Of several for a machine, the one of the first task stays.
func (f *facts) addBan(b *queens.Ban) {
	m := &f.machines[f.machine(b.Machine)]
	if m.ban == nil || compareBans(b, m.ban) < 0 {
		m.ban = new(*b)
	}
	f.checkBans()
}

func compareBans(a, b *queens.Ban) int {
	return cmp.Or(cmp.Compare(a.Machine, b.Machine), cmp.Compare(a.Task, b.Task), cmp.Compare(a.Count, b.Count), cmp.Compare(a.Recount, b.Recount))
}

// of returns the counts of a task. They are valid until the next call.
func (f *facts) of(task uint64) []fact {
	f.buffer = f.buffer[:0]
	by := f.by[task]
	if source := by &^ rareBit; source != 0 {
		f.buffer = append(f.buffer, fact{source, f.first[task]})
		for _, more := range f.agree {
			if source := more[task]; source != 0 {
				f.buffer = append(f.buffer, fact{source, f.first[task]})
			}
		}
	}
	if by&rareBit != 0 {
		f.buffer = append(f.buffer, f.rare[task].facts...)
	}
	return f.buffer
}

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
	counts := f.of(task)
	redundancy := 1 + len(f.agree)
	var recounts []recount
	if f.by[task]&rareBit != 0 {
		recounts = f.rare[task].recounts
	} else if len(counts) == 0 {
		return o
	} else if len(counts) == 1 { // as nearly all are at redundancy 1
		if !f.isVoid(counts[0]) {
			o.count, o.agree, o.done = counts[0].count, 1, redundancy == 1
		}
		return o
	}
	all, valid := spread{}, spread{}
	for _, r := range recounts {
		o.broken = o.broken || r.count != recounts[0].count
		all.add(r.count)
		valid.add(r.count)
	}
	for _, c := range counts {
		all.add(c.count)
		if !f.isVoid(c) {
			valid.add(c.count)
		}
	}
	o.differed = all.differs
	if len(recounts) > 0 && !o.broken && (len(recounts) > 1 || f.bearsOut(counts, recounts[0].count)) {
		o.count, o.verdict, o.done = recounts[0].count, true, true
	} else if o.disputed = valid.differs; o.disputed {
		return o
	} else {
		o.count = valid.count
	}
	o.agree = f.agreeing(counts, o.count, false)
	o.done = o.verdict || o.agree >= redundancy
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
		if c.count != count || !void && f.isVoid(c) {
			continue
		}
		again := slices.ContainsFunc(counts[:i], func(d fact) bool {
			return d.count == count && f.sources[d.source].machine == f.sources[c.source].machine
		})
		if !again {
			machines++
		}
	}
	return machines
}

func (f *facts) isVoid(c fact) bool { return f.machines[f.sources[c.source].machine].void }

// accuse notes the counts of a task that contradict its verdict, or takes that back if times is -1.
func (f *facts) accuse(task uint64, o *outcome, times int) {
	if o.verdict {
		for _, c := range f.of(task) {
			if c.count != o.count {
				f.machines[f.sources[c.source].machine].against += times
			}
		}
	}
}

// checkBans notes whether other machines are banned than the totals know.
func (f *facts) checkBans() {
	f.stale = slices.ContainsFunc(f.machines, func(m machine) bool { return m.void != m.isBanned() })
}

// judge derives who is banned, and returns the names of those who were not before, sorted. Verdicts do not depend on that.
func (f *facts) judge() (banned []string) {
	for i := range f.machines {
		f.machines[i].against = 0
	}
	for _, task := range f.recounted {
		o := f.outcome(task)
		f.accuse(task, &o, 1)
	}
	for i := range f.machines {
		m := &f.machines[i]
		if m.isBanned() && !m.void {
			banned = append(banned, m.name)
		}
		m.void = m.isBanned()
	}
	f.stale = false
	slices.Sort(banned)
	return banned
}

// bans returns why machines are banned.
func (f *facts) bans() (bans []queens.Ban) {
	why := make(map[string]queens.Ban)
	for _, task := range f.recounted {
		o := f.outcome(task)
		for _, c := range f.of(task) {
			m := &f.machines[f.sources[c.source].machine]
			if b := (queens.Ban{Machine: m.name, Task: task, Count: c.count, Recount: o.count}); o.verdict && c.count != o.count {
				if other, known := why[m.name]; !known || compareBans(&b, &other) < 0 {
					why[m.name] = b
				}
			}
		}
	}
	for i := range f.machines {
		if m := &f.machines[i]; m.ban != nil {
			why[m.name] = *m.ban
		}
	}
	for _, b := range why {
		bans = append(bans, b)
	}
	slices.SortFunc(bans, func(a, b queens.Ban) int { return compareBans(&a, &b) })
	return bans
}
