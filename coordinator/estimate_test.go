package main

import (
	"math"
	"testing"
)

// Times of any length are short to read, and carry over where they round up.
func TestLongTime(t *testing.T) {
	const hour, year = 3600, 365.25 * 24 * 3600
	for want, seconds := range map[string]float64{
		"<0.1s":              0.049,
		"0.1s":               0.05,
		"1.6s":               1.62,
		"9.9s":               9.949,
		"10s":                9.95,
		"4m12s":              252.4,
		"3h20m":              3.333 * hour,
		"12d4h":              292 * hour,
		"365d6h":             year - 1,
		"1.0 years":          year,
		"3.1 years":          3.14 * year,
		"99.9 years":         99.94 * year,
		"100 years":          99.95 * year,
		"293 years":          293 * year, // more than a time.Duration holds
		"1.0 thousand years": 999.6 * year,
		"12.3 million years": 12.34e6 * year,
		"1.0 billion years":  999.9e6 * year,
	} {
		if got := longTime(seconds); got != want {
			t.Errorf("%v s are shown as %q, want %q", seconds, got, want)
		}
	}
}

// Numbers are shown in full as long as that is short.
func TestLarge(t *testing.T) {
	for want, x := range map[string]float64{
		"0": 0, "4": 3.98, "724": 724.4, "999999": 999999.4, "1.00e6": 999999.5,
		"3.93e10": 39255530764, "4.98e22": 4.979e22,
	} {
		if got := large(x); got != want {
			t.Errorf("%v is shown as %q, want %q", x, got, want)
		}
	}
}

func TestSize(t *testing.T) {
	for want, bytes := range map[string]uint64{
		"64 KiB": 1 << 16, "512 KiB": 1 << 19, "1.0 MiB": 1 << 20, "676 MiB": 709_000_000,
	} {
		if got := size(bytes); got != want {
			t.Errorf("%d bytes are shown as %q, want %q", bytes, got, want)
		}
	}
}

// A range whose ends look the same is none.
func TestBetween(t *testing.T) {
	if got := between(secondsReport{Low: 1, Mid: 1.5, High: 2}, longTime); got != "1.0s to 2.0s" {
		t.Errorf("%q", got)
	}
	if got := between(secondsReport{Low: 1, Mid: 1, High: math.Nextafter(1, 2)}, longTime); got != "" {
		t.Errorf("%q, want nothing", got)
	}
}
