package ledger

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"nqueens/pkg/queens"
	"nqueens/pkg/split"
	"nqueens/pkg/symmetry"
	"nqueens/pkg/testkit"
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
	return &Header{Format: Format, Run: "n7-a", Manifest: m, Redundancy: redundancy, SpotCheck: 0.01,
		Created: time.UnixMilli(1e12).UTC()}
}

// halvesHeader returns a header like newHeader, of a count by the method halves. The fold uses
// nothing else of the manifest that differs.
func halvesHeader(t testing.TB, redundancy int) *Header {
	t.Helper()
	h := newHeader(t, redundancy)
	h.Manifest.Method = queens.Halves
	return h
}

// result returns a result by "user/machine/kernel", by "machine/kernel", or by "machine" with
// kernel generic.
func result(by string, first uint64, counts ...uint64) *Result {
	machine, kernel := by, "generic"
	if slash := strings.LastIndex(by, "/"); slash >= 0 {
		machine, kernel = by[:slash], by[slash+1:]
	}
	return &Result{
		Machine: testkit.Machine(machine), Process: "p1", Kernel: kernel,
		Range: queens.Range{First: first, Tasks: uint64(len(counts))},
		Hash:  0x123456789abcdef0, Counts: counts, Searched: time.Second, At: time.UnixMilli(1e12).UTC(),
	}
}

func recounted(task, count uint64, kernel string) *Recount {
	return &Recount{Task: task, Count: count, Machine: "home", Kernel: kernel, Why: Disputed}
}

func ban(machine string) *Ban {
	return &Ban{Ban: queens.Ban{Machine: testkit.Machine(machine), Task: 1, Count: 1, Recount: 2}}
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
	a5, b5, b6, b9, c9 := result("a", 1, 5), result("b", 1, 5), result("b", 1, 6), result("b", 1, 9),
		result("c", 1, 9)
	avx2, generic := recounted(1, 9, "avx2"), recounted(1, 9, "generic")
	deeper, other := recounted(1, 9, "generic"), recounted(1, 9, "generic")
	deeper.Deeper = true
	other.Machine = "d"
	wrong, wrongToo, worse := recounted(1, 5, "generic"), recounted(1, 5, "avx2"),
		recounted(1, 5, "generic")
	worse.Machine = "d"
	for _, c := range []struct {
		about   string
		records []Record
		verdict bool
		needed  bool
		banned  string
	}{
		{"a recount that equals a count", []Record{a5, b9, avx2}, true, false, "[a]"},
		{"a recount that equals no count", []Record{a5, b6, avx2}, false, true, "[]"},
		{"two recounts that equal no count", []Record{a5, b6, avx2, generic}, true, false, "[a b]"},
		{"the same recount twice", []Record{a5, b6, generic, generic}, false, true, "[]"},
		{"the second one row deeper", []Record{a5, b6, generic, deeper}, true, false, "[a b]"},
		{"two machines against", []Record{a5, b5, c9, avx2}, false, true, "[]"},
		{"two machines against two recounts", []Record{a5, b5, avx2, generic}, true, false, "[a b]"},
		{"two unequal recounts", []Record{a5, b9, avx2, wrong}, false, true, "[]"},
		{"the same search on another machine", []Record{a5, b6, generic, other}, false, true, "[]"},
		{"two of three recounts", []Record{a5, b9, wrong, avx2, other}, true, false,
			"[coordinator/home a]"},
		{"two against two recounts", []Record{a5, wrongToo, worse, deeper, other}, false, true, "[]"},
		{"no count", []Record{avx2}, false, true, "[]"},
		{"no count, two recounts", []Record{avx2, generic}, true, false, "[]"},
		{"a recount that equals the count of a banned machine", []Record{ban("b"), a5, b9, avx2}, true,
			false, "[a b]"},
		{"banned machines that agree", []Record{ban("a"), ban("b"), a5, b5, c9, avx2}, false, true,
			"[a b]"},
	} {
		s := stateOf(t, newHeader(t, 1), c.records...)
		o := s.Task(1)
		if o.Verdict != c.verdict || o.Verdict && o.Count != 9 || o.NeedsRecount != c.needed ||
			fmt.Sprint(banned(s)) != c.banned {
			t.Errorf("%s: %+v, banned %v", c.about, o, banned(s))
		}
	}
	plain, plainToo := recounted(1, 9, "halves:generic"), recounted(1, 9, "halves:avx2")
	for _, c := range []struct {
		about   string
		records []Record
		verdict bool
	}{
		{"one recount that equals a count", []Record{a5, b9, plain}, true},
		{"two kernels of halves", []Record{a5, b6, plain, plainToo}, false},
		{"two kernels of depth-first search", []Record{a5, b6, avx2, generic, deeper}, false},
		{"both methods", []Record{a5, b6, plain, avx2}, true},
	} {
		if s := stateOf(t, halvesHeader(t, 1), c.records...); s.Task(1).Verdict != c.verdict {
			t.Errorf("method halves, %s: %+v", c.about, s.Task(1))
		}
	}
}

// banned returns the names of the banned machines.
func banned(s *State) (names []string) {
	for _, b := range s.Bans() {
		names = append(names, b.Machine.String())
	}
	return names
}

func TestRule3(t *testing.T) {
	h := newHeader(t, 1)
	s := stateOf(t, h, result("a", 0, 1, 2, 3), result("b", 1, 7))
	c, err := s.Apply(recounted(1, 7, "avx2"))
	if err != nil || !slices.Equal(c.Banned, s.Bans()) || len(c.Banned) != 1 ||
		!slices.Equal(c.Tasks, []uint64{1}) {
		t.Fatalf("%+v %v", c, err)
	}
	if s.NumberDone() != 1 || s.Task(0).Done || s.Task(2).Done || !s.Task(1).Done {
		t.Error("counts of a banned machine are not void")
	}
	if s.Counter(0) != (queens.Machine{}) || s.Counter(1) != testkit.Machine("b") {
		t.Error("a task with void counts only needs no machine")
	}
	if want := []queens.Ban{{Machine: testkit.Machine("a"), Task: 1, Count: 2,
		Recount: 7}}; !slices.Equal(s.Bans(), want) {
		t.Error(s.Bans())
	}
	if _, err := s.Apply(result("a", 4, 4)); err != nil || s.Task(4).Done {
		t.Error("a later count of a banned machine is not void")
	}
	if _, err := s.Apply(result("b", 4, 5)); err != nil || !s.Task(4).Done {
		t.Error("a void count opens a dispute")
	}
	if s := stateOf(t, h, result("a", 0, 1), ban("a")); s.Task(0).Done ||
		!s.Banned(testkit.Machine("a")) {
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
	s := stateOf(t, newHeader(t, 1), result("a", 0, 1, 2, 3, 4), result("b", 1, 2), result("b", 2, 9),
		recounted(0, 1, "avx2"), recounted(3, 4, "avx2"))
	want := queens.Confirmation{Tasks: s.header.Manifest.Tasks, Checked: 3, Redundancy: 2, Verdicts: 2,
		Machines: 2, Witnesses: 2}
	if got := s.Confirmation(nil); s.Checked() != 3 || got != want {
		t.Errorf("%+v", got)
	}
	// a void count confirms nothing
	s = stateOf(t, s.header, result("a", 0, 1, 2), result("b", 0, 1), ban("b"))
	want = queens.Confirmation{Tasks: s.header.Manifest.Tasks, Redundancy: 1, Machines: 1,
		Witnesses: 1, Banned: 1}
	if got := s.Confirmation(nil); got != want {
		t.Errorf("%+v", got)
	}
}

// A ban names the first task whose verdict the machine contradicts. Of several ban records, the one
// with the lowest task is kept.
func TestFirstBan(t *testing.T) {
	verdicts := []Record{recounted(2, 7, "avx2"), recounted(1, 7, "avx2"), recounted(3, 7, "avx2")}
	s := stateOf(t, newHeader(t, 1),
		append(verdicts, result("a", 1, 6, 5, 4), result("b", 1, 7, 7, 7), result("a", 1, 4))...)
	if want := []queens.Ban{{Machine: testkit.Machine("a"), Task: 1, Count: 4,
		Recount: 7}}; !slices.Equal(s.Bans(), want) {
		t.Errorf("%+v, want %+v", s.Bans(), want)
	}
	first, later := ban("a"), ban("a")
	later.Task = 2
	for _, records := range [][]Record{{first, later}, {later, first}} {
		if s := stateOf(t, newHeader(t, 1), records...); !slices.Equal(s.Bans(),
			[]queens.Ban{first.Ban}) {
			t.Errorf("%+v, want %+v", s.Bans(), first.Ban)
		}
	}
}

// A repeated count changes no task. Starts returns the number of the last start, in whatever order
// starts are read.
func TestChange(t *testing.T) {
	s := stateOf(t, newHeader(t, 1), &Start{Number: 2}, &Start{Number: 1}, result("a", 0, 1),
		mark(queens.Running))
	c, err := s.Apply(result("a", 0, 1, 2))
	if err != nil || !slices.Equal(c.Tasks, []uint64{1}) || s.Starts() != 2 || s.NumberDone() != 2 {
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

// An invited user is one witness, whatever machines it names, and two users are two. The
// coordinator's own worker and a worker that names the coordinator's machine are one.
func TestWitnesses(t *testing.T) {
	for _, c := range []struct {
		a, b string
		two  bool
	}{
		{"alice/x/avx2", "alice/y/avx2", false},
		{"alice/x/avx2", "bob/x/avx2", true},
		{"alice/x/avx2", "x/avx2", true},
		{"alice/x/avx2", "alice/avx2", true}, // a machine with the name of the user
		{"coordinator/home/avx2", "home/generic", false},
		{"coordinator/home/avx2", "a/avx2", true},
		{"a/avx2", "b/avx2", true},
	} {
		s := stateOf(t, newHeader(t, 2), result(c.a, 1, 3), result(c.b, 1, 3))
		if o := s.Task(1); o.Done != c.two || o.Checked() != c.two {
			t.Errorf("%s and %s agree: %+v, are two witnesses: %v", c.a, c.b, o, c.two)
		}
	}
}

// A confirmation says how many witnesses have proven names. The name of a machine that a user of
// join.token gives is claimed, also if the coordinator's own worker is on that machine.
func TestProvenWitnesses(t *testing.T) {
	for _, c := range []struct {
		by                          []string
		machines, witnesses, proven int
	}{
		{[]string{"alice/x/avx2", "bob/x/avx2"}, 2, 2, 2},
		{[]string{"alice/x/avx2", "alice/y/avx2", "coordinator/home/avx2"}, 3, 2, 2},
		{[]string{"alice/x/avx2", "a/avx2", "b/avx2"}, 3, 3, 1},
		{[]string{"coordinator/home/avx2", "home/avx2"}, 2, 1, 0},
		{[]string{"home/avx2", "coordinator/home/avx2"}, 2, 1, 0},
	} {
		var records []Record
		for _, by := range c.by {
			records = append(records, result(by, 0, 1))
		}
		s := stateOf(t, newHeader(t, 1), records...)
		got := s.Confirmation(nil)
		if got.Machines != c.machines || got.Witnesses != c.witnesses || got.Proven != c.proven {
			t.Errorf("%v: %+v, want %+v", c.by, got, c)
		}
	}
}

// A ban makes the counts of one machine of a user void. The third banned machine of an invited user
// makes all its counts void. Machines of the same name of other users are not banned, and many bans
// of join.token's machines ban no other one.
func TestUserBan(t *testing.T) {
	counts := []Record{result("alice/good/generic", 1, 5), result("bob/x/generic", 2, 5),
		result("worker/good/generic", 3, 5)}
	s := stateOf(t, newHeader(t, 1), counts...)
	for i, name := range []string{"x", "y", "z"} {
		if s.Banned(testkit.Machine("alice/good")) || !s.Task(1).Done {
			t.Errorf("alice is banned after %d bans", i)
		}
		for _, user := range []string{"alice/", "worker/", "coordinator/"} {
			if _, err := s.Apply(ban(user + name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if !s.UserBanned("alice") || !s.Banned(testkit.Machine("alice/new")) || s.Task(1).Done ||
		s.NumberDone() != 2 {
		t.Errorf("alice is not banned after three bans: %v, %d tasks are done", s.Bans(), s.NumberDone())
	}
	for _, m := range []string{"bob/x", "good", "coordinator/good"} {
		if s.Banned(testkit.Machine(m)) {
			t.Errorf("machine %s is banned", m)
		}
	}
	if change, err := s.Apply(result("alice/late/generic", 4, 5)); err != nil || s.Task(4).Done ||
		len(change.Banned) > 0 {
		t.Errorf("a later count of a banned user: %+v, %v", s.Task(4), err)
	}
}

// A void count of one machine of a user hides no count of another machine of it, in whatever order
// they are recorded.
func TestVoidCountOfAWitness(t *testing.T) {
	records := []Record{result("alice/x/generic", 1, 5), result("alice/y/generic", 1, 5),
		result("b", 1, 5), ban("alice/x")}
	for i := range records {
		turned := append(slices.Clone(records[i:]), records[:i]...)
		if s := stateOf(t, newHeader(t, 2), turned...); !s.Task(1).Done || s.Task(1).Agree != 2 {
			t.Errorf("from record %d on: %+v", i, s.Task(1))
		}
	}
}

// A count or recount that differs comes with a dispute, which has all counts of the task by
// workers, and gives the same state. Void counts are no dissent.
func TestDisputes(t *testing.T) {
	for _, c := range []struct {
		about   string
		records []Record
		want    string // machines and counts in the disputes of the last record
	}{
		{"the first count", []Record{result("a", 1, 5)}, ""},
		{"an equal count", []Record{result("a", 1, 5), result("b", 1, 5)}, ""},
		{"another count", []Record{result("a", 0, 4, 5, 6), result("b", 0, 4, 7, 8)},
			"1: a5 b7; 2: a6 b8; "},
		{"the same machine", []Record{result("a", 1, 5), result("a", 1, 7)}, "1: a5 a7; "},
		{"a third count", []Record{result("a", 1, 5), result("b", 1, 7), result("c", 1, 5)},
			"1: a5 b7 c5; "},
		{"an equal recount", []Record{result("a", 1, 5), recounted(1, 5, "avx2")}, ""},
		{"another recount", []Record{result("a", 1, 5), recounted(1, 7, "avx2")}, "1: a5; "},
		{"a recount of a dispute",
			[]Record{result("a", 1, 5), result("b", 1, 7), recounted(1, 7, "avx2")}, "1: a5 b7; "},
		{"two recounts", []Record{recounted(1, 5, "avx2"), recounted(1, 7, "generic")}, ""},
		{"after a recount", []Record{recounted(1, 5, "avx2"), result("a", 1, 7)}, "1: a7; "},
		{"a void count", []Record{ban("a"), result("a", 1, 5), result("b", 1, 7)}, ""},
		{"a void count in a dispute",
			[]Record{ban("a"), result("a", 1, 5), result("b", 1, 7), result("c", 1, 5)}, "1: a5 b7 c5; "},
	} {
		s := NewState(newHeader(t, 1))
		var last Change
		for _, r := range c.records {
			var err error
			if last, err = s.Apply(r); err != nil {
				t.Fatal(err)
			}
		}
		got := ""
		for _, r := range last.Disputes {
			d := r.(*Dispute)
			got += fmt.Sprintf("%d:", d.Task)
			for _, c := range d.Counts {
				got += fmt.Sprintf(" %s%d", c.Machine, c.Count)
			}
			got += "; "
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.about, got, c.want)
		}
		before := c.records[:len(c.records)-1]
		written := slices.Concat(before, last.Disputes, c.records[len(before):])
		if again := stateOf(t, s.header, written...); describe(again) != describe(s) {
			t.Errorf("%s: its disputes change the state", c.about)
		}
	}
}

// Records that can't belong to this run change nothing.
func TestForeignRecords(t *testing.T) {
	h := newHeader(t, 1)
	tasks := h.Manifest.Tasks
	s, late := NewState(h), mark(queens.Running)
	late.Done = tasks + 1
	for _, r := range []Record{
		result("a", tasks, 1), result("a", tasks-1, 1, 1), result("a b", 1, 1),
		recounted(tasks, 1, "avx2"),
		&Ban{Ban: queens.Ban{Machine: testkit.Machine("a"), Task: tasks}}, late,
	} {
		if _, err := s.Apply(r); err == nil {
			t.Errorf("%T accepted: %+v", r, r)
		}
	}
	if s.NumberDone() != 0 || s.Results() != 0 || s.Mark() != nil {
		t.Error("a refused record changed the state")
	}
}

// Sources are the machines with their kernels in results, not recounts, void ones included. Only so
// many processes count as workers, and all results of others count.
func TestSources(t *testing.T) {
	s := stateOf(t, newHeader(t, 1), result("a/x/avx2", 0, 1), result("a/x/avx2", 1, 1),
		result("a/x/generic", 2, 1), result("b/x/avx2", 3, 1), recounted(3, 1, "generic"),
		&Ban{Ban: queens.Ban{Machine: queens.Machine{User: "b", Name: "x"}, Task: 3}})
	for user, want := range map[string]int{"a": 2, "b": 1, queens.CoordinatorUser: 0} {
		if ofUser, all := s.Sources(user); ofUser != want || all != 3 {
			t.Errorf("user %s has %d of %d sources, want %d of 3", user, ofUser, all, want)
		}
	}
	a := queens.Machine{User: "a", Name: "x"}
	if !s.HasSource(a, "generic") || s.HasSource(a, "avx512") ||
		s.HasSource(queens.Machine{User: "a", Name: "y"}, "avx2") ||
		s.HasSource(queens.Machine{User: queens.CoordinatorUser, Name: "home"}, "generic") {
		t.Error("the known sources are others")
	}
	for i := range mostProcesses + 10 {
		r := result("a/x/avx2", uint64(i)%s.Header().Manifest.Tasks, 1)
		r.Process = fmt.Sprint(i)
		if _, err := s.Apply(r); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.Workers(); got > mostProcesses || got < mostProcesses-2 {
		t.Errorf("%d workers", got)
	}
}
