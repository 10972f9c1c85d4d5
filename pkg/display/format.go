package display

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"nqueens/pkg/run"
)

// Count shows an exact number with its thousands apart: 4,968,057,848. Of nil it shows
// a dash.
func Count(number *big.Int) string {
	if number == nil {
		return "-"
	}
	return thousands(number.String())
}

// thousands puts commas into the digits of a whole number, which may have a sign.
func thousands(digits string) string {
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return sign + digits
}

func count[T int | uint64](number T) string { return thousands(fmt.Sprint(number)) }

// plural shows how many there are of something: 1 worker, 2 workers.
func plural[T int | uint64](number T, what string) string {
	if number != 1 {
		what += "s"
	}
	return count(number) + " " + what
}

// Rate shows how many there are a second, to three digits: 206 M/s.
func Rate(perSecond float64) string {
	if !(perSecond > 0) { // also NaN
		return "0 /s"
	}
	for _, unit := range []string{"", "k", "M", "G", "T", "P", "E"} {
		if perSecond < 999.5 {
			return digits(perSecond) + " " + unit + "/s"
		}
		perSecond /= 1000
	}
	return "> 1000 E/s"
}

// digits shows a number below 1000 to three digits, but no more than two of them behind
// the point: 0.25, 2.06, 20.6, 206.
func digits(number float64) string {
	behind := 0
	switch {
	case number < 9.995:
		behind = 2
	case number < 99.95:
		behind = 1
	}
	return strconv.FormatFloat(number, 'f', behind, 64)
}

// percent shows a share with one decimal, rounded down: 100.0% is only for what is done.
func percent(share float64, done bool) string {
	tenths := 0.0
	switch {
	case done:
		tenths = 1000
	case share > 0: // so not NaN
		tenths = math.Min(math.Floor(share*1000), 999)
	}
	return fmt.Sprintf("%.1f%%", tenths/10)
}

const (
	day  = 24 * time.Hour
	year = 365 * day
)

// Coarse shows a time to go: 4m10s to 5m. Both ends are rounded outwards, so that the
// range still holds what it held, to steps that grow with them: a step is at least a
// thirtieth of the time, so a forecast that moves by a percent seldom shows. A time that
// has passed is none to go.
func Coarse(r run.Range) string {
	least, most := max(0, r.Min), max(0, r.Min, r.Max)
	least = least.Truncate(step(least))
	unit := step(most)
	if rest := most % unit; rest > 0 && most < math.MaxInt64-unit {
		most += unit - rest
	}
	switch {
	case most < time.Second:
		return "0s"
	case least == 0:
		return "up to " + brief(most)
	case least == most:
		return brief(most)
	}
	return brief(least) + " to " + brief(most)
}

// step returns the step to which Coarse rounds a duration.
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

// brief shows a duration rounded down, in one unit or two: 19s, 4m12s, 3h20m, 12d4h, 100y.
func brief(d time.Duration) string {
	switch d = max(0, d); {
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return pair(d, time.Minute, "m", time.Second, "s")
	case d < day:
		return pair(d, time.Hour, "h", time.Minute, "m")
	case d < 100*day:
		return pair(d, day, "d", time.Hour, "h")
	case d < 2*year:
		return fmt.Sprintf("%dd", d/day)
	}
	return fmt.Sprintf("%dy", d/year)
}

func pair(d, unit time.Duration, name string, small time.Duration, smallName string) string {
	text := fmt.Sprintf("%d%s", d/unit, name)
	if rest := d % unit / small; rest > 0 {
		text += fmt.Sprintf("%d%s", rest, smallName)
	}
	return text
}
