package audit

import (
	"math/big"

	"nqueens/pkg/ledger"
	"nqueens/pkg/progress"
	"nqueens/pkg/queens"
	"nqueens/pkg/split"
)

// Snapshot returns the facts of a run on which no coordinator works, as its ledger has them, without a total.
func Snapshot(s *ledger.State) queens.Snapshot {
	h := s.Header()
	m := &h.Manifest
	snapshot := queens.Snapshot{
		Run: h.Run, N: m.N, Symmetry: m.Symmetry, Placed: m.Placed, State: queens.Stopped, At: h.Created,
		Done: s.NumberDone(), Tasks: m.Tasks, Solutions: (*queens.Decimal)(s.Solutions()),
		WorkDone:   queens.Fraction(split.WorkDone(m, nil, s.DoneByClass())),
		Redundancy: h.Redundancy, SpotCheck: h.SpotCheck, Checked: s.Checked(), Disputes: s.Disputes(),
		Recounts: s.Recounts(), Recounting: uint64(len(s.Unsettled())), Recorded: s.Results(),
	}
	if bans := s.Bans(); len(bans) > 0 {
		snapshot.Banned = bans[:min(len(bans), queens.MaxBans)]
	}
	if mark := s.Mark(); mark != nil {
		snapshot.At, snapshot.Elapsed.Duration = mark.At, mark.Wall
	}
	if s.Ended() == queens.Contradicted {
		snapshot.State = queens.Contradicted
	}
	return snapshot
}

// History returns how the run of the ledger at path went, by its marks, as far as the ledger can be read.
func History(path string) []progress.Point {
	var h progress.History
	_ = ledger.Read(path, func(r ledger.Record) error {
		if m, ok := r.(*ledger.Mark); ok {
			solutions, _ := (*big.Int)(m.Solutions).Float64()
			h.Add(progress.Point{Elapsed: m.Wall, Work: m.Work, Solutions: solutions})
		}
		return nil
	})
	return h.Points()
}

// Workers returns the number of worker processes that have counted, those of banned machines left out, as far as the ledger
// at path can be read.
func Workers(path string) int {
	processes, banned := make(map[queens.Process]bool), make(map[string]bool)
	_ = ledger.Read(path, func(r ledger.Record) error {
		switch r := r.(type) {
		case *ledger.Result:
			processes[queens.Process{Machine: r.Machine, Name: r.Process}] = true
		case *ledger.Ban:
			banned[r.Machine] = true
		}
		return nil
	})
	workers := 0
	for p := range processes {
		if !banned[p.Machine] {
			workers++
		}
	}
	return workers
}
