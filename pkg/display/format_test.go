package display

import (
	"math"
	"math/big"
	"testing"
	"time"

	"nqueens/pkg/run"
)

func TestCount(t *testing.T) {
	for _, tt := range []struct{ number, want string }{
		{"0", "0"}, {"92", "92"}, {"724", "724"}, {"2680", "2,680"}, {"4968057848", "4,968,057,848"},
		{"234907967154122528", "234,907,967,154,122,528"}, {"-100", "-100"}, {"-1000", "-1,000"},
	} {
		number, ok := new(big.Int).SetString(tt.number, 10)
		if got := Count(number); !ok || got != tt.want {
			t.Errorf("Count(%s) = %s, want %s", tt.number, got, tt.want)
		}
	}
	if got := Count(nil); got != "-" {
		t.Errorf("Count(nil) = %s", got)
	}
}

func TestRate(t *testing.T) {
	for _, tt := range []struct {
		rate float64
		want string
	}{
		{0, "0 /s"}, {-1, "0 /s"}, {math.NaN(), "0 /s"}, {0.25, "0.25 /s"}, {9.999, "10.0 /s"}, {99.96, "100 /s"}, {950.4, "950 /s"},
		{999.6, "1.00 k/s"}, {2064, "2.06 k/s"}, {206435540, "206 M/s"}, {12.34e9, "12.3 G/s"}, {1e12, "1.00 T/s"},
		{5e15, "5.00 P/s"}, {5e18, "5.00 E/s"}, {1e300, "> 1000 E/s"}, {math.Inf(1), "> 1000 E/s"},
	} {
		if got := Rate(tt.rate); got != tt.want {
			t.Errorf("Rate(%v) = %s, want %s", tt.rate, got, tt.want)
		}
	}
}

func TestCoarse(t *testing.T) {
	const s, m, h = time.Second, time.Minute, time.Hour
	for _, tt := range []struct {
		least, most time.Duration
		want        string
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
		if got := Coarse(run.Range{Min: tt.least, Max: tt.most}); got != tt.want {
			t.Errorf("%v to %v: %s, want %s", tt.least, tt.most, got, tt.want)
		}
	}
}

// A forecast that moves by one percent seldom changes what is shown.
func TestCoarseIsCalm(t *testing.T) {
	changes, steps := 0, 0
	for d := 10 * time.Second; d < 3*year; d += d / 100 {
		r := run.Range{Min: d * 9 / 10, Max: d}
		moved := run.Range{Min: r.Min + r.Min/100, Max: r.Max + r.Max/100}
		steps++
		if Coarse(r) != Coarse(moved) {
			changes++
		}
	}
	if changes > steps/3 {
		t.Errorf("%d of %d steps of one percent change the text", changes, steps)
	}
}

func TestSummary(t *testing.T) {
	got := Summary([]Line{
		{"solutions", "39,029,188,884", "matches the published value (OEIS A000170)"},
		{"time", "4m12s", ""},
		{"run", "n20\x1b[2J", "again"},
	}, false)
	want := "" +
		"solutions  39,029,188,884  matches the published value (OEIS A000170)\n" +
		"time       4m12s\n" +
		"run        n20?[2J         again\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got, want := Summary([]Line{{"time", "4m12s", ""}}, true), "\x1b[2mtime\x1b[0m  \x1b[1m4m12s\x1b[0m\n"; got != want {
		t.Errorf("in colors %q, want %q", got, want)
	}
}
