package run_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// sample returns a task with all fields that its hash depends on.
func sample() queens.Task {
	return queens.Task{
		Run: "n8-20261120-153012-ab12", ID: 7, Board: queens.FullBoard(8),
		Prefixes: []queens.Prefix{
			{Row: 1, Cols: 0x01, Left: 0x02},
			{Row: 2, Cols: 0x42, Left: 0x88, Right: 0x20},
			{Row: 2, Cols: 0x28, Left: 0x60, Right: 0x12},
		},
	}
}

// A result is valid if its run and attempt are, it names worker and kernel in at most 128 bytes,
// and its time is not negative. Any count may be right.
func TestResultValidate(t *testing.T) {
	result := func(change func(r *run.Result)) error {
		r := run.Result{Run: "n8-20261120-153012-ab12", Attempt: 1, Worker: "w", Kernel: "generic", Elapsed: time.Second}
		change(&r)
		return r.Validate()
	}
	longest := strings.Repeat("w", 128)
	checkAll(t, []validity{
		{"plain", result(func(*run.Result) {}), ""},
		{"greatest numbers", result(func(r *run.Result) {
			r.Task, r.Hash, r.Attempt, r.Count = math.MaxUint64, math.MaxUint64, math.MaxUint32, math.MaxUint64
			r.Elapsed = math.MaxInt64
		}), ""},
		{"in no time", result(func(r *run.Result) { r.Elapsed = 0 }), ""},
		{"longest names", result(func(r *run.Result) { r.Worker, r.Kernel = longest, longest }), ""},
		{"no run", result(func(r *run.Result) { r.Run = "" }), "run name"},
		{"a run of other letters", result(func(r *run.Result) { r.Run = "N8" }), "run name"},
		{"no attempt", result(func(r *run.Result) { r.Attempt = 0 }), "attempt"},
		{"no worker", result(func(r *run.Result) { r.Worker = "" }), "does not name its worker"},
		{"a long worker", result(func(r *run.Result) { r.Worker = longest + "w" }), "worker name of 129 bytes"},
		{"no kernel", result(func(r *run.Result) { r.Kernel = "" }), "does not name its worker and kernel"},
		{"a long kernel", result(func(r *run.Result) { r.Kernel = longest + "w" }), "kernel name of 129 bytes"},
		{"a control worker", result(func(r *run.Result) { r.Worker = controlName }), quotedControlName},
		{"a control kernel", result(func(r *run.Result) { r.Kernel = controlName }), quotedControlName},
		{"negative time", result(func(r *run.Result) { r.Elapsed = -1 }), "negative time"},
		{"least time", result(func(r *run.Result) { r.Elapsed = math.MinInt64 }), "negative time"},
	})
}

// A run is finished if it was counted completely or cancelled. Any other can be resumed, also
// one in a state that only another version of the program knows.
func TestFinished(t *testing.T) {
	for state, want := range map[run.State]bool{
		run.Running:      false,
		run.Stopped:      false,
		run.Complete:     true,
		run.Contradicted: true,
		run.Cancelled:    true,
		"":               false,
		"unknown":        false,
	} {
		if got := state.Finished(); got != want {
			t.Errorf("a run that is %q is finished: %v, want %v", state, got, want)
		}
	}
}

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
