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
		w.runs = []*run{busy, back}
		w.accepted(back, []queens.Chunk{{Range: queens.Range{Tasks: 1}}}, 0)
		if back.served != c.want || back.dry {
			t.Errorf("had work: %v, results: %d; served %v, want %v", c.hadWork, len(c.results),
				back.served, c.want)
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
