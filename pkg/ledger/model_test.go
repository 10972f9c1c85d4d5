package ledger

import (
	"cmp"
	"fmt"
	"maps"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"nqueens/pkg/queens"
	"nqueens/pkg/testkit"
)

// model implements the rules at the top of fold.go, as plainly as possible.
type model struct {
	redundancy int
	halves     bool                             // the method of the run is halves
	counts     map[uint64]map[modelCount]string // by task: each count, and the machine that counted it
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

func newModel(h *Header, records []Record) *model {
	m := &model{h.Redundancy, h.Manifest.Method == queens.Halves,
		make(map[uint64]map[modelCount]string), make(map[uint64]map[modelRecount]bool),
		make(map[string]bool)}
	for _, r := range records {
		switch r := r.(type) {
		case *Result:
			for i, count := range r.Counts {
				task := r.First + uint64(i)
				if m.counts[task] == nil {
					m.counts[task] = make(map[modelCount]string)
				}
				m.counts[task][modelCount{r.Machine.String(), r.Kernel, count}] = r.Machine.String()
			}
		case *Dispute:
			for _, c := range r.Counts {
				if m.counts[r.Task] == nil {
					m.counts[r.Task] = make(map[modelCount]string)
				}
				m.counts[r.Task][modelCount{c.Machine.String(), c.Kernel, c.Count}] = c.Machine.String()
			}
		case *Recount:
			if m.recounts[r.Task] == nil {
				m.recounts[r.Task] = make(map[modelRecount]bool)
			}
			m.recounts[r.Task][modelRecount{r.Count, r.Machine, r.Kernel, r.Deeper}] = true
		case *Ban:
			m.byRecord[r.Machine.String()] = true
		}
	}
	return m
}

// witness returns the witness of a machine: USER/ for an invited user, and the name of the machine
// otherwise.
func witness(machine string) string {
	user, name, named := strings.Cut(machine, "/")
	if named && user != "coordinator" {
		return user + "/"
	}
	return cmp.Or(name, user)
}

// witnesses returns the witnesses that found each count of a task. It leaves out banned machines
// unless void is set.
func (m *model) witnesses(task uint64, void bool) map[uint64]map[string]bool {
	by := make(map[uint64]map[string]bool)
	for f, machine := range m.counts[task] {
		if void || !m.banned(machine) {
			if by[f.count] == nil {
				by[f.count] = make(map[string]bool)
			}
			by[f.count][witness(machine)] = true
		}
	}
	return by
}

func (m *model) verdict(task uint64) (count uint64, ok bool) {
	found := make(map[uint64]int)
	searches := make(map[modelRecount]bool)
	for r := range m.recounts[task] {
		r.machine = ""
		if m.halves { // a search is a method
			r.kernel, _, _ = strings.Cut(r.kernel, ":")
			if r.kernel != "halves" {
				r.kernel = "depth-first"
			}
			r.deeper = false
		}
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
	by := m.witnesses(task, true)
	for recount := range found {
		count, ok = recount, len(by[recount]) > 0
	}
	for other, witnesses := range by {
		ok = ok && (other == count || len(witnesses) < 2)
	}
	return count, ok
}

// banned reports whether a machine is banned, or three machines of its invited user are.
func (m *model) banned(machine string) bool {
	of := 0
	for _, other := range modelMachines {
		if user, _, named := strings.Cut(other, "/"); named && user != "coordinator" &&
			strings.HasPrefix(machine, user+"/") {
			if m.wrong(other) {
				of++
			}
		}
	}
	return of >= 3 || m.wrong(machine)
}

// wrong reports whether a machine itself is banned.
func (m *model) wrong(machine string) bool {
	for task := range m.recounts {
		if count, ok := m.verdict(task); ok {
			for f, by := range m.counts[task] {
				if by == machine && f.count != count {
					return true
				}
			}
			for r := range m.recounts[task] {
				if "coordinator/"+r.machine == machine && r.count != count {
					return true
				}
			}
		}
	}
	return m.byRecord[machine]
}

func (m *model) outcome(task uint64) (o Outcome) {
	valid, all, recounts := m.witnesses(task, false), m.witnesses(task, true), make(map[uint64]bool)
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
			&want.done: o.Done, &want.checked: o.Done && (o.Verdict || o.Agree > 1),
			&want.unsettled: o.NeedsRecount, &want.differed: o.Differed,
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
	for _, machine := range modelMachines {
		if banned := s.Banned(testkit.Machine(machine)); banned != m.banned(machine) {
			t.Fatalf("machine %s is banned: %v", machine, banned)
		}
	}
}

// modelMachines are the machines of random records.
var modelMachines = []string{"a", "b", "home", "coordinator/home", "coordinator/a", "alice/a",
	"alice/b", "alice/c", "alice/d", "bob/a"}

// randomRecords returns records that often contradict each other.
func randomRecords(rng *rand.Rand) (records []Record) {
	count := func() uint64 { return 1 + uint64(max(0, rng.IntN(8)-6)) }
	machine := func() string { return modelMachines[rng.IntN(len(modelMachines))] }
	kernel := func() string { return []string{"avx2", "generic"}[rng.IntN(2)] }
	for range rng.IntN(24) {
		switch rng.IntN(9) {
		case 8:
			records = append(records, &Dispute{Task: rng.Uint64N(3), Counts: []WorkerCount{
				{testkit.Machine(machine()), kernel(), count()}, {testkit.Machine("a"), "avx2", count()},
			}})
		case 0, 1:
			r := recounted(rng.Uint64N(3), count(),
				[]string{"avx2", "generic", "halves:generic"}[rng.IntN(3)])
			r.Deeper, r.Machine = rng.IntN(4) == 0, []string{"home", "a"}[rng.IntN(2)]
			records = append(records, r)
		case 2:
			if rng.IntN(3) == 0 {
				records = append(records, ban(machine()))
			}
		default:
			counts := []uint64{count(), count(), count()}
			records = append(records,
				result(machine()+"/"+kernel(), rng.Uint64N(4), counts[:1+rng.IntN(3)]...))
		}
	}
	return records
}

// A state of random records equals the model, in any order of the records, with repeated ones, and
// whether the totals are derived once or after each record.
func TestFoldIsTheModel(t *testing.T) {
	headers := []*Header{newHeader(t, 1), newHeader(t, 2), newHeader(t, 3), halvesHeader(t, 1),
		halvesHeader(t, 2)}
	for seed := range uint64(1500) {
		rng := rand.New(rand.NewPCG(seed, 0))
		h := headers[seed%5]
		records := randomRecords(rng)
		m := newModel(h, records)
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
			before := outcomes(again)
			change, err := again.Apply(r)
			if err != nil {
				t.Fatal(err)
			}
			if i%8 == 0 {
				newModel(h, records[:i+1]).check(t, again)
			}
			for task, after := range outcomes(again) {
				if after != before[task] && !slices.Contains(change.Tasks, uint64(task)) &&
					!slices.Contains(change.Voided, uint64(task)) {
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
		if summary(s) != summary(again) {
			t.Fatalf("seed %d: the order changes the state", seed)
		}
	}
}

// summary returns what a state says of the whole run.
func summary(s *State) string {
	return fmt.Sprint(s.Bans(), s.Unsettled(), s.Confirmation(nil), s.Solutions())
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
