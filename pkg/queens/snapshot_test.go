package queens_test

import (
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"nqueens/pkg/queens"
)

// A snapshot is valid at the edges of what a run can be, and not beyond them.
func TestSnapshotValidate(t *testing.T) {
	type change = func(s *queens.Snapshot)
	member := func(f func(m *queens.CrewMember)) change { return func(s *queens.Snapshot) { f(&s.Crew[0]) } }
	for name, c := range map[string]struct {
		change change
		valid  bool
	}{
		"as it is":            {func(*queens.Snapshot) {}, true},
		"a run of no name":    {func(s *queens.Snapshot) { s.Run = "" }, false},
		"a path for a name":   {func(s *queens.Snapshot) { s.Run = "../x" }, false},
		"side 32":             {func(s *queens.Snapshot) { s.N = 32 }, true},
		"side 33":             {func(s *queens.Snapshot) { s.N = 33 }, false},
		"no symmetry":         {func(s *queens.Snapshot) { s.Symmetry = "" }, false},
		"all placed":          {func(s *queens.Snapshot) { s.Placed = 8 }, true},
		"too many placed":     {func(s *queens.Snapshot) { s.Placed = 9 }, false},
		"no state":            {func(s *queens.Snapshot) { s.State = "" }, false},
		"cancelled":           {func(s *queens.Snapshot) { s.State = queens.Cancelled }, true},
		"a total too early":   {func(s *queens.Snapshot) { s.Total = big.NewInt(92) }, false},
		"complete":            {func(s *queens.Snapshot) { s.State, s.Total = queens.Complete, big.NewInt(92) }, true},
		"no total":            {func(s *queens.Snapshot) { s.State = queens.Complete }, false},
		"a negative total":    {func(s *queens.Snapshot) { s.State, s.Total = queens.Complete, big.NewInt(-92) }, false},
		"no solutions":        {func(s *queens.Snapshot) { s.Solutions = nil }, false},
		"many solutions":      {func(s *queens.Snapshot) { s.Solutions = new(big.Int).Lsh(big.NewInt(1), 255) }, true},
		"too many solutions":  {func(s *queens.Snapshot) { s.Solutions = new(big.Int).Lsh(big.NewInt(1), 256) }, false},
		"all done":            {func(s *queens.Snapshot) { s.Done, s.Work = 7, 1 }, true},
		"more than all done":  {func(s *queens.Snapshot) { s.Done = 8 }, false},
		"more than all work":  {func(s *queens.Snapshot) { s.Work = math.Nextafter(1, 2) }, false},
		"negative work":       {func(s *queens.Snapshot) { s.Work = -math.SmallestNonzeroFloat64 }, false},
		"work of no number":   {func(s *queens.Snapshot) { s.Work = math.NaN() }, false},
		"a large rate":        {func(s *queens.Snapshot) { s.Rate = math.MaxFloat64 }, true},
		"an infinite rate":    {func(s *queens.Snapshot) { s.Rate = math.Inf(1) }, false},
		"a negative rate":     {func(s *queens.Snapshot) { s.Rate = -1 }, false},
		"an instant to go":    {func(s *queens.Snapshot) { s.ETA = queens.Range{Least: 1, Most: 1} }, true},
		"a reversed range":    {func(s *queens.Snapshot) { s.ETA = queens.Range{Least: 2, Most: 1} }, false},
		"a negative range":    {func(s *queens.Snapshot) { s.ETA = queens.Range{Least: -2, Most: -1} }, false},
		"negative time":       {func(s *queens.Snapshot) { s.Elapsed = -1 }, false},
		"negative workers":    {func(s *queens.Snapshot) { s.Workers = -1 }, false},
		"negative threads":    {func(s *queens.Snapshot) { s.Threads = -1 }, false},
		"negative conflicts":  {func(s *queens.Snapshot) { s.Conflicts = -1 }, false},
		"nobody":              {func(s *queens.Snapshot) { s.Crew = nil }, true},
		"a full crew":         {func(s *queens.Snapshot) { s.Crew = crew(queens.MaxCrew) }, true},
		"too large a crew":    {func(s *queens.Snapshot) { s.Crew = crew(queens.MaxCrew + 1) }, false},
		"a long name":         {member(func(m *queens.CrewMember) { m.Name = strings.Repeat("x", 128) }), true},
		"too long a name":     {member(func(m *queens.CrewMember) { m.Name = strings.Repeat("x", 129) }), false},
		"a worker of no name": {member(func(m *queens.CrewMember) { m.Name = "" }), false},
		"too long a kernel":   {member(func(m *queens.CrewMember) { m.Kernel = strings.Repeat("x", 129) }), false},
		"a commanding name":   {member(func(m *queens.CrewMember) { m.Name = owned }), false},
		"a commanding kernel": {member(func(m *queens.CrewMember) { m.Kernel = owned }), false},
		"no threads":          {member(func(m *queens.CrewMember) { m.Threads = 0 }), false},
		"a rate of no number": {member(func(m *queens.CrewMember) { m.Rate = math.NaN() }), false},
		"nothing held":        {member(func(m *queens.CrewMember) { m.Held, m.Oldest = 0, 0 }), true},
		"less than nothing":   {member(func(m *queens.CrewMember) { m.Held = -1 }), false},
		"held backwards":      {member(func(m *queens.CrewMember) { m.Oldest = -1 }), false},
	} {
		s := queens.Snapshot{
			Run: "n8-a", N: 8, Symmetry: queens.Full, State: queens.Running, Done: 3, Tasks: 7, Work: 0.4, Solutions: big.NewInt(40),
			Rate: 3, Elapsed: time.Second, Workers: 1, Threads: 2, Crew: crew(1),
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

// crew returns so many workers.
func crew(number int) (all []queens.CrewMember) {
	for range number {
		all = append(all, queens.CrewMember{Name: "w", Kernel: "generic", Threads: 2, Rate: 1, Held: 1, Oldest: time.Second})
	}
	return all
}
