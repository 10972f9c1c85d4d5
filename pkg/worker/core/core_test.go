package core

import (
	"fmt"
	"testing"
	"time"

	"nqueens/pkg/queens"
)

// A worker remembers few runs, however many are announced. When these are silent, it forgets them,
// and there is room for another run.
func TestManyRuns(t *testing.T) {
	c := New(1, false)
	for i := range mostRuns + 10 {
		c.Announced(time.Second,
			queens.Announcement{Run: fmt.Sprintf("r%d", i), Instance: 1, State: queens.Running, Work: true},
			0)
	}
	if len(c.runs) != mostRuns {
		t.Errorf("%d runs are known", len(c.runs))
	}
	late := time.Second + 2*max(silentAfter, queens.LongestReply) + forgetEmpty
	c.Tick(late)
	c.Tick(late + time.Second)
	c.Announced(late+time.Second,
		queens.Announcement{Run: "late", Instance: 1, State: queens.Running, Work: true}, 0)
	if c.run("late") == nil {
		t.Errorf("%d runs are known, and the announced one is not", len(c.runs))
	}
}

// A worker is idle although it keeps results that a silent coordinator does not take. Their tasks
// are counted again.
func TestIdleBesideASilentCoordinator(t *testing.T) {
	c := New(1, false)
	c.Announced(0, queens.Announcement{Run: "r", Instance: 1, State: queens.Running, Work: true}, 0)
	chunk := queens.Range{Tasks: 1}
	for _, command := range c.Commands() {
		if ask, ok := command.(Ask); ok {
			c.Replied(0, "r", ask.Request.Number,
				&queens.WorkReply{Number: ask.Request.Number, Instance: 1,
					Chunks: []queens.Chunk{{Range: chunk}}})
		}
	}
	if c.Idle(time.Second) != 0 {
		t.Error("a worker that searches is idle")
	}
	c.Searched(time.Second, 0, []queens.Result{{Range: chunk, Counted: chunk}})
	if c.Idle(2*time.Second) != 0 {
		t.Error("a worker is idle before its result has a receipt")
	}
	c.Tick(time.Minute)
	if idle := c.Idle(time.Minute); idle != 59*time.Second || c.Stats(time.Minute).Results != 1 {
		t.Errorf("idle for %v with %d results, want 59 s with 1", idle, c.Stats(time.Minute).Results)
	}
}

// Results of a coordinator that is silent for a day are forgotten.
func TestForgetsAfterADay(t *testing.T) {
	c := New(1, false)
	c.Announced(0, queens.Announcement{Run: "r", Instance: 1, State: queens.Running, Work: true}, 0)
	chunk := queens.Range{Tasks: 1}
	c.Replied(0, "r", c.number, &queens.WorkReply{Number: c.number, Instance: 1,
		Chunks: []queens.Chunk{{Range: chunk}}})
	c.Searched(0, 0, []queens.Result{{Range: chunk, Counted: chunk}})
	day := silentAfter + 24*time.Hour
	for c.Next() < day {
		c.Tick(c.Next())
	}
	if c.Stats(day).Results != 1 || c.Next() != day {
		t.Errorf("%d results before a day has passed; the next tick is at %v", c.Stats(day).Results,
			c.Next())
	}
	last := c.run("r").delivered.number
	c.Tick(day)
	c.Receipted(day, "r", last, &queens.DeliveryReply{Receipts: make([]queens.Receipt, 1)})
	if results := c.Stats(day).Results; results != 0 {
		t.Errorf("%d results after a day", results)
	}
}

// A worker that searches nothing says for what it waits.
func TestWaits(t *testing.T) {
	heard := queens.Announcement{Run: "r", Instance: 1, State: queens.Running}
	for want, happens := range map[queens.Reason]func(c *Core) (now time.Duration){
		queens.NoCoordinator: func(*Core) time.Duration { return 0 },
		queens.NoWork: func(c *Core) time.Duration {
			c.Announced(0, heard, 0)
			return time.Second
		},
		queens.MachineBanned: func(c *Core) time.Duration {
			c.Announced(0, heard, 0)
			c.Replied(time.Second, "r", c.number, &queens.WorkReply{Instance: 1, Refused: "a wrong count"})
			return time.Second
		},
		queens.NoReplies: func(c *Core) time.Duration {
			c.Announced(0, heard, 0)
			c.Announced(6*time.Second, heard, 0)
			c.Replied(7*time.Second, "r", c.number, nil)
			return 7 * time.Second
		},
	} {
		c := New(1, false)
		if s := c.Stats(happens(c)); s.Reason != want || s.Why == "" {
			t.Errorf("waits for %s (%s), want %s", s.Reason, s.Why, want)
		}
	}
}

// The time for which the coordinator keeps a request is no part of the round trip. A reply that
// comes after a newer one has been overtaken, and says nothing about the round trip.
func TestRoundTrip(t *testing.T) {
	c := New(1, false)
	heard := queens.Announcement{Run: "r", Instance: 1, State: queens.Running, Work: true}
	c.Announced(0, heard, 0)
	reply := func(now time.Duration, number uint64, kept time.Duration) {
		c.Replied(now, "r", number, &queens.WorkReply{Number: number, Instance: 1, Kept: kept})
	}
	reply(5400*time.Millisecond, 1, 5*time.Second)
	first := c.number
	if trip := c.run("r").roundTrip; trip != 400*time.Millisecond {
		t.Errorf("the first round trip is %v", trip)
	}
	c.Announced(10*time.Second, heard, 0)
	c.Tick(13 * time.Second) // it asks again
	second := c.number
	if first == 1 || second == first {
		t.Fatalf("requests 1, %d and %d", first, second)
	}
	reply(14200*time.Millisecond, second, 0)
	if trip := c.run("r").roundTrip; trip != 500*time.Millisecond {
		t.Errorf("the mean round trip is %v", trip)
	}
	if !c.Replaced("r", first) || c.Replaced("r", second) {
		t.Error("a newer request replaces an older one, and not itself")
	}
	reply(15*time.Second, first, 0)
	if trip := c.run("r").roundTrip; trip != 500*time.Millisecond {
		t.Errorf("the mean round trip is %v after an old reply", trip)
	}
	// the process was suspended
	reply(time.Hour, c.number, 0)
	if trip := c.run("r").roundTrip; trip != 1312500*time.Microsecond {
		t.Errorf("the mean round trip is %v after an hour", trip)
	}
}
