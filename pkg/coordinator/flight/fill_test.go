package flight

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/schedule"
)

var start = time.Unix(0, 0)

func all(uint64) bool { return true }

// testQuick returns a flight whose guide makes chunks as large as they may be.
func testQuick(m *queens.Manifest) *Flight {
	f := newTest(m)
	f.guide.speed, f.guide.results, f.guide.left = 1e9, 1<<30, 1e9
	return f
}

// publish fills the window and executes the commands, which must all be to publish.
func (f *Flight) publish(t *testing.T, needed func(uint64) bool) (published []Command) {
	t.Helper()
	for f.Fill(0, needed) {
	}
	for cmd, found := f.Next(); found; cmd, found = f.Next() {
		if cmd.Op != Publish {
			t.Fatalf("the command %+v, want a chunk published", cmd)
		}
		f.Published(start, cmd.Chunk, cmd.Chunk)
		published = append(published, cmd)
	}
	return published
}

// publishAll does so as long as there is something to publish.
func (f *Flight) publishAll(t *testing.T) (published []Command) {
	t.Helper()
	for more := f.publish(t, all); len(more) > 0; more = f.publish(t, all) {
		published = append(published, more...)
	}
	return published
}

// When the speed is known, chunks hold a quarter of a thread's part of what is left, and single tasks at the end.
// Together they have each task once.
func TestChunksShrink(t *testing.T) {
	f := newTest(testManifest(1000))
	f.Resize(2)
	f.guide.results = 1 << 30 // the first chunks need not be small
	now, next := start, uint64(0)
	var sizes []int
	for next < 1000 {
		f.Fill(0, func(task uint64) bool { return task >= next })
		cmd, found := f.Next()
		if !found || cmd.First != next {
			t.Fatalf("the command %+v (%v), want a chunk from task %d on", cmd, found, next)
		}
		f.Published(now, cmd.Chunk, 1)
		for i := range cmd.Tasks {
			now = now.Add(time.Second)
			f.Observe(now, cmd.First+uint64(i), time.Millisecond)
		}
		f.Returned(now, cmd.Chunk, cmd.First, cmd.Tasks)
		for i := range cmd.Tasks {
			f.Settled(now, cmd.First+uint64(i))
		}
		next += uint64(cmd.Tasks)
		sizes = append(sizes, cmd.Tasks)
	}
	f.Fill(0, func(uint64) bool { return false })
	if !f.AllPublished() || len(f.chunks) != 0 || len(f.where) != 0 || f.bytes != 0 {
		t.Errorf("in the end the state is\n%s", f.State(now))
	}
	if largest := slices.Max(sizes); largest < 100 || sizes[0] != 1 || sizes[len(sizes)-1] != 1 || !slices.IsSortedFunc(sizes[slices.Index(sizes, largest):], func(a, b int) int { return b - a }) {
		t.Errorf("chunks of %v tasks, want an eighth of the rest each time, when the speed is known", sizes)
	}
}

// A chunk ends with its class, where a task is not needed, at MaxChunk tasks, and at MaxChunkBytes.
func TestEndsOfAChunk(t *testing.T) {
	classes := testManifest(100, 40)
	large := testManifest(100)
	large.Classes[0].Batch = schedule.MaxChunkBytes / schedule.PrefixBytes / 3
	huge := testManifest(3)
	huge.Classes[0].Batch = queens.MaxBatch
	for _, c := range []struct {
		name   string
		m      *queens.Manifest
		needed func(uint64) bool
		want   []string
	}{
		{"two classes", classes, all, []string{"0+40", "40+60"}},
		{"a class without tasks", testManifest(10, 4, 4), all, []string{"0+4", "4+6"}},
		{"a task that is not needed", classes, func(task uint64) bool { return task != 7 && task != 99 }, []string{"0+7", "8+32", "40+59"}},
		{"nothing is needed", classes, func(uint64) bool { return false }, nil},
		{"most tasks", testManifest(run.MaxChunk + 1), all, []string{fmt.Sprint("0+", run.MaxChunk), fmt.Sprint(run.MaxChunk, "+1")}},
		{"most bytes", large, func(task uint64) bool { return task < 7 }, []string{"0+3", "3+3", "6+1"}},
		{"a task of more bytes", huge, all, []string{"0+1", "1+1", "2+1"}},
	} {
		for _, again := range []bool{false, true} {
			var got []string
			f := testQuick(c.m)
			if again { // the same for tasks that need a further count
				for task := range c.m.Tasks {
					if c.needed(task) {
						f.Again(task, 1)
					}
				}
				f.cursor.next = c.m.Tasks
			}
			for _, cmd := range f.publish(t, c.needed) {
				got = append(got, fmt.Sprint(cmd.First, "+", cmd.Tasks))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%s, again %v: chunks of the tasks %v, want %v", c.name, again, got, c.want)
			}
		}
	}
}

// The window ends at 4 s of work a thread, and never holds more bytes or chunks than schedule.IsFull says: neither
// from the cursor, nor of tasks that are needed again.
func TestRoomInTheWindow(t *testing.T) {
	tasks := func(n uint64, batch int) *queens.Manifest {
		m := testManifest(n)
		m.Classes[0].Batch = batch
		return m
	}
	for _, c := range []struct {
		name    string
		m       *queens.Manifest
		threads int
		speed   float64 // tasks a second
		chunks  int     // from the cursor
		again   int     // of tasks that are needed again
	}{
		{"the speed is not known", tasks(1000, 1), 100, 0, 300, 1000},
		{"4 s a thread", tasks(1000, 1), 100, 1, 400, 1000},
		{"12 chunks a thread", tasks(10_000, 1), 100, 1e6, 1200, 10_000},
		{"64 chunks at least", tasks(1000, 1), 1, 1e-6, 64, 1000},
		{"bytes", tasks(5000, queens.MaxBatch), 1000, 1e-6, schedule.MaxWindowBytes / queens.MaxBatch / schedule.PrefixBytes, schedule.MaxWindowBytes / queens.MaxBatch / schedule.PrefixBytes},
	} {
		f := newTest(c.m)
		f.Resize(c.threads)
		f.guide.speed = c.speed / float64(c.m.Tasks)
		if got := len(f.publishAll(t)); got != c.chunks || f.Chunks() != got {
			t.Errorf("%s: %d chunks, want %d", c.name, got, c.chunks)
		}
		f = newTest(c.m)
		f.Resize(c.threads)
		f.cursor.next = c.m.Tasks
		f.Again(0, int(c.m.Tasks))
		if got := len(f.publishAll(t)); got != c.again {
			t.Errorf("%s: %d chunks of tasks that are needed again, want %d", c.name, got, c.again)
		}
		if f.IsFull() != (c.again < int(c.m.Tasks)) || f.AllPublished() == f.IsFull() {
			t.Errorf("%s: full: %v, all published: %v", c.name, f.IsFull(), f.AllPublished())
		}
	}
}

// Chunks to publish, and checks and deletions, take turns: neither waits for all of the other. A chunk of tasks that
// are published again waits for few from the cursor.
func TestCommandsTakeTurns(t *testing.T) {
	f := newTest(testManifest(1000))
	f.Resize(100)
	for len(f.chunks) < 100 {
		f.publish(t, all)
	}
	chunks := len(f.chunks)
	now := start.Add(f.cfg.CheckAfter)
	f.Sweep(now, nil, Busy, now)
	f.Sweep(now, nil, Busy, now) // finds them being checked
	f.Settled(now, 3)
	f.Fill(0, all)
	f.Again(900, 1)
	f.Fill(0, all)
	var ops []Op
	at, checked := 0, make(map[uint64]bool)
	for cmd, found := f.Next(); found; cmd, found = f.Next() {
		ops = append(ops, cmd.Op)
		if cmd.First == 900 {
			at = len(ops)
		}
		if cmd.Op == Check && checked[cmd.Chunk] {
			t.Errorf("chunk %d is checked twice", cmd.Chunk)
		}
		checked[cmd.Chunk] = cmd.Op == Check
		f.Fill(0, all)
	}
	const turns = 150
	for i, op := range ops[:turns] {
		if (op == Publish) != (i%2 == 1) { // the last command was to publish
			t.Fatalf("the commands are %v", ops)
		}
	}
	if at == 0 || at > 2*(maxFresh+1) {
		t.Errorf("the chunk that is published again is command %d", at)
	}
	if n := len(slices.DeleteFunc(ops, func(op Op) bool { return op != Check })); n != chunks {
		t.Errorf("%d checks of %d chunks", n, chunks)
	}
}

// A chunk whose tasks are all settled before it is published is not published, and the next one takes its place.
func TestSettledChunkIsNotPublished(t *testing.T) {
	f := newTest(testManifest(2 * maxFresh))
	f.Fill(0, all)
	for task := range uint64(maxFresh) {
		f.Settled(start, task)
	}
	f.Fill(0, all)
	if cmd, found := f.Next(); !found || cmd.First != maxFresh || len(f.orders.publications) != maxFresh-1 {
		t.Errorf("the command %+v (%v), and %d chunks wait", cmd, found, len(f.orders.publications))
	}
}

// Calls of Again for adjacent tasks share chunks, in any number of calls. A task that is in flight, or dead-lettered,
// is not planned again.
func TestAgain(t *testing.T) {
	f := testQuick(testManifest(100))
	f.cursor.next = 100
	f.DeadLetter(start, 50)
	f.Again(0, 10)
	for task := range uint64(30) {
		f.Again(10+task, 1)
	}
	f.Again(5, 10)
	f.Again(45, 10)
	f.Settled(start, 20)
	want := []string{"0+20", "21+19", "45+5", "51+4"}
	var got []string
	for _, cmd := range f.publish(t, all) {
		got = append(got, fmt.Sprint(cmd.First, "+", cmd.Tasks))
		if f.Attempt(cmd.First) != 1 {
			t.Errorf("task %d has the attempt %d", cmd.First, f.Attempt(cmd.First))
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("chunks of the tasks %v, want %v", got, want)
	}
	if f.Again(0, 100); f.InFlight() != 100-1 {
		t.Errorf("%d tasks are in flight", f.InFlight())
	}
	if f.Republished() != 0 {
		t.Errorf("%d tasks count as republished", f.Republished())
	}
}

// Tasks that are published again keep their attempt, and those that need a further count do not join them.
func TestAgainBesideALostChunk(t *testing.T) {
	f := testQuick(testManifest(6))
	f.publish(t, func(task uint64) bool { return task < 4 })
	f.Withdraw(1)
	if cmd, _ := f.Next(); cmd.Op != Delete {
		t.Fatalf("the command %+v", cmd)
	}
	f.Deleted(start, 1)
	f.Again(4, 2)
	f.publish(t, func(uint64) bool { return false })
	if f.Attempt(3) != 2 || f.Attempt(4) != 1 || f.where[0] != f.where[3] || f.where[4] != f.where[5] || f.Republished() != 4 {
		t.Errorf("the state is\n%s", f.State(start))
	}
}

// However often first counts become void, each task has its turn; and those whose counts became void come again,
// once the cursor has passed them.
func TestReopenedTasksComeAgain(t *testing.T) {
	const tasks = 500
	f := newTest(testManifest(tasks))
	counted, published := make(map[uint64]bool), make(map[uint64]int)
	needed := func(task uint64) bool { return !counted[task] }
	count := func() {
		f.Fill(0, needed)
		cmd, found := f.Next()
		if !found {
			t.Fatal("no chunk")
		}
		f.Published(start, cmd.Chunk, 1)
		f.Returned(start, cmd.Chunk, cmd.First, cmd.Tasks)
		for id := cmd.First; id < cmd.First+uint64(cmd.Tasks); id++ {
			published[id]++
			counted[id] = true
			f.Settled(start, id)
		}
	}
	rounds := 0
	for ; len(published) < tasks; rounds++ {
		count()
		counted[0] = false
		f.Reopen(0)
		f.Reopen(tasks - 1) // which the cursor has not passed at first
		if rounds > 3*tasks {
			t.Fatalf("%d tasks have had their turn after %d rounds", len(published), rounds)
		}
	}
	if published[tasks-1] != 1 || published[1] != 1 || published[0] < 2 {
		t.Errorf("the tasks 0, 1 and %d were published %d, %d and %d times", tasks-1, published[0], published[1], published[tasks-1])
	}
	if f.guide.left < -1e-9 || f.guide.left > 0.1 {
		t.Errorf("%v of the work is left", f.guide.left)
	}
}

// Fill returns after some tasks, and says that there are more, so that the loop can do other things.
func TestFillReturnsSoon(t *testing.T) {
	f := newTest(testManifest(3 * maxPassed))
	asked := 0
	for calls := 1; ; calls++ {
		more := f.Fill(0, func(uint64) bool { asked++; return false })
		if asked > calls*maxPassed {
			t.Fatalf("call %d of Fill has asked for %d tasks", calls, asked)
		}
		if !more {
			break
		}
	}
	if asked != 3*maxPassed || !f.AllPublished() {
		t.Errorf("Fill has asked for %d tasks", asked)
	}
}
