package humanize

import (
	"fmt"
	"math"
	"time"
)

const (
	day  = 24 * time.Hour
	year = 365 * day
)

// Duration formats a duration, rounded to one or two units: 1.23s, 19s, 4m12s, 3h20m, 12d4h.
func Duration(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d < time.Hour:
		return Clock(d.Round(time.Second))
	case d < day:
		return Clock(d.Round(time.Minute))
	}
	return Clock(d.Round(time.Hour))
}

// Seconds formats a number of seconds: <0.1s, 1.6s, 4m12s, 3h20m, 12d4h, 3.1 years, 15.0 million
// years. The number may be too large for a [time.Duration].
func Seconds(seconds float64) string {
	const julianYear = 365.25 * 24 * 3600
	switch {
	case seconds < 0.05:
		return "<0.1s"
	case seconds < 9.95:
		return fmt.Sprintf("%.1fs", seconds)
	case seconds < julianYear:
		return Duration(time.Duration(math.Round(seconds)) * time.Second)
	}
	years, unit := scale(seconds/julianYear, " years", " thousand years", " million years",
		" billion years")
	return threeDigits(years, 1) + unit
}

// Clock formats an elapsed time, rounded down to one or two units: 19s, 4m12s, 3h, 12d4h, 100y. It
// formats a negative duration as 0s.
func Clock(d time.Duration) string {
	switch d = max(0, d); {
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return twoUnits(d, time.Minute, "m", time.Second, "s")
	case d < day:
		return twoUnits(d, time.Hour, "h", time.Minute, "m")
	case d < 100*day:
		return twoUnits(d, day, "d", time.Hour, "h")
	case d < 2*year:
		return fmt.Sprintf("%dd", d/day)
	}
	return fmt.Sprintf("%dy", d/year)
}

// twoUnits formats a duration in a large and a small unit. It leaves out the small unit if its
// number is 0.
func twoUnits(
	d, large time.Duration, largeName string, small time.Duration, smallName string,
) string {
	text := fmt.Sprintf("%d%s", d/large, largeName)
	if rest := d % large / small; rest > 0 {
		text += fmt.Sprintf("%d%s", rest, smallName)
	}
	return text
}

// Remaining formats the range of the time that a run will still take: 4m10s to 5m. It rounds both
// ends outwards to multiples of a step, so that the text covers the range. Up to 30 years, the step
// is about a thirtieth of the time or more, so that the text rarely changes when the forecast moves
// by one percent. It formats negative times as 0.
func Remaining(least, most time.Duration) string {
	low, high := max(0, least), max(0, least, most)
	low = low.Truncate(step(low))
	unit := step(high)
	if rest := high % unit; rest > 0 && high < math.MaxInt64-unit {
		high += unit - rest
	}
	switch {
	case high < time.Second:
		return "0s"
	case low == 0:
		return "up to " + Clock(high)
	}
	return Range(low, high, Clock)
}

// step returns the step to which [Remaining] rounds a duration.
func step(d time.Duration) time.Duration {
	for _, s := range []struct{ below, step time.Duration }{
		{10 * time.Second, time.Second},
		{time.Minute, 5 * time.Second},
		{5 * time.Minute, 10 * time.Second},
		{15 * time.Minute, 30 * time.Second},
		{30 * time.Minute, time.Minute},
		{2 * time.Hour, 5 * time.Minute},
		{5 * time.Hour, 10 * time.Minute},
		{15 * time.Hour, 30 * time.Minute},
		{30 * time.Hour, time.Hour},
		{90 * time.Hour, 3 * time.Hour},
		{30 * day, day},
		{100 * day, 5 * day},
		{2 * year, 25 * day},
	} {
		if d < s.below {
			return s.step
		}
	}
	return year
}
