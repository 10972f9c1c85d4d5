package core

import (
	"testing"
	"time"

	"nqueens/pkg/queens"
)

// A run that had no work does not catch up with what the others got meanwhile, unless the worker
// still holds something of it: then it had work, and keeps its turn.
func TestCatchUp(t *testing.T) {
	for _, c := range []struct {
		hadWork bool
		results []kept
		want    time.Duration
	}{
		{false, nil, time.Minute}, {false, make([]kept, 1), time.Second}, {true, nil, time.Second},
	} {
		w := New(1, false)
		busy := &run{name: "busy", silentAt: Never, served: time.Minute}
		back := &run{name: "back", silentAt: Never, served: time.Second, dry: !c.hadWork,
			results: c.results}
		w.runs = []*run{busy, back, {name: "silent"}}
		w.accepted(back, []queens.Chunk{{Range: queens.Range{Tasks: 1}}}, 0)
		if back.served != c.want || back.dry {
			t.Errorf("had work: %v, results: %d; served %v, want %v", c.hadWork, len(c.results),
				back.served, c.want)
		}
	}
}

// A run has no work for this machine until it may be asked again, or if its reply is late.
func TestIsDry(t *testing.T) {
	late := run{roundTrip: time.Second, awaited: []asked{{number: 1, want: 1}}}
	for _, c := range []struct {
		about string
		run   run
		until time.Duration // it is dry before
		from  time.Duration // and from then on
	}{
		{"a new instance", run{quiet: time.Second}, time.Second, Never},
		{"a reply without chunks", run{asked: exchange{notBefore: time.Second}}, time.Second, Never},
		{"a late reply", late, 0, queens.ReplyTime(time.Second)},
	} {
		for _, now := range []time.Duration{0, time.Second, 2 * time.Second, 3 * time.Second} {
			if want := now < c.until || now >= c.from; c.run.isDry(now) != want {
				t.Errorf("%s: dry at %v: %v", c.about, now, !want)
			}
		}
	}
}

// A device searches several chunks together. The mean time of a chunk is its part of that time.
func TestMeanOfChunks(t *testing.T) {
	c := New(1, true)
	c.Announced(0, queens.Announcement{Run: "r", Instance: 1, State: queens.Running, Work: true}, 0)
	reply := queens.WorkReply{Number: c.number, Instance: 1}
	for first := range uint64(4) {
		r := queens.Range{First: first, Tasks: 1}
		reply.Chunks = append(reply.Chunks, queens.Chunk{Range: r})
	}
	c.Replied(0, "r", c.number, &reply)
	c.Searched(2*time.Second, 0, nil)
	if mean := c.run("r").mean; mean != time.Second/2 {
		t.Errorf("4 chunks took 2 s, and their mean time is %v", mean)
	}
}

// Chunks that wait count for the turn of their run when work is asked for.
func TestTurnAhead(t *testing.T) {
	c := New(1, false)
	r := &run{served: time.Second, mean: 2 * time.Second, waiting: make([]queens.Chunk, 3)}
	if now, ahead := c.turn(r, 0, false), c.turn(r, 0, true); now != time.Second ||
		ahead != 7*time.Second {
		t.Errorf("the turn is %v, and with the chunks that wait %v", now, ahead)
	}
}
