package report

import (
	"nqueens/pkg/humanize"
	"nqueens/pkg/run"
)

// Pace is how far a run is and how fast, in the form of JSON objects.
type Pace struct {
	Percent  float64  `json:"percent"`               // of the estimated work
	Rate     float64  `json:"rate"`                  // solutions per second
	ETALeast *float64 `json:"eta_least_s,omitempty"` // absent while unknown
	ETAMost  *float64 `json:"eta_most_s,omitempty"`

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
