package report

import (
	"nqueens/pkg/humanize"
	"nqueens/pkg/run"
)

// Pace is how far a run is and how fast, in the form of JSON objects.
type Pace struct {
	// share of the estimated work that is done, rounded down to a tenth; 100 means all
	Percent  float64  `json:"percent"`
	Rate     float64  `json:"rate"`                  // solutions per second, over the last 30 s
	ETALeast *float64 `json:"eta_least_s,omitempty"` // seconds left, at least; absent while unknown
	ETAMost  *float64 `json:"eta_most_s,omitempty"`  // seconds left, at most

	of run.Pace
}

// NewPace returns the pace in the form of JSON objects.
func NewPace(p run.Pace) *Pace {
	j := &Pace{Percent: humanize.Percentage(p.WorkDone), Rate: p.Rate, of: p}
	if p.ETA != (run.Range{}) {
		least, most := p.ETA.Min.Seconds(), p.ETA.Max.Seconds()
		j.ETALeast, j.ETAMost = &least, &most
	}
	return j
}
