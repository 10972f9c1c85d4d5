package run_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"nqueens/pkg/run"
)

// validity is the result of validating a value, and a part of the expected error, empty if
// the value is valid.
type validity struct {
	name string
	err  error
	says string
}

func checkAll(t *testing.T, cases []validity) {
	t.Helper()
	for _, c := range cases {
		switch {
		case c.says == "" && c.err != nil:
			t.Errorf("%s: %v, want it valid", c.name, c.err)
		case c.says != "" && c.err == nil:
			t.Errorf("%s: found valid, want an error about %q", c.name, c.says)
		case c.says != "" && !strings.Contains(c.err.Error(), c.says):
			t.Errorf("%s: %v: says nothing of %q", c.name, c.err, c.says)
		}
	}
}

// A heartbeat is valid when it names its worker, in at most 128 bytes like all
// names, claims at least one thread and no absurd number of them, and names the run and the id
// of each chunk that it holds.
func TestHeartbeatValidate(t *testing.T) {
	heartbeat := func(change func(h *run.Heartbeat)) error {
		h := run.Heartbeat{Worker: "w", Version: "devel", Kernel: "generic", Threads: 2}
		change(&h)
		return h.Validate()
	}
	holding := func(chunks ...run.HeldChunk) error {
		return heartbeat(func(h *run.Heartbeat) { h.Held = chunks })
	}
	longest := strings.Repeat("w", 128)
	checkAll(t, []validity{
		{"plain", heartbeat(func(*run.Heartbeat) {}), ""},
		{"leaving", heartbeat(func(h *run.Heartbeat) { h.Leaving = true }), ""},
		{"without version and kernel", heartbeat(func(h *run.Heartbeat) { h.Version, h.Kernel = "", "" }), ""},
		{"longest names", heartbeat(func(h *run.Heartbeat) { h.Worker, h.Version, h.Kernel = longest, longest, longest }), ""},
		{"one thread", heartbeat(func(h *run.Heartbeat) { h.Threads = 1 }), ""},
		{"most threads", heartbeat(func(h *run.Heartbeat) { h.Threads = 65536 }), ""},
		{"no worker", heartbeat(func(h *run.Heartbeat) { h.Worker = "" }), "without a name"},
		{"a long worker", heartbeat(func(h *run.Heartbeat) { h.Worker = longest + "w" }), "worker name of 129 bytes"},
		{"a long version", heartbeat(func(h *run.Heartbeat) { h.Version = longest + "w" }), "version of 129 bytes"},
		{"a long kernel", heartbeat(func(h *run.Heartbeat) { h.Kernel = longest + "w" }), "kernel name of 129 bytes"},
		{"a control worker", heartbeat(func(h *run.Heartbeat) { h.Worker = controlName }), quotedControlName},
		{"a control version", heartbeat(func(h *run.Heartbeat) { h.Version = controlName }), quotedControlName},
		{"a control kernel", heartbeat(func(h *run.Heartbeat) { h.Kernel = controlName }), quotedControlName},
		{"no thread", heartbeat(func(h *run.Heartbeat) { h.Threads = 0 }), "0 threads"},
		{"negative threads", heartbeat(func(h *run.Heartbeat) { h.Threads = -1 }), "-1 threads"},
		{"chunks", holding(run.HeldChunk{Run: "r", Chunk: math.MaxUint64, Searching: true, Elapsed: math.MaxInt64}, run.HeldChunk{Run: "s", Chunk: 1}), ""},
		{"a chunk of no run", holding(run.HeldChunk{Run: "r", Chunk: 6}, run.HeldChunk{Chunk: 7}), "run name"},
		{"a chunk without an id", holding(run.HeldChunk{Run: "r", Chunk: 6}, run.HeldChunk{Run: "r"}), `"w" with a chunk of run r without an id`},
		{"a chunk for a negative time", holding(run.HeldChunk{Run: "r", Chunk: 7, Elapsed: -1}), "chunk 0000000000000007 for a negative time"},
		{"most chunks", holding(slices.Repeat([]run.HeldChunk{{Run: "r", Chunk: 7}}, run.MaxHeld)...), ""},
		{"too many chunks", holding(slices.Repeat([]run.HeldChunk{{Run: "r", Chunk: 7}}, run.MaxHeld+1)...), "4097 chunks"},
		{"all threads busy", heartbeat(func(h *run.Heartbeat) { h.Busy = 2 }), ""},
		{"more threads busy than there are", heartbeat(func(h *run.Heartbeat) { h.Busy = 3 }), "3 of 2 threads busy"},
		{"less than no thread busy", heartbeat(func(h *run.Heartbeat) { h.Busy = -1 }), "-1 of 2 threads busy"},
		{"paused", heartbeat(func(h *run.Heartbeat) { h.Paused = "on battery" }), ""},
		{"a long reason", heartbeat(func(h *run.Heartbeat) { h.Paused = longest + "w" }), "reason for a pause of 129 bytes"},
		{"a control reason", heartbeat(func(h *run.Heartbeat) { h.Paused = controlName }), quotedControlName},
		{"too many threads", heartbeat(func(h *run.Heartbeat) { h.Threads = 65537 }), "65537 threads"},
		{"most integers", heartbeat(func(h *run.Heartbeat) { h.Threads = math.MaxInt }), "threads"},
	})
}

// An error about a heartbeat is one short line, even if its fields are long.
func TestErrorsAreShort(t *testing.T) {
	huge := strings.Repeat("\x00\n", 1<<20)
	heartbeats := []run.Heartbeat{{Worker: huge}, {Worker: "w", Version: huge}, {Worker: huge[:128], Threads: -1}, {Worker: strings.Repeat("\u202e", 42)}}
	for _, h := range heartbeats {
		err := h.Validate()
		if err == nil {
			t.Fatalf("a heartbeat of worker %.80q is valid", h.Worker)
		}
		if len(err.Error()) > 1000 || strings.Contains(err.Error(), "\n") {
			t.Errorf("an error of %d bytes: %.200q", len(err.Error()), err)
		}
	}
}

// controlName is a name that controls the terminal; errors show quotedControlName.
const (
	controlName       = "a\x1b]0;owned\x07\x1b[2J"
	quotedControlName = `"a\x1b]0;owned\a\x1b[2J"`
)
