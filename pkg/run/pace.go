package run

import "fmt"

// Pace is how far a run is and how fast, at one time. Its coordinator measures it, see package
// progress; displays, logs and lists show it, and compute nothing.
type Pace struct {
	Done     uint64  `json:"done"`         // Tasks on which enough voters agree.
	WorkDone float64 `json:"workDone"`     // Share of the estimated work that is done, 0 to 1.
	Rate     float64 `json:"rate"`         // Recent solutions per second.
	ETA      Range   `json:"eta,omitzero"` // Remaining time; zero if unknown.
}

// Pace returns how far the run is and how fast.
func (s *Progress) Pace() Pace {
	return Pace{Done: s.Done, WorkDone: s.WorkDone, Rate: s.Rate, ETA: s.ETA}
}

// Stopped returns the pace of the run once nobody works on it.
func (p Pace) Stopped() Pace { return Pace{Done: p.Done, WorkDone: p.WorkDone} }

// Validate returns the first thing wrong with the pace of a run of so many tasks, from outside.
func (p *Pace) Validate(tasks uint64) error {
	switch {
	case p.Done > tasks:
		return fmt.Errorf("%d of %d tasks are done", p.Done, tasks)
	case !(p.WorkDone >= 0 && p.WorkDone <= 1):
		return fmt.Errorf("the share %v of the work is done, not 0 to 1", p.WorkDone)
	case !isRate(p.Rate):
		return fmt.Errorf("the rate is %v", p.Rate)
	case p.ETA.Min < 0 || p.ETA.Max < p.ETA.Min:
		return fmt.Errorf("negative or reversed times: %v to %v remaining", p.ETA.Min, p.ETA.Max)
	}
	return nil
}
