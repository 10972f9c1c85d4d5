package run_test

import (
	"encoding/json"
	"math"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"time"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// A snapshot is valid at the limits of what a run can be, and not beyond them.
func TestSnapshotValidate(t *testing.T) {
	type change = func(s *run.Snapshot)
	worker := func(f func(m *run.Worker)) change { return func(s *run.Snapshot) { f(&s.WorkerList[0]) } }
	for name, c := range map[string]struct {
		change change
		valid  bool
	}{
		"as it is":          {func(*run.Snapshot) {}, true},
		"a run of no name":  {func(s *run.Snapshot) { s.Run = "" }, false},
		"a path for a name": {func(s *run.Snapshot) { s.Run = "../x" }, false},
		"side 32":           {func(s *run.Snapshot) { s.N = 32 }, true},
		"side 33":           {func(s *run.Snapshot) { s.N = 33 }, false},
		"no symmetry":       {func(s *run.Snapshot) { s.Symmetry = "" }, false},
		"placed":            {func(s *run.Snapshot) { s.Placed = []queens.Square{{Row: 0, Column: 3}, {Row: 1, Column: 5}} }, true},
		"placed attacking":  {func(s *run.Snapshot) { s.Placed = []queens.Square{{Row: 0, Column: 3}, {Row: 1, Column: 4}} }, false},
		"no state":          {func(s *run.Snapshot) { s.State = "" }, false},
		"cancelled":         {func(s *run.Snapshot) { s.State = run.Cancelled }, true},
		"a total too early": {func(s *run.Snapshot) { s.Total = decimal(92) }, false},
		"complete":          {func(s *run.Snapshot) { s.State, s.Total = run.Complete, decimal(92) }, true},
		"no total":          {func(s *run.Snapshot) { s.State = run.Complete }, false},
		"published": {func(s *run.Snapshot) {
			s.State = run.Complete
			s.SetTotal(big.NewInt(92), &run.Confirmation{Published: true, Redundancy: 1, Tasks: 7})
		}, true},
		"published, it claims": {func(s *run.Snapshot) {
			s.State = run.Complete
			s.SetTotal(big.NewInt(93), &run.Confirmation{Published: true})
		}, false},
		"published, of placed queens": {func(s *run.Snapshot) {
			s.State, s.Placed = run.Complete, []queens.Square{{Row: 0, Column: 3}}
			s.SetTotal(big.NewInt(92), &run.Confirmation{Published: true})
		}, false},
		"confirmed by more tasks than all": {func(s *run.Snapshot) {
			s.State = run.Complete
			s.SetTotal(big.NewInt(92), &run.Confirmation{Tasks: 8})
		}, false},
		"more checked than counted": {func(s *run.Snapshot) {
			s.State = run.Complete
			s.SetTotal(big.NewInt(92), &run.Confirmation{Tasks: 6, Checked: 7})
		}, false},
		"confirmed too early": {func(s *run.Snapshot) {
			s.Confirmed = &run.Confirmed{Level: run.None, By: run.Confirmation{Tasks: 3, Checked: 1}}
		}, false},
		"another level than confirmed": {func(s *run.Snapshot) {
			s.State = run.Complete
			s.SetTotal(big.NewInt(92), &run.Confirmation{})
			s.Level = run.Redundant
		}, false},
		"no solutions":       {func(s *run.Snapshot) { s.Solutions = nil }, false},
		"many solutions":     {func(s *run.Snapshot) { s.Solutions = (*run.Decimal)(new(big.Int).Lsh(big.NewInt(1), 255)) }, true},
		"all done":           {func(s *run.Snapshot) { s.Done, s.WorkDone = 7, 1 }, true},
		"more than all done": {func(s *run.Snapshot) { s.Done = 8 }, false},
		"more than all work": {func(s *run.Snapshot) { s.WorkDone = run.Fraction(math.Nextafter(1, 2)) }, false},
		"negative work":      {func(s *run.Snapshot) { s.WorkDone = -math.SmallestNonzeroFloat64 }, false},
		"work of no number":  {func(s *run.Snapshot) { s.WorkDone = run.Fraction(math.NaN()) }, false},
		"a large rate":       {func(s *run.Snapshot) { s.Rate = 1e100 }, true},
		"too large a rate":   {func(s *run.Snapshot) { s.Rate = math.MaxFloat64 }, false},
		"an infinite rate":   {func(s *run.Snapshot) { s.Rate = math.Inf(1) }, false},
		"a negative rate":    {func(s *run.Snapshot) { s.Rate = -1 }, false},
		"an instant to go":   {func(s *run.Snapshot) { s.ETA = &run.ETA{Min: run.Seconds{Duration: 1}, Max: run.Seconds{Duration: 1}} }, true},
		"a reversed range":   {func(s *run.Snapshot) { s.ETA = &run.ETA{Min: run.Seconds{Duration: 2}, Max: run.Seconds{Duration: 1}} }, false},
		"a negative range": {func(s *run.Snapshot) {
			s.ETA = &run.ETA{Min: run.Seconds{Duration: -2}, Max: run.Seconds{Duration: -1}}
		}, false},
		"negative time":       {func(s *run.Snapshot) { s.Elapsed.Duration = -1 }, false},
		"negative workers":    {func(s *run.Snapshot) { s.Workers = -1 }, false},
		"negative threads":    {func(s *run.Snapshot) { s.Threads = -1 }, false},
		"negative disputes":   {func(s *run.Snapshot) { s.Disputes = -1 }, false},
		"no workers":          {func(s *run.Snapshot) { s.WorkerList = nil }, true},
		"most workers":        {func(s *run.Snapshot) { s.WorkerList = workers(run.MaxWorkers) }, true},
		"too many workers":    {func(s *run.Snapshot) { s.WorkerList = workers(run.MaxWorkers + 1) }, false},
		"a long name":         {worker(func(m *run.Worker) { m.Name = strings.Repeat("x", 128) }), true},
		"too long a name":     {worker(func(m *run.Worker) { m.Name = strings.Repeat("x", 129) }), false},
		"a worker of no name": {worker(func(m *run.Worker) { m.Name = "" }), false},
		"too long a kernel":   {worker(func(m *run.Worker) { m.Kernel = strings.Repeat("x", 129) }), false},
		"a control name":      {worker(func(m *run.Worker) { m.Name = controlName }), false},
		"a control kernel":    {worker(func(m *run.Worker) { m.Kernel = controlName }), false},
		"no threads":          {worker(func(m *run.Worker) { m.Threads = 0 }), false},
		"a rate of no number": {worker(func(m *run.Worker) { m.Rate = math.NaN() }), false},
		"nothing held":        {worker(func(m *run.Worker) { m.Held, m.Oldest.Duration = 0, 0 }), true},
		"less than nothing":   {worker(func(m *run.Worker) { m.Held = -1 }), false},
		"held backwards":      {worker(func(m *run.Worker) { m.Oldest.Duration = -1 }), false},
	} {
		s := run.Snapshot{
			Run: "n8-a", N: 8, Symmetry: queens.Full, State: run.Running, Done: 3, Tasks: 7, WorkDone: 0.4, Solutions: decimal(40),
			Rate: 3, Elapsed: run.Seconds{Duration: time.Second}, Workers: 1, Threads: 2, WorkerList: workers(1),
		}
		c.change(&s)
		err := s.Validate()
		if (err == nil) != c.valid {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && len(err.Error()) > 1000 {
			t.Errorf("%s: the error has %d bytes", name, len(err.Error()))
		}
	}
}

// workers returns the given number of workers.
func workers(number int) (all []run.Worker) {
	for range number {
		all = append(all, run.Worker{Name: "w", Kernel: "generic", Threads: 2, Rate: 1, Held: 1, Oldest: run.Seconds{Duration: time.Second}})
	}
	return all
}

func decimal(x int64) *run.Decimal { return (*run.Decimal)(big.NewInt(x)) }

// A snapshot from outside is strictly decoded: a field that it does not have, text behind it, a number in another form
// and a time that is no duration are errors.
func TestSnapshotIsDecodedStrictly(t *testing.T) {
	valid := run.Snapshot{
		Run: "n8-a", N: 8, Symmetry: queens.Full, State: run.Complete, At: time.Unix(1, 5).UTC(), Done: 7, Tasks: 7, WorkDone: 1, Solutions: decimal(92),
		ETA: &run.ETA{Min: run.Seconds{Duration: time.Second}, Max: run.Seconds{Duration: 1500 * time.Millisecond}}, WorkerList: workers(2),
		Placed: []queens.Square{}, Sharing: []string{"n20-b"}, Bottleneck: run.ByTail,
	}
	valid.SetTotal(big.NewInt(92), &run.Confirmation{Published: true, Redundancy: 1, Tasks: 7})
	text, err := json.Marshal(&valid)
	if err != nil {
		t.Fatal(err)
	}
	decode := func(text string) (s run.Snapshot, err error) {
		err = run.DecodeStrict([]byte(text), run.MaxSnapshotBytes, &s)
		return s, err
	}
	valid.Placed = nil // that is not written
	if got, err := decode(string(text)); err != nil || !reflect.DeepEqual(got, valid) {
		t.Errorf("%s is decoded as %+v (error %v)", text, got, err)
	}
	for old, changed := range map[string]string{
		`"done":7`:          `"done":8`,
		`"n":8`:             `"n":8,"extra":1`,
		`"solutions":"92"`:  `"solutions":"092"`,
		`"total":"92"`:      `"total":"-92"`,
		`"elapsed_s":0`:     `"elapsed_s":1e300`,
		`"eta_least_s":1`:   `"eta_least_s":-1`,
		`"percent":100`:     `"percent":101`,
		`"threads":2`:       `"threads":2e9999`,
		`"name":"w"`:        `"name":"w\u001b[2J"`,
		`"confirmed":"pub`:  `"confirmed":"redundant","x":"pub`,
		`"sharing":["n20-b`: `"sharing":["N20`,
	} {
		if hostile := strings.Replace(string(text), old, changed, 1); hostile == string(text) {
			t.Errorf("there is no %s in %s", old, text)
		} else if s, err := decode(hostile); err == nil {
			t.Errorf("%s is decoded as %+v", changed, s)
		}
	}
	for _, hostile := range []string{"", "null", "[]", string(text) + "{}", string(text[:len(text)-1]), strings.Repeat(" ", run.MaxSnapshotBytes) + string(text)} {
		if s, err := decode(hostile); err == nil {
			t.Errorf("%.100s is decoded as %+v", hostile, s)
		}
	}
}

// Numbers of solutions have one form: decimal digits.
func TestDecimal(t *testing.T) {
	for text, valid := range map[string]bool{
		"0": true, "227514171973736000000": true, "": false, "-1": false, "+92": false, "092": false, "9 2": false, "9_2": false, "0x5c": false,
		"92.0": false, "\x1b[2J": false, strings.Repeat("9", 1<<20): false, strings.Repeat("9", 78): false,
	} {
		d := new(run.Decimal)
		if err := d.UnmarshalText([]byte(text)); (err == nil) != valid || valid && d.String() != text {
			t.Errorf("%.100q is read as %v (error %v)", text, d, err)
		}
	}
}

// A fraction is a percentage in JSON: an exact one stays so, and only all is 100.
func TestFraction(t *testing.T) {
	for f, want := range map[run.Fraction]string{0: "0", 0.29: "29", 0.57: "57", 1: "100", run.Fraction(math.Nextafter(1, 0)): "99.99999999999999"} {
		text, err := json.Marshal(f)
		var back run.Fraction
		if err != nil || string(text) != want || json.Unmarshal(text, &back) != nil || (back == 1) != (f == 1) {
			t.Errorf("%v is written %s, want %s, and read back as %v (error %v)", float64(f), text, want, float64(back), err)
		}
	}
}

func TestPhrase(t *testing.T) {
	for b, want := range map[run.Bottleneck]string{
		"": "", run.BySearch: "", run.ByLedger: "bounded by the ledger", run.ByTail: "bounded by the tail", run.ByMessages: "bounded by messages", run.ByWindow: "bounded by the window",
	} {
		if got := b.Phrase(); got != want {
			t.Errorf("%q: %q, want %q", b, got, want)
		}
	}
}
