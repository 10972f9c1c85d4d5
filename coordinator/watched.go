package main

import (
	"fmt"

	"nqueens/pkg/display"
	"nqueens/pkg/humanize"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// watchedJSON is the object that watch prints of a snapshot.
type watchedJSON struct {
	Run       string     `json:"run"`
	N         int        `json:"n"`
	Placed    int        `json:"placed,omitempty"` // queens beforehand
	State     run.State  `json:"state"`
	Percent   float64    `json:"percent"` // of the estimated work
	Done      uint64     `json:"done"`
	Tasks     uint64     `json:"tasks"`
	Solutions string     `json:"solutions"`
	Rate      float64    `json:"rate"` // solutions a second
	Elapsed   float64    `json:"elapsed_s"`
	ETALeast  *float64   `json:"eta_least_s,omitempty"` // not while it can't be told
	ETAMost   *float64   `json:"eta_most_s,omitempty"`
	Workers   int        `json:"workers"`
	Threads   int        `json:"threads"`
	Repeated  uint64     `json:"repeated"`
	Conflicts int        `json:"conflicts"`
	Crew      []crewJSON `json:"crew"`
	Total     *string    `json:"total"` // null unless the run is complete
}

type crewJSON struct {
	Name    string  `json:"name"`
	Kernel  string  `json:"kernel"`
	Threads int     `json:"threads"`
	Rate    float64 `json:"rate"`
	Held    int     `json:"held"`
	Oldest  float64 `json:"oldest_s"`
}

func watched(s *run.Progress) *watchedJSON {
	w := watchedJSON{
		Run: s.Run, N: s.N, Placed: s.Placed, State: s.State, Percent: humanize.Percentage(s.WorkDone), Done: s.Done, Tasks: s.Tasks,
		Solutions: s.Solutions.String(), Rate: s.Rate, Elapsed: s.Elapsed.Seconds(),
		Workers: s.WorkerCount, Threads: s.Threads, Repeated: s.Republished, Conflicts: s.Conflicts,
		Crew: make([]crewJSON, len(s.Workers)),
	}
	if s.ETA != (run.Range{}) {
		least, most := s.ETA.Min.Seconds(), s.ETA.Max.Seconds()
		w.ETALeast, w.ETAMost = &least, &most
	}
	for i, m := range s.Workers {
		w.Crew[i] = crewJSON{Name: m.Name, Kernel: m.Kernel, Threads: m.Threads, Rate: m.Rate, Held: m.Held, Oldest: m.LongestTask.Seconds()}
	}
	if s.Total != nil {
		digits := s.Total.String()
		w.Total = &digits
	}
	return &w
}

// watchedTable is the summary of a run that is complete, as far as the last snapshot
// tells.
func watchedTable(s *run.Progress) []display.Line {
	verdict := verdicts["none"]
	if _, published := queens.KnownTotal(s.N); published && s.Placed == 0 {
		verdict = verdicts["match"] // else it would be none of a complete run
	}
	lines := []display.Line{{Label: "solutions", Value: humanize.Big(s.Total), Remark: verdict}}
	if s.Placed > 0 {
		lines = append(lines, display.Line{Label: "placed", Value: fmt.Sprint(s.Placed), Remark: "beforehand; coordinator runs says where"})
	}
	return append(lines,
		display.Line{Label: "time", Value: humanize.Duration(s.Elapsed), Remark: "of its last coordinator"},
		display.Line{Label: "tasks", Value: fmt.Sprint(s.Tasks), Remark: fmt.Sprintf("%d repeated, %d in conflict", s.Republished, s.Conflicts)},
		display.Line{Label: "run", Value: s.Run, Remark: "coordinator verify goes through it again"},
	)
}
