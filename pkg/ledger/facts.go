package ledger

import (
	"cmp"
	"maps"
	"slices"

	"nqueens/pkg/queens"
)

// facts hold the counts and recounts of all tasks, in any order, and the bans. A task takes 16
// bytes, and each count after its first takes 16 more.
type facts struct {
	redundancy int
	first      []fact   // the first count of each task; source 0 if there is none
	more       []fact   // further counts, from index 1 on
	recounted  []uint64 // the task of each recount

	sources  []source // by id, from 1 on
	ids      map[source]uint32
	machines map[queens.Machine]*machine
	workers  int                           // sources that are no recounts
	byUser   map[string]int                // and those of each user
	records  map[queens.Machine]queens.Ban // from ban records
	bans     map[queens.Machine]queens.Ban // derived from the records and the verdicts
	banned   map[string]int                // by invited user: its machines in bans
	judged   bool                          // the last record made judge derive the bans again
}

// fact is a count by a source.
type fact struct {
	count  uint64
	source uint32
	next   uint32 // index in more of the task's next count; 0 if there is none
}

// source says which machine makes a count, and how.
type source struct {
	*machine
	kernel  string
	recount bool   // a coordinator on the machine makes the count, as a [Recount]
	deeper  bool   // see [Recount]
	search  string // of a recount: see [Search]
}

// isLike reports whether two sources that find the same count prove no more than one of them alone.
// That holds for two recounts by the same search, which may repeat an error, and for workers of the
// same witness.
func (s source) isLike(t source) bool {
	if s.recount {
		return t.recount && s.search == t.search
	}
	return !t.recount && s.Witness() == t.Witness()
}

type machine struct {
	queens.Machine
	void bool // it is banned, or its user is
}

func newFacts(h *Header) facts {
	return facts{
		redundancy: h.Redundancy, first: make([]fact, h.Manifest.Tasks), more: make([]fact, 1),
		sources: make([]source, 1),
		ids:     make(map[source]uint32), machines: make(map[queens.Machine]*machine),
		records: make(map[queens.Machine]queens.Ban), byUser: make(map[string]int),
	}
}

// source returns the id of a source on a machine. It gives a new source the next id.
func (f *facts) source(on queens.Machine, s source) uint32 {
	m := f.machines[on]
	if m == nil {
		m = &machine{on, f.Banned(on)}
		f.machines[on] = m
	}
	s.machine = m
	id, known := f.ids[s]
	if !known {
		id = uint32(len(f.sources))
		f.sources, f.ids[s] = append(f.sources, s), id
		if !s.recount {
			f.workers++
			f.byUser[on.User]++
		}
	}
	return id
}

// add adds a count of a task. It returns false if the source has already made the same count.
func (f *facts) add(task uint64, source uint32, count uint64) bool {
	c := &f.first[task]
	for ; c.source != 0; c = &f.more[c.next] {
		if c.source == source && c.count == count {
			return false
		}
		if c.next == 0 {
			c.next = uint32(len(f.more))
			f.more = append(f.more, fact{})
		}
	}
	c.count, c.source = count, source
	if f.sources[source].recount {
		f.recounted = append(f.recounted, task)
	}
	return true
}

// Outcome is what the records of a task say.
type Outcome struct {
	Count uint64 // valid if Done or Agree > 0
	// witnesses, not banned, that agree on Count; 0 if counts that are not void differ without a
	// verdict
	Agree   int
	Done    bool
	Verdict bool
	// there is no verdict, but machines that are not banned differ, or there is a recount
	NeedsRecount bool
	Differed     bool // counts or recounts differ, void ones included
}

// Checked reports whether the task is done by more than one count.
func (o *Outcome) Checked() bool { return o.Done && (o.Verdict || o.Agree >= 2) }

// Task returns what the records of a task say, by the rules of fold.go.
func (f *facts) Task(task uint64) (o Outcome) {
	first := &f.first[task]
	if first.source == 0 {
		return o
	}
	// nearly all tasks at redundancy 1
	if by := f.sources[first.source]; first.next == 0 && !by.recount {
		if !by.void {
			o.Count, o.Agree, o.Done = first.count, 1, f.redundancy == 1
		}
		return o
	}
	sides := f.sides(make([]side, 0, 4), task)
	o.Differed = len(sides) > 1
	if v, established := verdict(sides); established {
		o.Count, o.Agree, o.Done, o.Verdict = v.count, v.valid, true, true
		return o
	}
	agreed, different := agreement(sides)
	if different == 1 {
		o.Count, o.Agree = agreed.count, agreed.valid
	}
	o.Done = o.Agree >= f.redundancy
	o.NeedsRecount = different > 1 || slices.ContainsFunc(sides, side.hasRecount)
	return o
}

// verdict returns the count that recounts have established: see rule 2 in fold.go.
func verdict(sides []side) (recounted side, established bool) {
	recounts, twice := 0, 0 // sides with a recount, and with recounts by different searches
	contradicted := false   // two witnesses agree on a count that no recount has
	for _, s := range sides {
		if s.hasRecount() {
			recounts++
		}
		if s.recounts >= 2 {
			twice++
		}
		if s.recounts > recounted.recounts {
			recounted = s
		}
		contradicted = contradicted || !s.hasRecount() && s.witnesses >= 2
	}
	confirmed := recounts == 1 && recounted.witnesses > 0 && !contradicted
	return recounted, confirmed || twice == 1
}

// agreement returns the last side that is not void, and the number of sides that are not.
func agreement(sides []side) (agreed side, different int) {
	for _, s := range sides {
		if s.hasRecount() || s.valid > 0 {
			agreed = s
			different++
		}
	}
	return agreed, different
}

// differs reports whether a count differs from a recount of the task, or from the count of a
// machine that is not banned. Such a task stays one in which counts differ, whatever else is added.
func (f *facts) differs(task, count uint64) bool {
	for c := &f.first[task]; c.source != 0; c = &f.more[c.next] {
		if by := f.sources[c.source]; c.count != count && (by.recount || !by.void) {
			return true
		}
	}
	return false
}

// workerCounts returns the counts of a task by workers, in the order of their records, those of
// banned machines included.
func (f *facts) workerCounts(task uint64) (counts []WorkerCount) {
	for c := &f.first[task]; c.source != 0; c = &f.more[c.next] {
		if by := f.sources[c.source]; !by.recount {
			counts = append(counts, WorkerCount{by.Machine, by.kernel, c.count})
		}
	}
	return counts
}

// side is a count of a task, and how often it was found.
type side struct {
	count    uint64
	recounts int // by different searches
	// witnesses counts those with a banned machine too, and valid those with another machine.
	witnesses, valid int
}

func (s side) hasRecount() bool { return s.recounts > 0 }

// sides appends to a slice one side for each different count of a task.
func (f *facts) sides(sides []side, task uint64) []side {
	for c := &f.first[task]; c.source != 0; c = &f.more[c.next] {
		i := slices.IndexFunc(sides, func(s side) bool { return s.count == c.count })
		if i < 0 {
			i = len(sides)
			sides = append(sides, side{count: c.count})
		}
		by, again, validAgain := f.sources[c.source], false, false
		for d := &f.first[task]; d != c; d = &f.more[d.next] {
			if other := f.sources[d.source]; d.count == c.count && by.isLike(other) {
				again, validAgain = true, validAgain || !other.void
			}
		}
		s := &sides[i]
		switch {
		case by.recount && !again:
			s.recounts++
		case !by.recount && !again:
			s.witnesses++
		}
		if !by.recount && !by.void && !validAgain {
			s.valid++
		}
	}
	return sides
}

// judge derives which machines are banned, and why, and how many machines of each invited user. A
// ban record gives the reason. Without one, a machine is banned if one of its counts or recounts
// contradicts a verdict, and the reason is the lowest task with a contradiction. Verdicts do not
// depend on bans.
func (f *facts) judge() {
	f.judged = true
	f.bans, f.banned = make(map[queens.Machine]queens.Ban, len(f.records)), make(map[string]int)
	for _, task := range f.recounted {
		o := f.Task(task)
		for c := &f.first[task]; o.Verdict && c.source != 0; c = &f.more[c.next] {
			if c.count != o.Count {
				keepFirst(f.bans, queens.Ban{Machine: f.sources[c.source].Machine, Task: task, Count: c.count,
					Recount: o.Count})
			}
		}
	}
	maps.Copy(f.bans, f.records)
	for m := range f.bans {
		if queens.IsInvited(m.User) {
			f.banned[m.User]++
		}
	}
}

// misjudged returns the machines that are banned and whose counts are not void, or whose counts are
// void although they are not banned.
func (f *facts) misjudged() (machines []*machine) {
	for _, m := range f.machines {
		if m.void != f.Banned(m.Machine) {
			machines = append(machines, m)
		}
	}
	return machines
}

// turn makes the counts of machines void if they are not, and else valid.
func turn(machines []*machine) {
	for _, m := range machines {
		m.void = !m.void
	}
}

// countedBy returns the tasks with a count or recount by one of the machines, in order.
func (f *facts) countedBy(machines []*machine) (tasks []uint64) {
	wanted := make([]bool, len(f.sources))
	for id := 1; id < len(f.sources); id++ {
		wanted[id] = slices.Contains(machines, f.sources[id].machine)
	}
	for task := range f.first {
		for c := &f.first[task]; c.source != 0; c = &f.more[c.next] {
			if wanted[c.source] {
				tasks = append(tasks, uint64(task))
				break
			}
		}
	}
	return tasks
}

// keepFirst adds a ban. Of several bans of a machine, only the one with the lowest task is kept.
func keepFirst(bans map[queens.Machine]queens.Ban, b queens.Ban) {
	if other, known := bans[b.Machine]; !known || compareBans(b, other) < 0 {
		bans[b.Machine] = b
	}
}

func compareBans(a, b queens.Ban) int {
	return cmp.Or(a.Machine.Compare(b.Machine), cmp.Compare(a.Task, b.Task),
		cmp.Compare(a.Count, b.Count), cmp.Compare(a.Recount, b.Recount), cmp.Compare(a.Label, b.Label))
}

// mostBans is the number of banned machines with which an invited user is banned. One bad memory
// must not void a laboratory. A machine of any other user is a witness of its own, so its ban
// suffices.
const mostBans = 3

// Banned reports whether nothing of a machine counts, because the machine or its user is banned.
func (f *facts) Banned(m queens.Machine) bool {
	_, banned := f.bans[m]
	return banned || f.UserBanned(m.User)
}

// Bannings returns a function that reports what Banned reports now. The function does not keep the
// counts in memory.
func (s *State) Bannings() func(m queens.Machine) bool {
	f := facts{bans: s.bans, banned: s.banned}
	return f.Banned
}

// UserBanned reports whether an invited user is banned: three of its machines are.
func (f *facts) UserBanned(user string) bool { return f.banned[user] >= mostBans }
