package humanize

import (
	"math"
	"math/big"
	"testing"
)

func TestBig(t *testing.T) {
	for _, tt := range []struct{ number, want string }{
		{"0", "0"}, {"92", "92"}, {"724", "724"}, {"2680", "2,680"}, {"4968057848", "4,968,057,848"},
		{"234907967154122528", "234,907,967,154,122,528"}, {"-100", "-100"}, {"-1000", "-1,000"},
	} {
		number, ok := new(big.Int).SetString(tt.number, 10)
		if got := Big(number); !ok || got != tt.want {
			t.Errorf("Big(%s) = %s, want %s", tt.number, got, tt.want)
		}
	}
	if got := Big(nil); got != "-" {
		t.Errorf("Big(nil) = %s", got)
	}
}

func TestRate(t *testing.T) {
	for _, tt := range []struct {
		rate float64
		want string
	}{
		{0, "0 /s"}, {-1, "0 /s"}, {math.NaN(), "0 /s"}, {0.25, "0.25 /s"}, {9.999, "10.0 /s"},
		{99.96, "100 /s"}, {950.4, "950 /s"},
		{999.6, "1.00 k/s"}, {2064, "2.06 k/s"}, {206435540, "206 M/s"}, {12.34e9, "12.3 G/s"},
		{1e12, "1.00 T/s"},
		{5e15, "5.00 P/s"}, {5e18, "5.00 E/s"}, {1e300, "> 1000 E/s"}, {math.Inf(1), "> 1000 E/s"},
	} {
		if got := Rate(tt.rate); got != tt.want {
			t.Errorf("Rate(%v) = %s, want %s", tt.rate, got, tt.want)
		}
	}
}

// Numbers up to 999999 are rounded to whole numbers, larger ones to three digits.
func TestApprox(t *testing.T) {
	for want, x := range map[string]float64{
		"0": 0, "4": 3.98, "724": 724.4, "999999": 999999.4, "1.00e6": 999999.5,
		"3.93e10": 39255530764, "4.98e22": 4.979e22,
	} {
		if got := Approx(x); got != want {
			t.Errorf("Approx(%v) = %q, want %q", x, got, want)
		}
	}
}

func TestBytes(t *testing.T) {
	for want, size := range map[string]uint64{
		"64 KiB": 1 << 16, "512 KiB": 1 << 19, "1.0 MiB": 1 << 20, "676 MiB": 709_000_000,
	} {
		if got := Bytes(size); got != want {
			t.Errorf("Bytes(%d) = %q, want %q", size, got, want)
		}
	}
}

func TestPlural(t *testing.T) {
	for number, want := range map[int]string{0: "0 workers", 1: "1 worker", 2: "2 workers",
		1234: "1,234 workers"} {
		if got := Plural(number, "worker"); got != want {
			t.Errorf("Plural(%d) = %q, want %q", number, got, want)
		}
	}
}

// Percent shows 100% only if all is done.
func TestPercent(t *testing.T) {
	for _, c := range []struct {
		share float64
		done  bool
		want  string
	}{
		{0, false, "0.0%"}, {-1, false, "0.0%"}, {math.NaN(), false, "0.0%"}, {0.2649, false, "26.4%"},
		{0.99999, false, "99.9%"}, {7, false, "99.9%"}, {math.Inf(1), false, "99.9%"},
		{1, true, "100.0%"}, {0.5, true, "100.0%"},
	} {
		if got := Percent(c.share, c.done); got != c.want {
			t.Errorf("Percent(%v, %v) = %q, want %q", c.share, c.done, got, c.want)
		}
	}
	for share, want := range map[float64]float64{0: 0, 0.2649: 26.4, 0.99999: 99.9, 1: 100} {
		if got := Percentage(share); got != want {
			t.Errorf("Percentage(%v) = %v, want %v", share, got, want)
		}
	}
}

// An interval whose ends look the same is shown as one value.
func TestRange(t *testing.T) {
	if got := Range(1, 2, Seconds); got != "1.0s to 2.0s" {
		t.Errorf("got %q", got)
	}
	if got := Range(1, math.Nextafter(1, 2), Seconds); got != "1.0s" {
		t.Errorf("got %q", got)
	}
}
