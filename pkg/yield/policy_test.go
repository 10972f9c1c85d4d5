package yield

import (
	"strings"
	"testing"
	"time"
)

// play gives a policy a reading every half second, of what others use, and returns when it pauses, in seconds from the
// start, and when it goes on.
func play(p *Policy, load func(second float64) float64, seconds int) (changes []float64) {
	start := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	last := ""
	for at := time.Duration(0); at <= time.Duration(seconds)*time.Second; at += time.Second / 2 {
		reason := p.Pause(Reading{At: start.Add(at), Others: load(at.Seconds())})
		if (reason == "") != (last == "") {
			changes = append(changes, at.Seconds())
		}
		last = reason
	}
	return changes
}

// A worker pauses within a second of the time from which others use more than the limit, and goes on half a minute after
// the last time at which they did. A load of less than a second does not pause it, and one that comes and goes
// does not make it change.
func TestPauseAboveALimit(t *testing.T) {
	between := func(from, to float64) func(float64) float64 {
		return func(at float64) float64 {
			if at >= from && at < to {
				return 0.5
			}
			return 0.1
		}
	}
	for name, test := range map[string]struct {
		above float64
		load  func(at float64) float64
		want  []float64
	}{
		"comes and goes":    {0.25, between(10, 40), []float64{10.5, 69.5}},
		"short":             {0.25, between(10, 10.5), nil},
		"at the start":      {0.25, between(0, 5), []float64{0.5, 34.5}},
		"at the limit":      {0.5, between(10, 40), nil},
		"without a limit":   {0, between(10, 40), nil},
		"every ten seconds": {0.25, func(at float64) float64 { return between(0, 2)(float64(int(at) % 10)) }, []float64{0.5}},
	} {
		got := play(&Policy{Above: test.above}, test.load, 100)
		if len(got) != len(test.want) {
			t.Errorf("%s: changes at %v s, want %v", name, got, test.want)
			continue
		}
		for i := range got {
			if got[i] != test.want[i] {
				t.Errorf("%s: changes at %v s, want %v", name, got, test.want)
			}
		}
	}
}

// The reason is that of the longest pause, each within what a heartbeat may say. The load is watched outside
// the hours too.
func TestReasons(t *testing.T) {
	hours, err := ParseHours("22:00-06:00 UTC")
	if err != nil {
		t.Fatal(err)
	}
	p := Policy{Hours: hours, Above: 0.25, Battery: true}
	day, night := time.Date(2026, 11, 25, 21, 59, 59, 0, time.UTC), time.Date(2026, 11, 25, 22, 0, 0, 0, time.UTC)
	for _, step := range []struct {
		reading Reading
		want    string
	}{
		{Reading{At: day, Others: 1, OnBattery: true}, "outside its hours"},
		{Reading{At: day, Others: 1}, "outside its hours"},
		{Reading{At: night, OnBattery: true}, "on battery"},
		{Reading{At: night}, "other programs use more than 25% of the CPU"},
		{Reading{At: night.Add(time.Minute)}, ""},
		{Reading{At: night.Add(time.Minute), OnBattery: true}, "on battery"},
	} {
		if got := p.Pause(step.reading); got != step.want {
			t.Errorf("%+v: the reason is %q, want %q", step.reading, got, step.want)
		}
	}
	never := Policy{}
	if got := never.Pause(Reading{At: day, Others: 1, OnBattery: true}); got != "" {
		t.Errorf("without a policy: %q", got)
	}
}

// A limit is a percentage of the whole machine.
func TestParseAbove(t *testing.T) {
	for text, want := range map[string]float64{"25%": 0.25, "1%": 0.01, "99%": 0.99, "12.5%": 0.125} {
		if got, err := ParseAbove(text); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "25", "0.25", "0%", "100%", "-5%", "NaN%", "%", "25%%", "x%", "Inf%"} {
		if _, err := ParseAbove(text); err == nil || !strings.Contains(err.Error(), "from 1% to 99%") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
