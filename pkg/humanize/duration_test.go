package humanize

import (
	"math"
	"testing"
	"time"
)

func TestRemaining(t *testing.T) {
	const s, m, h = time.Second, time.Minute, time.Hour
	for _, tt := range []struct {
		low, high time.Duration
		want      string
	}{
		{0, 0, "0s"},
		{-h, -m, "0s"},
		{400 * time.Millisecond, 2100 * time.Millisecond, "up to 3s"},
		{7 * s, 9 * s, "7s to 9s"},
		{48 * s, 65 * s, "45s to 1m10s"},
		{252 * s, 298 * s, "4m10s to 5m"},
		{10*m + 20*s, 10*m + 40*s, "10m to 11m"},
		{3*h + 24*m, 3*h + 31*m, "3h20m to 3h40m"},
		{2 * h, 2 * h, "2h"},
		{20 * h, 25*h + s, "20h to 1d2h"},
		{50 * h, 70 * h, "2d to 3d"},
		{12*day + h, 13*day + h, "12d to 14d"},
		{101 * day, 119 * day, "100d to 125d"},
		{3 * year, 99*year + day, "3y to 100y"},
		{5 * s, s, "5s"},
		{0, math.MaxInt64, "up to 292y"},
		{math.MinInt64, math.MaxInt64, "up to 292y"},
	} {
		if got := Remaining(tt.low, tt.high); got != tt.want {
			t.Errorf("%v to %v: %s, want %s", tt.low, tt.high, got, tt.want)
		}
	}
}

// A forecast that moves by one percent rarely changes the text.
func TestRemainingIsCalm(t *testing.T) {
	changes, steps := 0, 0
	for d := 10 * time.Second; d < 3*year; d += d / 100 {
		steps++
		if next := d + d/100; Remaining(d*9/10, d) != Remaining(next*9/10, next) {
			changes++
		}
	}
	if changes > steps/3 {
		t.Errorf("%d of %d steps of one percent change the text", changes, steps)
	}
}

// The text of any time is short. A number that rounds up to the next unit gets that unit.
func TestSeconds(t *testing.T) {
	const hour, julianYear = 3600, 365.25 * 24 * 3600
	for want, seconds := range map[string]float64{
		"<0.1s":              0.049,
		"0.1s":               0.05,
		"1.6s":               1.62,
		"9.9s":               9.949,
		"10s":                9.95,
		"4m12s":              252.4,
		"3h20m":              3.333 * hour,
		"12d4h":              292 * hour,
		"365d":               julianYear - 1,
		"1.0 years":          julianYear,
		"3.1 years":          3.14 * julianYear,
		"99.9 years":         99.94 * julianYear,
		"100 years":          99.95 * julianYear,
		"293 years":          293 * julianYear, // more than a time.Duration holds
		"1.0 thousand years": 999.6 * julianYear,
		"12.3 million years": 12.34e6 * julianYear,
		"1.0 billion years":  999.9e6 * julianYear,
	} {
		if got := Seconds(seconds); got != want {
			t.Errorf("%v s are shown as %q, want %q", seconds, got, want)
		}
	}
}

func TestDuration(t *testing.T) {
	const h = time.Hour
	for want, d := range map[string]time.Duration{
		"0s": 0, "1.23s": 1234 * time.Millisecond, "10s": 9999 * time.Millisecond,
		"1h": h - time.Second/4, "19s": 19400 * time.Millisecond,
		"4m12s": 252 * time.Second, "4m": 4 * time.Minute, "3h20m": 3*h + 20*time.Minute, "3h": 3 * h,
		"12d4h": 292 * h,
	} {
		if got := Duration(d); got != want {
			t.Errorf("Duration(%d) = %q, want %q", d, got, want)
		}
	}
}

func TestClock(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"0s": -time.Second, "9s": 9999 * time.Millisecond, "4m12s": 252 * time.Second,
		"4m": 4 * time.Minute,
		"3h": 3 * time.Hour, "12d4h": 292 * time.Hour, "100d": 100*day + time.Hour, "100y": 100 * year,
	} {
		if got := Clock(d); got != want {
			t.Errorf("Clock(%d) = %q, want %q", d, got, want)
		}
	}
}
