package run_test

import (
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// Progress is valid at the limits of what a run can be, and not beyond them.
func TestProgressValidate(t *testing.T) {
	type change = func(s *run.Progress)
	worker := func(f func(m *run.WorkerStatus)) change { return func(s *run.Progress) { f(&s.Workers[0]) } }
	for name, c := range map[string]struct {
		change change
		valid  bool
	}{
		"as it is":          {func(*run.Progress) {}, true},
		"a run of no name":  {func(s *run.Progress) { s.Run = "" }, false},
		"a path for a name": {func(s *run.Progress) { s.Run = "../x" }, false},
		"side 32":           {func(s *run.Progress) { s.N = 32 }, true},
		"side 33":           {func(s *run.Progress) { s.N = 33 }, false},
		"no symmetry":       {func(s *run.Progress) { s.Symmetry = "" }, false},
		"all placed":        {func(s *run.Progress) { s.Placed = 8 }, true},
		"too many placed":   {func(s *run.Progress) { s.Placed = 9 }, false},
		"no state":          {func(s *run.Progress) { s.State = "" }, false},
		"cancelled":         {func(s *run.Progress) { s.State = run.Cancelled }, true},
		"a total too early": {func(s *run.Progress) { s.Total = big.NewInt(92) }, false},
		"complete":          {func(s *run.Progress) { s.State, s.Total = run.Complete, big.NewInt(92) }, true},
		"no total":          {func(s *run.Progress) { s.State = run.Complete }, false},
		"a negative total":  {func(s *run.Progress) { s.State, s.Total = run.Complete, big.NewInt(-92) }, false},
		"published": {func(s *run.Progress) {
			s.State, s.Total, s.Confirmation = run.Complete, big.NewInt(92), run.Confirmation{Published: true, Redundancy: 1, Tasks: 7}
		}, true},
		"published, it claims": {func(s *run.Progress) {
			s.State, s.Total, s.Confirmation = run.Complete, big.NewInt(93), run.Confirmation{Published: true}
		}, false},
		"published, of placed queens": {func(s *run.Progress) {
			s.State, s.Placed, s.Total, s.Confirmation = run.Complete, 1, big.NewInt(92), run.Confirmation{Published: true}
		}, false},
		"confirmed by more tasks than all": {func(s *run.Progress) {
			s.State, s.Total, s.Confirmation = run.Complete, big.NewInt(92), run.Confirmation{Tasks: 8}
		}, false},
		"more checked than counted": {func(s *run.Progress) {
			s.State, s.Total, s.Confirmation = run.Complete, big.NewInt(92), run.Confirmation{Tasks: 6, Checked: 7}
		}, false},
		"confirmed too early": {func(s *run.Progress) { s.Confirmation = run.Confirmation{Tasks: 3, Checked: 1} }, false},
		"no solutions":        {func(s *run.Progress) { s.Solutions = nil }, false},
		"many solutions":      {func(s *run.Progress) { s.Solutions = new(big.Int).Lsh(big.NewInt(1), 255) }, true},
		"too many solutions":  {func(s *run.Progress) { s.Solutions = new(big.Int).Lsh(big.NewInt(1), 256) }, false},
		"all done":            {func(s *run.Progress) { s.Done, s.WorkDone = 7, 1 }, true},
		"more than all done":  {func(s *run.Progress) { s.Done = 8 }, false},
		"more than all work":  {func(s *run.Progress) { s.WorkDone = math.Nextafter(1, 2) }, false},
		"negative work":       {func(s *run.Progress) { s.WorkDone = -math.SmallestNonzeroFloat64 }, false},
		"work of no number":   {func(s *run.Progress) { s.WorkDone = math.NaN() }, false},
		"a large rate":        {func(s *run.Progress) { s.Rate = math.MaxFloat64 }, true},
		"an infinite rate":    {func(s *run.Progress) { s.Rate = math.Inf(1) }, false},
		"a negative rate":     {func(s *run.Progress) { s.Rate = -1 }, false},
		"an instant to go":    {func(s *run.Progress) { s.ETA = run.Range{Min: 1, Max: 1} }, true},
		"a reversed range":    {func(s *run.Progress) { s.ETA = run.Range{Min: 2, Max: 1} }, false},
		"a negative range":    {func(s *run.Progress) { s.ETA = run.Range{Min: -2, Max: -1} }, false},
		"negative time":       {func(s *run.Progress) { s.Elapsed = -1 }, false},
		"negative workers":    {func(s *run.Progress) { s.WorkerCount = -1 }, false},
		"negative threads":    {func(s *run.Progress) { s.Threads = -1 }, false},
		"negative conflicts":  {func(s *run.Progress) { s.Conflicts = -1 }, false},
		"no workers":          {func(s *run.Progress) { s.Workers = nil }, true},
		"most workers":        {func(s *run.Progress) { s.Workers = workers(run.MaxWorkers) }, true},
		"too many workers":    {func(s *run.Progress) { s.Workers = workers(run.MaxWorkers + 1) }, false},
		"a long name":         {worker(func(m *run.WorkerStatus) { m.Name = strings.Repeat("x", 128) }), true},
		"too long a name":     {worker(func(m *run.WorkerStatus) { m.Name = strings.Repeat("x", 129) }), false},
		"a worker of no name": {worker(func(m *run.WorkerStatus) { m.Name = "" }), false},
		"too long a kernel":   {worker(func(m *run.WorkerStatus) { m.Kernel = strings.Repeat("x", 129) }), false},
		"a control name":      {worker(func(m *run.WorkerStatus) { m.Name = controlName }), false},
		"a control kernel":    {worker(func(m *run.WorkerStatus) { m.Kernel = controlName }), false},
		"no threads":          {worker(func(m *run.WorkerStatus) { m.Threads = 0 }), false},
		"a rate of no number": {worker(func(m *run.WorkerStatus) { m.Rate = math.NaN() }), false},
		"nothing held":        {worker(func(m *run.WorkerStatus) { m.Held, m.LongestTask = 0, 0 }), true},
		"less than nothing":   {worker(func(m *run.WorkerStatus) { m.Held = -1 }), false},
		"held backwards":      {worker(func(m *run.WorkerStatus) { m.LongestTask = -1 }), false},
	} {
		s := run.Progress{
			Run: "n8-a", N: 8, Symmetry: queens.Full, State: run.Running, Done: 3, Tasks: 7, WorkDone: 0.4, Solutions: big.NewInt(40),
			Rate: 3, Elapsed: time.Second, WorkerCount: 1, Threads: 2, Workers: workers(1),
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
func workers(number int) (all []run.WorkerStatus) {
	for range number {
		all = append(all, run.WorkerStatus{Name: "w", Kernel: "generic", Threads: 2, Rate: 1, Held: 1, LongestTask: time.Second})
	}
	return all
}
