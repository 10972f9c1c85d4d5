package run_test

import (
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
