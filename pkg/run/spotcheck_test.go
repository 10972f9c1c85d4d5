package run_test

import (
	"encoding/json"
	"testing"

	"nqueens/pkg/run"
)

// A share that is typed is never bounded, also that of auto; only auto is. Text and JSON lead back to the same.
func TestParseSpotCheck(t *testing.T) {
	for text, want := range map[string]run.SpotCheck{
		"auto": run.AutoSpotCheck, "1%": {Share: 0.01}, "0.01": {Share: 0.01}, "0": {}, "0%": {}, "5%": {Share: 0.05},
		"0.05": {Share: 0.05}, "7%": {Share: 0.07}, "100%": {Share: 1}, "0.1%": {Share: 0.001}, "1e-3": {Share: 0.001},
	} {
		got, err := run.ParseSpotCheck(text)
		if got != want || err != nil {
			t.Errorf("%s is %+v (%v), want %+v", text, got, err, want)
		}
		if again, err := run.ParseSpotCheck(got.String()); again != got || err != nil {
			t.Errorf("%s is %s, and again %+v (%v)", text, got, again, err)
		}
		var again run.SpotCheck
		if data, err := json.Marshal(got); err != nil || json.Unmarshal(data, &again) != nil || again != got {
			t.Errorf("%s is %s in JSON (%v), and again %+v", text, data, err, again)
		}
	}
	for _, text := range []string{"", "1", "2", "-1%", "-0.1", "101%", "NaN", "NaN%", "Inf", "AUTO", "1 %", "%", "1%%", "5e"} {
		if got, err := run.ParseSpotCheck(text); err == nil || got != (run.SpotCheck{}) {
			t.Errorf("%q is %+v", text, got)
		}
	}
}

// The text of a share is a percentage.
func TestSpotCheckString(t *testing.T) {
	for share, want := range map[float64]string{0: "0%", 0.01: "1%", 0.07: "7%", 0.29: "29%", 0.001: "0.1%", 1: "100%"} {
		if got := (run.SpotCheck{Share: share}).String(); got != want {
			t.Errorf("%v is %s", share, got)
		}
	}
}

// A share from outside is bounded.
func TestClampedSpotCheck(t *testing.T) {
	for share, want := range map[float64]float64{-1: 0, 0: 0, 0.5: 0.5, 1: 1, 2: 1} {
		if got := (run.SpotCheck{Share: share, Bounded: true}).Clamped(); got != (run.SpotCheck{Share: want, Bounded: true}) {
			t.Errorf("%v is %+v", share, got)
		}
	}
}
