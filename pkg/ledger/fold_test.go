package ledger

import (
	"fmt"
	"maps"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"nqueens/pkg/queens"
	"nqueens/pkg/split"
	"nqueens/pkg/symmetry"
)

// newHeader returns the header of a run of at least 7 tasks in two classes, of a board of side 7.
func newHeader(t testing.TB, redundancy int) *Header {
	t.Helper()
	classes, err := symmetry.Classes(7, queens.Mirror)
	if err != nil {
		t.Fatal(err)
	}
	m, _, err := split.Plan(t.Context(), 7, queens.Mirror, classes, 2)
	if err != nil || m.Tasks < 7 || len(m.Classes) != 2 {
		t.Fatal(m.Tasks, err)
	}
	return &Header{Format: Format, Run: "n7-a", Manifest: m, Redundancy: redundancy, SpotCheck: 0.01, Created: time.UnixMilli(1e12).UTC()}
}

// result returns a result of machine "a", or of "a/avx2": with a kernel. The kernel is generic if none is named.
func result(by string, first uint64, counts ...uint64) *Result {
	machine, kernel, named := strings.Cut(by, "/")
	if !named {
		kernel = "generic"
	}
	return &Result{
		Machine: machine, Process: "p1", Kernel: kernel, Range: queens.Range{First: first, Tasks: uint64(len(counts))},
		Hash: 0x123456789abcdef0, Counts: counts, Searched: time.Second, At: time.UnixMilli(1e12).UTC(),
	}
}

func recounted(task, count uint64, kernel string) *Recount {
	return &Recount{Task: task, Count: count, Machine: "home", Kernel: kernel, Why: Dispute}
}

func ban(machine string) *Ban {
	return &Ban{Ban: queens.Ban{Machine: machine, Task: 1, Count: 1, Recount: 2}}
}

func mark(s queens.State) *Mark {
	m := &Mark{State: s, Solutions: new(queens.Decimal), At: time.UnixMilli(1e12).UTC()}
	if s == queens.Complete {
		m.Total = new(queens.Decimal)
	}
	return m
}

func stateOf(t testing.TB, h *Header, records ...Record) *State {
	t.Helper()
	s := NewState(h)
	for _, r := range records {
		if _, err := s.Apply(r); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// model is the rules at the top of fold.go, as plainly as possible.
type model struct {
	redundancy int
	counts     map[uint64]map[modelCount]string // by task: what was counted by which source, and the source's machine
	recounts   map[uint64]map[modelRecount]bool
	byRecord   map[string]bool
}

type modelCount struct {
	machine, kernel string
	count           uint64
}

type modelRecount struct {
	count           uint64
	machine, kernel string
	deeper          bool
}

func newModel(redundancy int, records []Record) *model {
	m := &model{redundancy, make(map[uint64]map[modelCount]string), make(map[uint64]map[modelRecount]bool), make(map[string]bool)}
	for _, r := range records {
		switch r := r.(type) {
		case *Result:
			for i, count := range r.Counts {
				task := r.First + uint64(i)
				if m.counts[task] == nil {
					m.counts[task] = make(map[modelCount]string)
				}
				m.counts[task][modelCount{r.Machine, r.Kernel, count}] = r.Machine
			}
		case *Recount:
			if m.recounts[r.Task] == nil {
				m.recounts[r.Task] = make(map[modelRecount]bool)
			}
			m.recounts[r.Task][modelRecount{r.Count, r.Machine, r.Kernel, r.Deeper}] = true
		case *Ban:
			m.byRecord[r.Machine] = true
		}
	}
	return m
}

// machines returns who counted what; without void, those that are not banned.
func (m *model) machines(task uint64, void bool) map[uint64]map[string]bool {
	by := make(map[uint64]map[string]bool)
	for f, machine := range m.counts[task] {
		if void || !m.banned(machine) {
			if by[f.count] == nil {
				by[f.count] = make(map[string]bool)
			}
			by[f.count][machine] = true
		}
	}
	return by
}

func (m *model) verdict(task uint64) (count uint64, ok bool) {
	found := make(map[uint64]int)
	searches := make(map[modelRecount]bool)
	for r := range m.recounts[task] {
		r.machine = ""
		searches[r] = true
	}
	for r := range searches {
		found[r.count]++
	}
	for recount, times := range found {
		if times > 1 && ok {
			return 0, false
		}
		if times > 1 {
			count, ok = recount, true
		}
	}
	if ok || len(found) != 1 {
		return count, ok
	}
	by := m.machines(task, true)
	for recount := range found {
		count, ok = recount, len(by[recount]) > 0
	}
	for other, machines := range by {
		ok = ok && (other == count || len(machines) < 2)
	}
	return count, ok
}

func (m *model) banned(machine string) bool {
	for task := range m.recounts {
		if count, ok := m.verdict(task); ok {
			for f, by := range m.counts[task] {
				if by == machine && f.count != count {
					return true
				}
			}
			for r := range m.recounts[task] {
				if r.machine == machine && r.count != count {
					return true
				}
			}
		}
	}
	return m.byRecord[machine]
}

func (m *model) outcome(task uint64) (o Outcome) {
	valid, all, recounts := m.machines(task, false), m.machines(task, true), make(map[uint64]bool)
	for r := range m.recounts[task] {
		recounts[r.count] = true
		for _, by := range []map[uint64]map[string]bool{valid, all} {
			if by[r.count] == nil {
				by[r.count] = nil
			}
		}
	}
	o.Count, o.Verdict = m.verdict(task)
	o.Differed = len(all) > 1
	if !o.Verdict {
		for count := range valid {
			o.Count = count
		}
	}
	if o.Verdict || len(valid) == 1 {
		o.Agree = len(valid[o.Count])
	}
	o.Done = o.Verdict || o.Agree >= m.redundancy
	o.NeedsRecount = !o.Verdict && len(valid)+len(recounts) > 1
	return o
}

// check compares a state with the model.
func (m *model) check(t *testing.T, s *State) {
	t.Helper()
	want := totals{doneOf: make([]uint64, len(s.header.Manifest.Classes))}
	solutions := new(big.Int)
	for task := range s.header.Manifest.Tasks {
		o, got := m.outcome(task), s.Task(task)
		if !o.Done && o.Agree == 0 {
			o.Count = got.Count
		}
		if got != o {
			t.Fatalf("task %d: %+v, want %+v", task, got, o)
		}
		for total, holds := range map[*uint64]bool{
			&want.done: o.Done, &want.checked: o.Done && (o.Verdict || o.Agree > 1), &want.unsettled: o.NeedsRecount, &want.differed: o.Differed,
		} {
			if holds {
				*total++
			}
		}
		if class := s.header.Manifest.ClassOf(task); o.Done {
			weight := s.header.Manifest.Classes[class].Weight
			want.doneOf[class]++
			want.sums.Add(weight, o.Count)
			solutions.Add(solutions, new(big.Int).SetUint64(o.Count*uint64(weight)))
		}
	}
	if fmt.Sprint(s.totals) != fmt.Sprint(want) || s.Solutions().Cmp(solutions) != 0 {
		t.Fatalf("%+v of %v solutions, want %+v of %v", s.totals, s.Solutions(), want, solutions)
	}
	for _, machine := range []string{"a", "b", "c", "d"} {
		if s.Banned(machine) != m.banned(machine) {
			t.Fatalf("machine %s is banned: %v", machine, s.Banned(machine))
		}
	}
}

// randomRecords returns records that often contradict each other.
func randomRecords(rng *rand.Rand) (records []Record) {
	count := func() uint64 { return 1 + uint64(max(0, rng.IntN(8)-6)) }
	by := func() string { return string(rune('a'+rng.IntN(4))) + []string{"/avx2", "/generic"}[rng.IntN(2)] }
	for range rng.IntN(24) {
		switch rng.IntN(8) {
		case 0, 1:
			r := recounted(rng.Uint64N(3), count(), []string{"avx2", "generic"}[rng.IntN(2)])
			r.Deeper, r.Machine = rng.IntN(4) == 0, by()[:1]
			records = append(records, r)
		case 2:
			if rng.IntN(3) == 0 {
				records = append(records, ban(by()[:1]))
			}
		default:
			counts := []uint64{count(), count(), count()}
			records = append(records, result(by(), rng.Uint64N(4), counts[:1+rng.IntN(3)]...))
		}
	}
	return records
}

// The state of random records is that of the model, in any order, with repetitions, all at once or one by one.
func TestFoldIsTheModel(t *testing.T) {
	headers := []*Header{newHeader(t, 1), newHeader(t, 2), newHeader(t, 3)}
	for seed := range uint64(1500) {
		rng := rand.New(rand.NewPCG(seed, 0))
		h := headers[seed%3]
		records := randomRecords(rng)
		m := newModel(h.Redundancy, records)
		rng.Shuffle(len(records), func(i, k int) { records[i], records[k] = records[k], records[i] })
		s := NewState(h)
		s.stale = true
		for _, r := range records {
			s.apply(r)
		}
		s.settle()
		m.check(t, s)
		records = append(records, records...)
		rng.Shuffle(len(records), func(i, k int) { records[i], records[k] = records[k], records[i] })
		again := NewState(h)
		for i, r := range records {
			before, bans := outcomes(again), fmt.Sprint(again.Bans())
			change, err := again.Apply(r)
			if err != nil {
				t.Fatal(err)
			}
			if i%8 == 0 {
				newModel(h.Redundancy, records[:i+1]).check(t, again)
			}
			for task, after := range outcomes(again) {
				if after != before[task] && fmt.Sprint(again.Bans()) == bans && !slices.Contains(change.Tasks, uint64(task)) {
					t.Fatalf("seed %d: %+v changes task %d, and nothing says so", seed, r, task)
				}
			}
		}
		m.check(t, again)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
		for task := range h.Manifest.Tasks {
			if !maps.Equal(countsOf(s, task), countsOf(again, task)) {
				t.Fatalf("seed %d: task %d: %v, %v", seed, task, s.Counts(task), again.Counts(task))
			}
		}
		if fmt.Sprint(s.Bans(), s.Unsettled(), s.Confirmation(nil), s.Solutions()) != fmt.Sprint(again.Bans(), again.Unsettled(), again.Confirmation(nil), again.Solutions()) {
			t.Fatalf("seed %d: the order changes the state", seed)
		}
	}
}

func countsOf(s *State, task uint64) map[Count]bool {
	set := make(map[Count]bool)
	for _, c := range s.Counts(task) {
		set[c] = true
	}
	return set
}

func outcomes(s *State) (all []Outcome) {
	for task := range s.header.Manifest.Tasks {
		all = append(all, s.Task(task))
	}
	return all
}

func TestRule1(t *testing.T) {
	s := stateOf(t, newHeader(t, 1), result("a", 3, 5))
	if !s.Task(3).Done {
		t.Fatal("one count at redundancy 1 is not enough")
	}
	if c, _ := s.Apply(result("b", 3, 6)); s.Task(3).Done || !slices.Equal(c.Tasks, []uint64{3}) {
		t.Fatal("a count that differs does not open a dispute of a task that is done")
	}
	if !s.Task(3).NeedsRecount || s.Disputes() != 1 || !slices.Equal(s.Unsettled(), []uint64{3}) {
		t.Fatal(s.Task(3), s.Disputes(), s.Unsettled())
	}
}

func TestRule2(t *testing.T) {
	deeper, other, worse := recounted(1, 9, "generic"), recounted(1, 9, "generic"), recounted(1, 5, "generic")
	deeper.Deeper, other.Machine, worse.Machine = true, "d", "d"
	for _, c := range []struct {
		about   string
		records []Record
		verdict bool
		needed  bool
		banned  string
	}{
		{"a recount that equals a count", []Record{result("a", 1, 5), result("b", 1, 9), recounted(1, 9, "avx2")}, true, false, "[a]"},
		{"a recount that equals no count", []Record{result("a", 1, 5), result("b", 1, 6), recounted(1, 9, "avx2")}, false, true, "[]"},
		{"two recounts that equal no count", []Record{result("a", 1, 5), result("b", 1, 6), recounted(1, 9, "avx2"), recounted(1, 9, "generic")}, true, false, "[a b]"},
		{"the same recount twice", []Record{result("a", 1, 5), result("b", 1, 6), recounted(1, 9, "generic"), recounted(1, 9, "generic")}, false, true, "[]"},
		{"the second one row deeper", []Record{result("a", 1, 5), result("b", 1, 6), recounted(1, 9, "generic"), deeper}, true, false, "[a b]"},
		{"two machines against", []Record{result("a", 1, 5), result("b", 1, 5), result("c", 1, 9), recounted(1, 9, "avx2")}, false, true, "[]"},
		{"two machines against two recounts", []Record{result("a", 1, 5), result("b", 1, 5), recounted(1, 9, "avx2"), recounted(1, 9, "generic")}, true, false, "[a b]"},
		{"two unequal recounts", []Record{result("a", 1, 5), result("b", 1, 9), recounted(1, 9, "avx2"), recounted(1, 5, "generic")}, false, true, "[]"},
		{"the same search on another machine", []Record{result("a", 1, 5), result("b", 1, 6), recounted(1, 9, "generic"), other}, false, true, "[]"},
		{"two of three recounts", []Record{result("a", 1, 5), result("b", 1, 9), recounted(1, 5, "generic"), recounted(1, 9, "avx2"), other}, true, false, "[a home]"},
		{"two against two recounts", []Record{result("a", 1, 5), recounted(1, 5, "avx2"), worse, deeper, other}, false, true, "[]"},
		{"no count", []Record{recounted(1, 9, "avx2")}, false, true, "[]"},
		{"no count, two recounts", []Record{recounted(1, 9, "avx2"), recounted(1, 9, "generic")}, true, false, "[]"},
		{"a banned machine bears a recount out", []Record{ban("b"), result("a", 1, 5), result("b", 1, 9), recounted(1, 9, "avx2")}, true, false, "[a b]"},
		{"banned machines that agree", []Record{ban("a"), ban("b"), result("a", 1, 5), result("b", 1, 5), result("c", 1, 9), recounted(1, 9, "avx2")}, false, true, "[a b]"},
	} {
		s := stateOf(t, newHeader(t, 1), c.records...)
		o := s.Task(1)
		if o.Verdict != c.verdict || o.Verdict && o.Count != 9 || o.NeedsRecount != c.needed || fmt.Sprint(banned(s)) != c.banned {
			t.Errorf("%s: %+v, banned %v", c.about, o, banned(s))
		}
	}
}

// banned returns the names of the banned machines.
func banned(s *State) (names []string) {
	for _, b := range s.Bans() {
		names = append(names, b.Machine)
	}
	return names
}

func TestRule3(t *testing.T) {
	h := newHeader(t, 1)
	s := stateOf(t, h, result("a", 0, 1, 2, 3), result("b", 1, 7))
	c, err := s.Apply(recounted(1, 7, "avx2"))
	if err != nil || !slices.Equal(c.Banned, s.Bans()) || len(c.Banned) != 1 || !slices.Equal(c.Tasks, []uint64{1}) {
		t.Fatalf("%+v %v", c, err)
	}
	if s.NumberDone() != 1 || s.Task(0).Done || s.Task(2).Done || !s.Task(1).Done {
		t.Error("counts of a banned machine are not void")
	}
	if want := []queens.Ban{{Machine: "a", Task: 1, Count: 2, Recount: 7}}; !slices.Equal(s.Bans(), want) {
		t.Error(s.Bans())
	}
	if _, err := s.Apply(result("a", 4, 4)); err != nil || s.Task(4).Done {
		t.Error("a later count of a banned machine is not void")
	}
	if _, err := s.Apply(result("b", 4, 5)); err != nil || !s.Task(4).Done {
		t.Error("a void count opens a dispute")
	}
	if s := stateOf(t, h, result("a", 0, 1), ban("a")); s.Task(0).Done || !s.Banned("a") {
		t.Error("a ban record bans nobody")
	}
}

func TestRule4(t *testing.T) {
	h := newHeader(t, 1)
	all := result("a", 0, make([]uint64, h.Manifest.Tasks)...)
	for _, c := range []struct {
		about   string
		records []Record
		ended   queens.State
	}{
		{"no mark", []Record{all}, ""},
		{"complete", []Record{all, mark(queens.Complete)}, queens.Complete},
		{"contradicted", []Record{mark(queens.Contradicted)}, queens.Contradicted},
		{"stopped", []Record{all, mark(queens.Stopped)}, ""},
		{"a task is missing", []Record{result("a", 1, 3), mark(queens.Complete)}, ""},
		{"a dispute", []Record{all, result("b", 1, 3), mark(queens.Complete)}, ""},
		{"a record after the end", []Record{all, mark(queens.Complete), result("b", 1, 0)}, ""},
		{"a start after the end", []Record{all, mark(queens.Complete), &Start{Number: 2}}, ""},
	} {
		if s := stateOf(t, h, c.records...); s.Ended() != c.ended {
			t.Errorf("%s: %q", c.about, s.Ended())
		}
	}
}

func TestRule5(t *testing.T) {
	s := stateOf(t, newHeader(t, 1), result("a", 0, 1, 2, 3, 4), result("b", 1, 2), result("b", 2, 9), recounted(3, 4, "avx2"))
	want := queens.Confirmation{Tasks: s.header.Manifest.Tasks, Checked: 2, Redundancy: 1, Verdicts: 1, Machines: 2}
	if got := s.Confirmation(nil); s.Checked() != 2 || got != want {
		t.Errorf("%+v", got)
	}
}

// A ban names the first task whose verdict the machine contradicts, or the first of its records.
func TestFirstBan(t *testing.T) {
	verdicts := []Record{recounted(2, 7, "avx2"), recounted(1, 7, "avx2"), recounted(3, 7, "avx2")}
	s := stateOf(t, newHeader(t, 1), append(verdicts, result("a", 1, 6, 5, 4), result("b", 1, 7, 7, 7), result("a", 1, 4))...)
	if want := []queens.Ban{{Machine: "a", Task: 1, Count: 4, Recount: 7}}; !slices.Equal(s.Bans(), want) {
		t.Errorf("%+v, want %+v", s.Bans(), want)
	}
	first, later := ban("a"), ban("a")
	later.Task = 2
	for _, records := range [][]Record{{first, later}, {later, first}} {
		if s := stateOf(t, newHeader(t, 1), records...); !slices.Equal(s.Bans(), []queens.Ban{first.Ban}) {
			t.Errorf("%+v, want %+v", s.Bans(), first.Ban)
		}
	}
}

// A count that is there already changes no task, and the number of starts is that of the last one.
func TestChange(t *testing.T) {
	s := stateOf(t, newHeader(t, 1), &Start{Number: 2}, &Start{Number: 1}, result("a", 0, 1), mark(queens.Running))
	if c, err := s.Apply(result("a", 0, 1, 2)); err != nil || !slices.Equal(c.Tasks, []uint64{1}) || s.Starts() != 2 || s.NumberDone() != 2 {
		t.Errorf("%+v (error %v) after start %d with %d tasks done", c, err, s.Starts(), s.NumberDone())
	}
}

func TestOneMachine(t *testing.T) {
	s := stateOf(t, newHeader(t, 2), result("a/generic", 1, 3), result("a/avx2", 1, 3))
	if s.Task(1).Done || s.Task(1).Agree != 1 {
		t.Fatal("two kernels of a machine are two machines")
	}
	if _, err := s.Apply(result("b", 1, 3)); err != nil || !s.Task(1).Done {
		t.Fatalf("two machines agree and the task is not done: %v", err)
	}
}

// Records that are not of this run change nothing.
func TestForeignRecords(t *testing.T) {
	h := newHeader(t, 1)
	tasks := h.Manifest.Tasks
	s, late := NewState(h), mark(queens.Running)
	late.Done = tasks + 1
	for _, r := range []Record{
		result("a", tasks, 1), result("a", tasks-1, 1, 1), result("a b", 1, 1), recounted(tasks, 1, "avx2"),
		&Ban{Ban: queens.Ban{Machine: "a", Task: tasks}}, late,
	} {
		if _, err := s.Apply(r); err == nil {
			t.Errorf("%T accepted: %+v", r, r)
		}
	}
	if s.NumberDone() != 0 || s.Results() != 0 || s.Mark() != nil {
		t.Error("a refused record changed the state")
	}
}
