package queens_test

import (
	"cmp"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"nqueens/pkg/queens"
	"nqueens/pkg/testkit"
)

func decimal(n int64) *queens.Decimal { return (*queens.Decimal)(big.NewInt(n)) }

func seconds(n int64) queens.Seconds {
	return queens.Seconds{Duration: time.Duration(n) * time.Second}
}

// A snapshot with numbers at their limits is valid. Beyond them it is invalid.
func TestSnapshotValidate(t *testing.T) {
	// snapshot changes a valid snapshot, and returns the error of Validate.
	snapshot := func(change func(s *queens.Snapshot)) error {
		s := &queens.Snapshot{
			Run: "n8-a", N: 8, Method: queens.Prefixes, Symmetry: queens.Full, State: queens.Running,
			Tasks: 9, Done: 9, WorkDone: 1, Solutions: decimal(92),
			WorkerList: []queens.Worker{{Machine: testkit.Machine("m"), Process: "p"},
				{Machine: testkit.Machine("m"), Process: "q", Threads: 4,
					Rate: &queens.Rate{PerSecond: 1e100}}},
			Checks: &queens.Checks{Banned: []queens.Ban{{Machine: testkit.Machine("a")},
				{Machine: testkit.Machine("b")}}}, Live: new(queens.Live),
		}
		change(s)
		return s.Validate()
	}
	complete := func(total int64, c queens.Confirmation, change func(s *queens.Snapshot)) error {
		return snapshot(func(s *queens.Snapshot) {
			s.Solutions = decimal(total)
			s.SetTotal(big.NewInt(total), c)
			change(s)
		})
	}
	same := func(*queens.Snapshot) {}
	known, checked := queens.Confirmation{Published: true, Tasks: 9},
		queens.Confirmation{Tasks: 9, Checked: 9}
	placed := func(s *queens.Snapshot) { s.Placed = []queens.Square{{Row: 0, Column: 3}} }
	checkAll(t, []validity{
		{"plain", snapshot(same), ""},
		{"stopped", snapshot(func(s *queens.Snapshot) { s.State = queens.Stopped }), ""},
		{"contradicted", snapshot(func(s *queens.Snapshot) {
			s.State, s.Solutions = queens.Contradicted, nil
		}), ""},
		{"contradicted, with a number", snapshot(func(s *queens.Snapshot) {
			s.State = queens.Contradicted
		}), "no claim"},
		{"more than is published", snapshot(func(s *queens.Snapshot) {
			s.Done, s.Solutions = 8, decimal(93)
		}), "no claim"},
		{"less than is published", snapshot(func(s *queens.Snapshot) {
			s.Solutions = decimal(91)
		}), "no claim"},
		{"less so far", snapshot(func(s *queens.Snapshot) { s.Done, s.Solutions = 8, decimal(91) }), ""},
		{"no such symmetry", snapshot(func(s *queens.Snapshot) {
			s.Symmetry = controlName
		}), "no symmetry"},
		{"no such state", snapshot(func(s *queens.Snapshot) { s.State = "lost" }), "lost"},
		{"no side", snapshot(func(s *queens.Snapshot) { s.N = 0 }), "from 1 to 32"},
		{"a queen beyond", snapshot(func(s *queens.Snapshot) {
			s.Placed = []queens.Square{{Row: 8}}
		}), "8,0"},
		{"interrupted", snapshot(func(s *queens.Snapshot) { s.State = queens.Interrupted }), ""},
		{"a wait for nothing", snapshot(func(s *queens.Snapshot) {
			s.Waits = &queens.Wait{Reason: "luck"}
		}), "luck"},
		{"a wait with control characters", snapshot(func(s *queens.Snapshot) {
			s.Waits = &queens.Wait{Reason: queens.NoServer, Why: controlName}
		}), "a wait"},
		{"a wait with a long text", snapshot(func(s *queens.Snapshot) {
			s.Waits = &queens.Wait{Reason: queens.NoServer, Help: strings.Repeat("x", 513)}
		}), "a wait"},
		{"a command with control characters", snapshot(func(s *queens.Snapshot) {
			s.Join = controlName
		}), "a command"},
		{"a long command", snapshot(func(s *queens.Snapshot) {
			s.Resume = strings.Repeat("x", 4097)
		}), "a command"},
		{"little is known", snapshot(func(s *queens.Snapshot) {
			s.Live, s.Checks, s.WorkerList = nil, nil, nil
		}), ""},
		{"workers, but not how many", snapshot(func(s *queens.Snapshot) {
			s.Live, s.Rate = nil, nil
		}), "not how many"},
		{"all tasks held", snapshot(func(s *queens.Snapshot) { s.Held = 9 }), ""},
		{"more tasks held", snapshot(func(s *queens.Snapshot) { s.Held = 10 }), "more tasks than 9"},
		{"more done than all", snapshot(func(s *queens.Snapshot) { s.Done = 10 }), "more tasks than 9"},
		{"more than all work", snapshot(func(s *queens.Snapshot) { s.WorkDone = 1.01 }), "1.01"},
		{"less than no work", snapshot(func(s *queens.Snapshot) { s.WorkDone = -0.5 }), "-0.5"},
		{"work without a number", snapshot(func(s *queens.Snapshot) {
			s.WorkDone = queens.Fraction(math.NaN())
		}), "NaN"},
		{"no work", snapshot(func(s *queens.Snapshot) { s.WorkDone = 0 }), ""},
		{"no solutions", snapshot(func(s *queens.Snapshot) { s.Solutions = nil }), ""},
		{"complete without solutions", complete(92, known, func(s *queens.Snapshot) {
			s.Solutions = nil
		}), "solutions"},
		{"a negative rate", snapshot(func(s *queens.Snapshot) {
			s.Rate = &queens.Rate{PerSecond: -1}
		}), "rate"},
		{"a rate beyond", snapshot(func(s *queens.Snapshot) {
			s.Rate = &queens.Rate{PerSecond: 2e100}
		}), "rate"},
		{"a rate, but no workers", snapshot(func(s *queens.Snapshot) {
			s.Live, s.WorkerList, s.Rate = nil, nil, new(queens.Rate)
		}), "not how many"},
		{"negative work left", snapshot(func(s *queens.Snapshot) {
			s.Remaining = &queens.Remaining{ThreadSeconds: -1}
		}), "thread-seconds"},
		{"a negative time", snapshot(func(s *queens.Snapshot) { s.Elapsed = seconds(-1) }), "times"},
		{"one moment to go", snapshot(func(s *queens.Snapshot) {
			s.Elapsed, s.TimeToGo = seconds(1), &queens.TimeToGo{}
		}), ""},
		{"a negative time to go", snapshot(func(s *queens.Snapshot) {
			s.TimeToGo = &queens.TimeToGo{Least: seconds(-1)}
		}), "times"},
		{"a reversed time to go", snapshot(func(s *queens.Snapshot) {
			s.TimeToGo = &queens.TimeToGo{Least: seconds(2), Most: seconds(1)}
		}), "times"},
		{"a negative number", snapshot(func(s *queens.Snapshot) { s.IdleThreads = -1 }), "negative"},
		{"some machines", snapshot(func(s *queens.Snapshot) {
			s.Machines, s.Workers, s.Threads, s.IdleThreads, s.Redundancy = 1, 1, 1, 1, 1
		}), ""},
		{"the longest lists", snapshot(func(s *queens.Snapshot) {
			s.WorkerList, s.Banned = make([]queens.Worker, queens.MaxWorkers),
				make([]queens.Ban, queens.MaxBans)
			for i := range s.WorkerList {
				s.WorkerList[i].Machine, s.WorkerList[i].Process = testkit.Machine("m"), "p"
			}
			for i := range s.Banned {
				s.Banned[i].Machine = testkit.Machine("m")
			}
		}), ""},
		{"too many workers", snapshot(func(s *queens.Snapshot) {
			s.WorkerList = make([]queens.Worker, queens.MaxWorkers+1)
		}), "51 workers"},
		{"too many bans", snapshot(func(s *queens.Snapshot) {
			s.Banned = make([]queens.Ban, queens.MaxBans+1)
		}), "65 bans"},
		{"a worker without a machine", snapshot(func(s *queens.Snapshot) {
			s.WorkerList[1].Name = ""
		}), "machine"},
		{"a worker with a control kernel", snapshot(func(s *queens.Snapshot) {
			s.WorkerList[0].Kernel = controlName
		}), "kernel"},
		{"a worker with a negative rate", snapshot(func(s *queens.Snapshot) {
			s.WorkerList[0].Rate = &queens.Rate{PerSecond: -1}
		}), "worker p"},
		{"a worker of -1 threads", snapshot(func(s *queens.Snapshot) {
			s.WorkerList[0].Threads = -1
		}), "worker p"},
		{"a worker heard later", snapshot(func(s *queens.Snapshot) {
			s.WorkerList[1].LastSeen = seconds(-1)
		}), "worker q"},
		{"a worker with a negative search", snapshot(func(s *queens.Snapshot) {
			s.WorkerList[1].Longest = seconds(-1)
		}), "worker q"},
		{"a ban of nobody", snapshot(func(s *queens.Snapshot) { s.Banned[1].Name = "" }), "machine"},
		{"a total while running", snapshot(func(s *queens.Snapshot) {
			s.Total = decimal(92)
		}), "a total"},
		{"complete without a total", snapshot(func(s *queens.Snapshot) {
			s.State = queens.Complete
		}), "a total"},
		{"a total unconfirmed", complete(92, known, func(s *queens.Snapshot) {
			s.Confirmed = nil
		}), "confirms"},
		{"confirmed without a total", snapshot(func(s *queens.Snapshot) {
			s.Confirmed = new(queens.Confirmed)
		}), "confirms"},
		{"the published total", complete(92, known, same), ""},
		{"the published total, unnoticed", complete(92, checked, same), "redundant"},
		{"no published total, but so confirmed", complete(91, known, same), "published"},
		{"not the published total", complete(91, checked, same), "not the published total"},
		{"a total of some tasks", complete(92, known, func(s *queens.Snapshot) {
			s.Done = 8
		}), "8 of 9 tasks"},
		{"a total of other tasks", complete(92, known, func(s *queens.Snapshot) {
			s.By.Tasks = 8
		}), "9 of 9 tasks"},
		{"more checked than all", complete(92, known, func(s *queens.Snapshot) {
			s.By.Checked = 10
		}), "10 checked"},
		{"a total of other solutions", complete(92, known, func(s *queens.Snapshot) {
			s.Solutions = decimal(91)
		}), "91 solutions"},
		{"another level", complete(18, checked, func(s *queens.Snapshot) {
			placed(s)
			s.Level = queens.Sampled
		}), "sampled"},
		{"a total with placed queens", complete(18, checked, placed), ""},
		{"it says published with placed queens", complete(92, known, placed), "published"},
	})
}

// A number of solutions that can't be right is left out, and a notice says so. Then the snapshot is
// valid.
func TestDisclaim(t *testing.T) {
	for _, c := range []struct {
		about string
		s     queens.Snapshot
		shown bool
	}{
		{"so far", queens.Snapshot{N: 8, Done: 8, Solutions: decimal(92)}, true},
		{"all", queens.Snapshot{N: 8, Done: 9, Solutions: decimal(92)}, true},
		{"too many so far", queens.Snapshot{N: 8, Done: 8, Solutions: decimal(93)}, false},
		{"too few", queens.Snapshot{N: 8, Done: 9, Solutions: decimal(91)}, false},
		{"contradicted", queens.Snapshot{N: 8, Done: 9, Solutions: decimal(92),
			State: queens.Contradicted}, false},
		{"contradicted, not published",
			queens.Snapshot{N: 30, Done: 9, Solutions: decimal(9), State: queens.Contradicted}, false},
		{"not published", queens.Snapshot{N: 30, Done: 9, Solutions: decimal(9)}, true},
		{"placed", queens.Snapshot{N: 8, Done: 9, Solutions: decimal(93),
			Placed: []queens.Square{{Row: 0, Column: 3}}}, true},
	} {
		s := c.s
		s.Run, s.Method, s.Symmetry, s.Tasks, s.State = "n8-a", queens.Prefixes, queens.None, 9,
			cmp.Or(s.State, queens.Running)
		s.Disclaim()
		if (s.Solutions != nil) != c.shown || (s.NoTotal() == "") != c.shown ||
			s.Validate() != nil {
			t.Errorf("%s: %v %q, %v", c.about, s.Solutions, s.NoTotal(), s.Validate())
		}
	}
}

func TestLevel(t *testing.T) {
	for want, c := range map[queens.Level]queens.Confirmation{
		queens.Published: {Published: true, Tasks: 2}, queens.Redundant: {Tasks: 2, Checked: 2},
		queens.Sampled: {Tasks: 2, Checked: 1}, queens.Unconfirmed: {Tasks: 2},
	} {
		if got := c.Level(); got != want {
			t.Errorf("%+v: %s, want %s", c, got, want)
		}
	}
	if got := (&queens.Confirmation{}).Level(); got != queens.Unconfirmed {
		t.Errorf("without tasks: %s", got)
	}
}

// A total is compared with the published one only for a full board.
func TestCompare(t *testing.T) {
	placed := []queens.Square{{Row: 0, Column: 3}}
	for _, c := range []struct {
		n      int
		placed []queens.Square
		total  *big.Int
		want   queens.Comparison
	}{
		{8, nil, big.NewInt(92), queens.Match},
		{8, nil, big.NewInt(91), queens.Mismatch},
		{8, nil, big.NewInt(93), queens.Mismatch},
		{8, placed, big.NewInt(92), queens.Unpublished},
		{8, nil, nil, queens.Unpublished},
		{28, nil, big.NewInt(92), queens.Unpublished},
	} {
		if got := queens.Compare(c.n, c.placed, c.total); got != c.want {
			t.Errorf("side %d, %v placed, %v: %s, want %s", c.n, c.placed, c.total, got, c.want)
		}
	}
	if m := (&queens.Manifest{N: 8}); m.KnownTotal().Int64() != 92 {
		t.Error("a full board has no known total")
	}
	if m := (&queens.Manifest{N: 8, Placed: placed}); m.KnownTotal() != nil {
		t.Error("a board with placed queens has a known total")
	}
}

// A sum carries and borrows beyond 64 bits.
func TestSum(t *testing.T) {
	var s queens.Sum
	for range 3 {
		s.Add(math.MaxUint64)
	}
	s.Add(5)
	want := new(big.Int).Mul(new(big.Int).SetUint64(math.MaxUint64), big.NewInt(3))
	if s.Big().Cmp(want.Add(want, big.NewInt(5))) != 0 {
		t.Errorf("3·(2^64-1) + 5 = %v", s.Big())
	}
	s.Subtract(4)
	for range 3 {
		s.Subtract(math.MaxUint64)
	}
	if s.Big().Int64() != 1 || s.Big().BitLen() != 1 {
		t.Errorf("1 is left as %v", s.Big())
	}
}

// Types with their own JSON can be encoded and decoded again. Invalid JSON is refused.
func TestUnits(t *testing.T) {
	var s queens.Seconds
	var f queens.Fraction
	var d queens.Decimal
	encodeSeconds := func() (string, any) {
		b, _ := s.MarshalJSON()
		return string(b), s.Duration
	}
	encodeFraction := func() (string, any) {
		b, _ := f.MarshalJSON()
		return string(b), f
	}
	encodeDecimal := func() (string, any) {
		b, _ := d.MarshalText()
		return string(b), d.String()
	}
	for _, c := range []struct {
		name string
		read func(text []byte) error
		form func() (string, any)
		good string
		want any
		bad  []string
	}{
		{"Seconds", s.UnmarshalJSON, encodeSeconds, "1.5", 1500 * time.Millisecond,
			[]string{"-1", "1e10", "-1e300", `"1"`, "["}},
		{"no seconds", s.UnmarshalJSON, encodeSeconds, "0", time.Duration(0), nil},
		{"Fraction", f.UnmarshalJSON, encodeFraction, "29", queens.Fraction(0.29), []string{`"1"`, "["}},
		{"all", f.UnmarshalJSON, encodeFraction, "100", queens.Fraction(1), nil},
		{"Decimal", d.UnmarshalText, encodeDecimal, "18446744073709551616", "18446744073709551616",
			[]string{"", "-1", "+1", "01", "0x1", "1.0", "one", strings.Repeat("9", 78),
				strings.Repeat("9", 79)}},
		{"no solutions", d.UnmarshalText, encodeDecimal, "0", "0", nil},
	} {
		if err := c.read([]byte(c.good)); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if text, value := c.form(); text != c.good || value != c.want {
			t.Errorf("%s: %s is %v, and kept as %s", c.name, c.good, value, text)
		}
		for _, bad := range c.bad {
			if c.read([]byte(bad)) == nil {
				t.Errorf("%s: %s is accepted", c.name, bad)
			}
		}
	}
	if text, _ := queens.Fraction(1 - 1e-12).MarshalJSON(); string(text) == "100" {
		t.Error("less than all is 100 percent")
	}
}

func TestRange(t *testing.T) {
	r := queens.Range{First: 5, Tasks: 3}
	for s, inside := range map[queens.Range]bool{
		r: true, {First: 5, Tasks: 1}: true, {First: 7, Tasks: 1}: true,
		{First: 4, Tasks: 2}: false, {First: 7, Tasks: 2}: false, {First: 8, Tasks: 1}: false,
	} {
		if r.Contains(s) != inside {
			t.Errorf("%v contains %v: %v", r, s, !inside)
		}
	}
	if one := (queens.Range{First: 5, Tasks: 1}); r.String() != "5-7" || one.String() != "5" {
		t.Error(r, one)
	}
	checkAll(t, []validity{
		{"all", queens.Range{Tasks: 8}.Validate(8), ""},
		{"the last", queens.Range{First: 7, Tasks: 1}.Validate(8), ""},
		{"none", queens.Range{First: 7}.Validate(8), "0 tasks"},
		{"one too many", queens.Range{Tasks: 9}.Validate(8), "9 tasks"},
		{"over the end", queens.Range{First: 7, Tasks: 2}.Validate(8), "task 7"},
		{"it wraps", queens.Range{First: math.MaxUint64, Tasks: 2}.Validate(8), "task"},
	})
	if a, b := queens.HashOfRange([]uint64{1, 2}), queens.HashOfRange([]uint64{2, 1}); a == b {
		t.Error("the order of tasks does not enter the hash")
	}
}

// The name of a machine or of a process can be a token of a subject.
func TestValidateMachine(t *testing.T) {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
	for c := range 256 {
		name := string([]byte{byte(c)})
		if ok := queens.ValidateMachine(name) == nil; ok != strings.Contains(letters, name) {
			t.Errorf("ValidateMachine(%q) is nil: %v", name, ok)
		}
	}
	for length, want := range map[int]bool{0: false, 1: true, 63: true, 64: false} {
		if ok := queens.ValidateMachine(strings.Repeat("m", length)) == nil; ok != want {
			t.Errorf("a machine of %d letters is valid: %v", length, ok)
		}
	}
}
