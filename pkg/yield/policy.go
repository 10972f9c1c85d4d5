// Package yield decides when a worker pauses, so that a machine serves its users first: outside its hours,
// while other programs use the CPU, and on battery. [Policy] is the decision, of readings that its caller
// takes; [Policy.OnThisMachine] takes them here.
package yield

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Policy says when a worker pauses; its zero value never has it pause. It remembers the readings, and belongs to
// one goroutine.
type Policy struct {
	Hours *Hours // The worker counts only in these hours; nil means always.
	// Above is the part of the CPU of the whole machine, 0 to 1, that other programs use at most while the
	// worker counts; 0 means any.
	Above   float64
	Battery bool // The worker does not count on battery.

	high   int       // readings above Above, one after the other
	highAt time.Time // the last of all
	busy   bool      // other programs use the CPU
}

// Reading is what a machine does at a time.
type Reading struct {
	At        time.Time
	Others    float64 // Part of the CPU that other programs have used since the last reading, 0 to 1.
	OnBattery bool
}

const (
	// highReadings is how many readings in a row are above the limit before the worker pauses: a single one may be
	// a program that starts and ends.
	highReadings = 2
	// calm is how long all readings are below the limit before the worker goes on.
	calm = 30 * time.Second
)

// Pause returns why the worker pauses, or an empty text if it counts. Call it with a reading every half second.
func (p *Policy) Pause(r Reading) (reason string) {
	p.observeLoad(r)
	switch {
	case p.Hours != nil && !p.Hours.Contain(r.At):
		return "outside its hours"
	case p.Battery && r.OnBattery:
		return "on battery"
	case p.busy:
		return fmt.Sprintf("other programs use more than %g%% of the CPU", 100*p.Above)
	}
	return ""
}

// observeLoad notes what other programs use. The same limit begins and ends a pause: while the worker pauses, other
// programs get at least as much of the CPU as before, so that a pause does not end itself.
func (p *Policy) observeLoad(r Reading) {
	if p.Above > 0 && r.Others > p.Above {
		p.high, p.highAt = p.high+1, r.At
		p.busy = p.busy || p.high >= highReadings
		return
	}
	p.high = 0
	p.busy = p.busy && r.At.Sub(p.highAt) < calm
}

// ParseAbove returns the part of the CPU of a text such as 25%.
func ParseAbove(text string) (float64, error) {
	number, isPercentage := strings.CutSuffix(text, "%")
	percent, err := strconv.ParseFloat(number, 64)
	if err != nil || !isPercentage || !(percent >= 1 && percent <= 99) {
		return 0, fmt.Errorf("must be a percentage from 1%% to 99%%, not %q", text)
	}
	return percent / 100, nil
}
