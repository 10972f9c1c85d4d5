package run_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"nqueens/pkg/run"
)

// An announcement is valid when it names its run, epoch and state, its numbers and weight are not
// negative and within their limits, and it names at most MaxObsolete chunks, each by its id.
func TestAnnouncementValidate(t *testing.T) {
	announcement := func(change func(b *run.Announcement)) error {
		b := run.Announcement{Run: "n8-a", Epoch: 2, State: run.Running, Waiting: 5, Weight: 1, Threads: 8, Obsolete: []uint64{3, 4}}
		change(&b)
		return b.Validate()
	}
	state := func(s run.State) error { return announcement(func(b *run.Announcement) { b.State = s }) }
	checkAll(t, []validity{
		{"plain", announcement(func(*run.Announcement) {}), ""},
		{"no work, no workers", announcement(func(b *run.Announcement) { b.Waiting, b.Weight, b.Threads, b.Obsolete = 0, 0, 0, nil }), ""},
		{"the first epoch", announcement(func(b *run.Announcement) { b.Epoch = 1 }), ""},
		{"greatest numbers", announcement(func(b *run.Announcement) {
			b.Epoch, b.Waiting, b.Weight, b.Threads = run.MaxEpoch, 1<<30, 4, 1<<30
			b.Obsolete = slices.Repeat([]uint64{math.MaxUint64}, run.MaxObsolete)
		}), ""},
		{"stopped", state(run.Stopped), ""},
		{"complete", state(run.Complete), ""},
		{"contradicted", state(run.Contradicted), ""},
		{"cancelled", state(run.Cancelled), ""},
		{"no state", state(""), "no run has the state"},
		{"an unknown state", state("asleep"), "announcement of run n8-a: no run has the state \"asleep\""},
		{"no run", announcement(func(b *run.Announcement) { b.Run = "" }), "run name"},
		{"a run that is a subject", announcement(func(b *run.Announcement) { b.Run = "nq.live.>" }), "run name"},
		{"no epoch", announcement(func(b *run.Announcement) { b.Epoch = 0 }), "the epoch 0"},
		{"an epoch without a next one", announcement(func(b *run.Announcement) { b.Epoch = math.MaxUint64 }), "the epoch 18446744073709551615"},
		{"less than no chunk", announcement(func(b *run.Announcement) { b.Waiting = -1 }), "-1 chunks waiting"},
		{"too many chunks", announcement(func(b *run.Announcement) { b.Waiting = 1<<30 + 1 }), "1073741825 chunks waiting"},
		{"less than no thread", announcement(func(b *run.Announcement) { b.Threads = -1 }), "-1 threads"},
		{"too many threads", announcement(func(b *run.Announcement) { b.Threads = 1<<30 + 1 }), "1073741825 threads"},
		{"most integers", announcement(func(b *run.Announcement) { b.Waiting, b.Threads = math.MaxInt, math.MaxInt }), "threads"},
		{"a negative weight", announcement(func(b *run.Announcement) { b.Weight = -1 }), "weight -1"},
		{"too great a weight", announcement(func(b *run.Announcement) { b.Weight = 5 }), "weight 5"},
		{"too many obsolete", announcement(func(b *run.Announcement) { b.Obsolete = slices.Repeat([]uint64{1}, run.MaxObsolete+1) }), "4097 obsolete"},
		{"an obsolete without id", announcement(func(b *run.Announcement) { b.Obsolete = []uint64{1, 0} }), "without an id"},
	})
}

// A run of high priority gets four times the share of a normal one, and one of low priority
// nothing beside them. An unknown priority, also that of a later version, is like a normal one.
// Announcements can carry all these weights.
func TestWeight(t *testing.T) {
	for priority, want := range map[run.Priority]int{run.Low: 0, run.Normal: 1, run.High: 4, "": 1, "highest": 1} {
		got := priority.Weight()
		if got != want {
			t.Errorf("priority %q has weight %d, want %d", priority, got, want)
		}
		b := run.Announcement{Run: "r", Epoch: 1, State: run.Running, Weight: got}
		if err := b.Validate(); err != nil {
			t.Errorf("the weight of priority %q: %v", priority, err)
		}
	}
}

// A worker tolerates the loss of two announcements in a row: a run is silent when three are missing, and
// not at the very time at which the third would come.
func TestSilentAfter(t *testing.T) {
	if lost := run.SilentAfter - 3*run.AnnouncementInterval; lost <= 0 || lost >= run.AnnouncementInterval {
		t.Errorf("a run is silent after %v, with an announcement every %v", run.SilentAfter, run.AnnouncementInterval)
	}
}

// An error about an announcement is one short line, even if its fields are long.
func TestErrorsAboutAnnouncementsAreShort(t *testing.T) {
	huge := strings.Repeat("\x00\n", 1<<20)
	for _, b := range []run.Announcement{{Run: huge}, {Run: "r", Epoch: 1, State: run.State(huge)}} {
		err := b.Validate()
		if err == nil {
			t.Fatalf("an announcement of run %.80q in state %.80q is valid", b.Run, b.State)
		}
		if len(err.Error()) > 1000 || strings.Contains(err.Error(), "\n") {
			t.Errorf("an error of %d bytes: %.200q", len(err.Error()), err)
		}
	}
}
