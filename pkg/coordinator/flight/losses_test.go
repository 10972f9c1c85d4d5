package flight

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// lostIn returns a flight whose chunk 1 has all tasks.
func lostIn(t *testing.T, tasks uint64) *Flight {
	t.Helper()
	f := testQuick(testManifest(tasks))
	if published := f.publish(t, all); len(published) != 1 {
		t.Fatalf("%d chunks, want one", len(published))
	}
	return f
}

// execute fills the window and executes all commands.
func (f *Flight) execute() (published []Command) {
	f.Fill(0, all)
	for cmd, found := f.Next(); found; cmd, found = f.Next() {
		switch cmd.Op {
		case Publish:
			f.Published(start, cmd.Chunk, cmd.Chunk)
			published = append(published, cmd)
		case Delete:
			f.Deleted(start, cmd.Chunk)
			f.Fill(0, all)
		case Check:
		}
	}
	return published
}

// A chunk whose workers are lost is published again in halves, down to the one task that kills: that is dead-lettered
// when workers of three keys were lost while it was alone. No other task is.
func TestHalvesFindTheDeadlyTask(t *testing.T) {
	for _, tasks := range []uint64{1, 2, 100, 4096} {
		target := tasks * 7 / 10
		f := lostIn(t, tasks)
		var dead []DeadLetter
		deaths, alone := 0, 0
		for ; len(dead) == 0; deaths++ {
			if deaths > 20 {
				t.Fatalf("%d tasks: no task is dead-lettered after %d deaths", tasks, deaths)
			}
			for _, c := range f.sortedChunks() { // those without the deadly task are counted
				if target < c.first || target >= c.end() {
					f.Returned(start, c.id, c.first, c.tasks)
				}
			}
			chunk := f.where[target]
			if chunk.tasks == 1 {
				alone++
			}
			dead = f.Lost(start, chunk.id, Loss{fmt.Sprint("key", deaths), "w", true})
			for _, cmd := range f.execute() {
				if covers := target >= cmd.First && target < cmd.First+uint64(cmd.Tasks); covers && cmd.Suspect != (deaths > 0) {
					t.Errorf("after %d deaths the chunk %+v is suspect: %v", deaths+1, cmd, cmd.Suspect)
				}
			}
		}
		if dead[0].Task != target || !slices.Equal(f.DeadLettered(), []uint64{target}) || alone != maxLosses {
			t.Errorf("%d tasks: %v are dead-lettered, after %d deaths, %d alone", tasks, dead, deaths, alone)
		}
		for _, c := range f.sortedChunks() {
			f.Returned(start, c.id, c.first, c.tasks)
		}
		counted := func(uint64) bool { return false }
		f.Fill(0, counted)
		if task, found := f.NextLost(true, none, none); !found || task != target || f.Chunks() > 0 {
			t.Errorf("%d tasks: the coordinator counts task %d (%v)", tasks, task, found)
		}
		f.Settled(start, target)
		if _, found := f.NextLost(false, none, none); found || len(f.DeadLettered()) > 0 || len(f.losses[target].workers()) > 0 {
			t.Error("a settled task is dead-lettered")
		}
	}
}

// The loss of one worker makes no chunk suspect, however often it is told. A chunk that loses a second worker is
// published again in halves, which are suspect, with the next attempt.
func TestSecondLossHalvesAChunk(t *testing.T) {
	f := lostIn(t, 5)
	f.Lost(start, 1, Loss{"key", "a", true})
	f.Lost(start, 1, Loss{"key", "a", true})
	f.Lost(start, 1, Loss{"stranger", "b", false})
	f.Lost(start, 1, Loss{"stranger", "c", false})
	if list := f.execute(); len(list) > 0 {
		t.Errorf("after the loss of one worker of a known key, %+v are published", list)
	}
	f.Lost(start, 1, Loss{"key", "b", true})
	list := f.execute()
	if len(list) != 2 || list[0].First != 0 || list[0].Tasks != 3 || list[1].Tasks != 2 || !list[0].Suspect || !list[1].Suspect || f.Attempt(0) != 2 || f.Republished() != 5 {
		t.Errorf("after the second loss, %+v are published", list)
	}
}

// One key alone dead-letters no task, however many of its workers are lost while searching it, and keys without
// results do not, however many they are. They hide no losses of others.
func TestOneKeyDeadLettersNoTask(t *testing.T) {
	f := lostIn(t, 1)
	f.Lost(start, 1, Loss{"honest", "x", true})
	for i := range 100 {
		f.Lost(start, 1, Loss{"hostile", fmt.Sprint(i), true})
		f.Lost(start, 1, Loss{fmt.Sprint("stranger", i), "w", false})
	}
	if got := f.DeadLettered(); len(got) > 0 || f.where[0].tasks != 1 || len(f.losses[0].list) > 2*maxLosses {
		t.Fatalf("after the losses of two keys %v are dead-lettered:\n%s", got, f.State(start))
	}
	dead := f.Lost(start, 1, Loss{"third", "y", true})
	if len(dead) != 1 || !slices.Contains(dead[0].Workers, "x") || !slices.Contains(dead[0].Workers, "y") || len(f.DeadLettered()) != 1 {
		t.Errorf("after the loss of a third key %+v", dead)
	}
}

// Losses that a task shared with others do not dead-letter it, and give way to those of a task alone.
func TestSharedLossesDoNotDeadLetter(t *testing.T) {
	f := lostIn(t, 2)
	for i := range 2 {
		f.Lost(start, 1, Loss{fmt.Sprint("shared", i), "w", true})
	}
	f.execute()
	alone := f.where[0].id
	for i, key := range []string{"a", "shared0", "a", "b"} { // shared0 was lost before, but not alone
		if len(f.DeadLettered()) > 0 {
			t.Errorf("dead-lettered after %d losses alone", i)
		}
		f.Lost(start, alone, Loss{key, "w", true})
	}
	if got := f.DeadLettered(); !slices.Equal(got, []uint64{0}) {
		t.Errorf("dead-lettered are %v:\n%s", got, f.State(start))
	}
}

// Of the losses of known keys a task keeps those that it did not share, and of these those of different keys.
func TestMostTellingLossesAreKept(t *testing.T) {
	for _, c := range []struct{ losses, want string }{
		{"A1 B1 C1 D1", "B1 C1 D1"},
		{"A1 b1 c1 D1", "A1 c1 D1"},
		{"A1 B1 c1 d1 D1", "A1 B1 D1"},
		{"A1 B1 B2 C1", "A1 B2 C1"},
		{"a1 a2 B1 B2 B3 B4", "B2 B3 B4"},
		{"A1 A1 a1 B1", "A1 B1"},
		{"a1 B1 A1", "B1 A1"},
	} {
		var l losses
		for one := range strings.FieldsSeq(c.losses) { // an upper-case key: alone
			l.add(loss{Loss{strings.ToLower(one[:1]), one[1:], true}, one[:1] < "a"})
			l.add(loss{Loss{"stranger", one, false}, true})
		}
		var got []string
		for _, one := range l.list {
			if key := one.Key; one.Known {
				if one.alone {
					key = strings.ToUpper(key)
				}
				got = append(got, key+one.Worker)
			}
		}
		if strings.Join(got, " ") != c.want || len(l.list) > 2*maxLosses {
			t.Errorf("of the losses %s, it keeps %v, want %s", c.losses, got, c.want)
		}
	}
}

// A dead-lettered task leaves its chunk, whose message is deleted. It is not planned again before Settled and Reopen.
func TestDeadLetteredTaskIsNotPublished(t *testing.T) {
	f := lostIn(t, 3)
	f.DeadLetter(start, 0)
	f.DeadLetter(start, 1)
	f.DeadLetter(start, 2)
	if cmd, found := f.Next(); !found || cmd.Op != Delete || cmd.Chunk != 1 {
		t.Errorf("the command %+v (%v), want the message deleted", cmd, found)
	}
	f.Deleted(start, 1)
	f.Reopen(0)
	f.Again(1, 2)
	if list := f.execute(); len(list) > 0 || f.InFlight() > 0 {
		t.Errorf("%+v are published", list)
	}
	f.Settled(start, 0)
	f.Reopen(0)
	if list := f.execute(); len(list) != 1 || list[0].First != 0 || list[0].Tasks != 1 {
		t.Errorf("%+v are published", list)
	}
}

// The coordinator counts a task itself only if nothing else is left: first those that are dead-lettered, and, unless it
// waits, those that lost three workers of any keys.
func TestNextLost(t *testing.T) {
	none := func(uint64) bool { return false }
	f := newTest(testManifest(4))
	f.Resize(1)
	f.publishAll(t)
	stranger := func(task uint64) {
		for i := range maxLosses {
			f.Lost(start, f.where[task].id, Loss{"stranger", fmt.Sprint(i), false})
		}
	}
	want := func(when string, wait bool, want int, skip func(uint64) bool) {
		t.Helper()
		task, found := f.NextLost(wait, none, skip)
		if found != (want >= 0) || found && task != uint64(want) {
			t.Errorf("%s: task %d (%v), want %d", when, task, found, want)
		}
	}
	f.DeadLetter(start, 3)
	stranger(1)
	want("tasks 0 and 2 are in flight", false, -1, none)
	f.Settled(start, 0)
	f.Settled(start, 2)
	want("task 1 has lost strangers", true, 3, none)
	want("task 1 has lost strangers", false, 1, none)
	want("task 1 is skipped", false, 3, func(task uint64) bool { return task == 1 })
	want("both are skipped", false, -1, all)
	f.Reopen(2)
	want("task 2 is to come", false, -1, none)
	f.Fill(0, none)
	want("task 2 has a count", false, 1, none)
	f.Settled(start, 1)
	f.Settled(start, 3)
	want("all are settled", false, -1, none)
}

func none(uint64) bool { return false }
