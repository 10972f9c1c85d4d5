package coordinator

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"nqueens/pkg/queens"
	"nqueens/pkg/schedule"
	"nqueens/pkg/split"
	"nqueens/pkg/symmetry"
)

// newTestWindow returns a window on the tasks of an empty board of side n.
func newTestWindow(t *testing.T, n int, has func(id uint64) bool) *window {
	t.Helper()
	return newSymmetricWindow(t, n, queens.None, has)
}

// newSymmetricWindow returns a window on the tasks of the classes of an empty board of side n.
func newSymmetricWindow(t *testing.T, n int, s queens.Symmetry, has func(id uint64) bool) *window {
	t.Helper()
	classes, err := symmetry.Classes(n, s)
	if err != nil {
		t.Fatal(err)
	}
	m, err := split.Plan(t.Context(), n, s, classes, 2)
	if err != nil {
		t.Fatal(err)
	}
	w := newWindow(&Config{CheckAfter: time.Second, RepublishAfter: time.Hour}, "r", &m, split.Shares(&m), has)
	t.Cleanup(func() { w.close() }) // that of the last pull
	return w
}

// fetch fills the window and returns the next request.
func (w *window) fetch() (request, bool) {
	w.fill()
	return w.nextRequest()
}

// publish takes the next request, which must be a chunk to publish, and has it published.
func (w *window) publish(t *testing.T) request {
	t.Helper()
	r, ok := w.fetch()
	if !ok || r.op != opPublish {
		t.Fatalf("request %+v (%v), want a chunk to publish", r, ok)
	}
	w.sent()
	r.streamSeq, r.published, r.at = r.first+10, true, time.Now()
	w.completed(r)
	return r
}

// lookUp finds the tasks that the window wants.
func (w *window) lookUp(t *testing.T) {
	t.Helper()
	ids := w.wanted
	w.wanted = nil
	if len(ids) == 0 {
		return
	}
	if err := split.Find(t.Context(), w.manifest, sorted(ids), func(task queens.Task) { w.found(&task) }); err != nil {
		t.Fatal(err)
	}
}

// Requests for chunks in flight and fresh chunks take turns: neither keeps the other from
// being sent. A chunk whose tasks are accepted in the meantime is not checked, and no chunk has
// two requests at once.
func TestChecksAndFreshChunksTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestWindow(t, 10, func(uint64) bool { return false })
		w.resize(10)
		const inflight = 15
		for range inflight {
			w.publish(t)
		}
		time.Sleep(time.Second)
		w.sweep(nil, false, time.Time{})
		w.sweep(nil, false, time.Time{}) // finds them busy
		done := w.tasks[3].chunk
		w.accepted(3, 0, done.id)
		checked := make(map[uint64]bool)
		for i := range 2 * (inflight - 1) {
			r, ok := w.fetch()
			if !ok || (r.op == opCheck) != (i%2 == 0) {
				t.Fatalf("request %d is %+v (%v)", i, r, ok)
			}
			if r.op == opCheck && (checked[r.chunk] || r.chunk == done.id) {
				t.Errorf("chunk of task %d is checked twice, or has a result", r.first)
			}
			checked[r.chunk] = true
			w.sent()
		}
		if r, ok := w.fetch(); !ok || r.op != opPublish {
			t.Errorf("request %+v (%v), want a fresh chunk after all checks", r, ok)
		}
	})
}

// A chunk that has left the queue is republished only when every result that the server had
// after that is recorded, and its own is not among them. One that a worker's heartbeat names
// is not asked after.
func TestMissingChunkIsRepublishedWhenItsResultCannotCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestWindow(t, 10, func(uint64) bool { return false })
		const arrives, lost, searched = 0, 1, 2
		var chunks []request
		for range 3 {
			chunks = append(chunks, w.publish(t))
		}
		w.exhausted = true // no more tasks
		time.Sleep(time.Second)
		held := map[uint64]time.Time{chunks[searched].chunk: time.Now()}
		if gone, _ := w.sweep(held, false, time.Now()); len(gone) != 0 {
			t.Fatalf("%d chunks are lost before they are checked", len(gone))
		}
		for range 2 {
			r, ok := w.nextRequest()
			if !ok || r.op != opCheck || r.chunk == chunks[searched].chunk {
				t.Fatalf("request %+v (%v), want a check of a chunk that no worker holds", r, ok)
			}
			w.sent()
			r.missing, r.at = true, time.Now()
			w.completed(r)
		}
		missingAt := time.Now()
		time.Sleep(w.sweepInterval())
		if gone, _ := w.sweep(held, false, missingAt); len(gone) != 0 || len(w.retryQueue) != 0 {
			t.Fatalf("%d chunks are lost, and the requests are %+v, while their results may be on the way", len(gone), w.retryQueue)
		}
		w.accepted(arrives, 0, chunks[arrives].chunk)
		gone, expired := w.sweep(held, false, time.Now())
		if len(gone) != 1 || len(expired) != 0 || gone[0].first != lost {
			t.Fatalf("lost are %+v, expired %+v, want the chunk of task %d lost", gone, expired, lost)
		}
		w.lookUp(t)
		r, ok := w.nextRequest()
		if !ok || r.op != opPublish || r.first != lost || w.tasks[lost].attempt != 2 || r.chunk == chunks[lost].chunk {
			t.Errorf("request %+v (%v), want task %d published again in another chunk", r, ok, lost)
		}
	})
}

// A task is expected as soon as it is in the window, before the dispatcher has it. If its
// result comes first, it is not published; if it is published by then, it is deleted.
func TestResultBeforePublication(t *testing.T) {
	accepted := make(map[uint64]bool)
	w := newTestWindow(t, 8, func(id uint64) bool { return accepted[id] })
	first, ok := w.fetch()
	if task := w.tasks[first.first]; !ok || task == nil || first.message.First != first.first || len(first.message.Tasks) != 1 || task.attempt != 1 {
		t.Fatalf("request %+v (%v), in flight %+v", first, ok, task)
	}
	accepted[first.first] = true
	w.accepted(first.first, 0, 0)
	if r, ok := w.nextRequest(); ok {
		t.Errorf("request %+v for a task that has its result", r)
	}
	second, ok := w.fetch()
	if !ok || second.first == first.first {
		t.Fatalf("request %+v (%v), want the next task", second, ok)
	}
	w.sent()
	accepted[second.first] = true
	w.accepted(second.first, 0, 0)
	second.streamSeq, second.published = 7, true
	w.completed(second)
	if r, ok := w.nextRequest(); !ok || r.op != opDelete || r.chunk != second.chunk || r.streamSeq != 7 {
		t.Errorf("request %+v (%v), want the message deleted that nobody needs", r, ok)
	}
}

// When the speed is known, chunks hold a quarter of a thread's share of what is left, at most 1.5 s of
// work, and single tasks at the end; none has tasks of two classes.
func TestChunksShrink(t *testing.T) {
	w := newTestWindow(t, 10, func(uint64) bool { return false })
	w.resize(2)
	w.guide.results = 1 << 30 // the first chunks need not be small
	total := len(w.tasks)
	var sizes []int
	for !w.exhausted || w.next != nil {
		r := w.publish(t)
		sizes = append(sizes, len(r.message.Tasks))
		for i := range r.message.Tasks {
			id := r.first + uint64(i)
			w.guide.observe("w", w.share(id), time.Millisecond)
			w.guide.speed = w.guide.medianSpeed()
			w.accepted(id, time.Millisecond, r.chunk)
			total++
		}
		w.fill()
	}
	if uint64(total) != w.manifest.Tasks || len(w.chunks) != 0 || len(w.tasks) != 0 || w.bytes != 0 {
		t.Errorf("%d of %d tasks were published, and %d chunks, %d tasks, %d bytes are in flight", total, w.manifest.Tasks, len(w.chunks), len(w.tasks), w.bytes)
	}
	if sizes[0] != 1 || sizes[1] < int(w.manifest.Tasks)/10 || sizes[len(sizes)-1] != 1 {
		t.Errorf("chunks of %v of %d tasks, want a single task, then an eighth of the rest each time", sizes, w.manifest.Tasks)
	}
	for i := 2; i < len(sizes); i++ {
		if sizes[i] > sizes[i-1] {
			t.Errorf("chunk %d has %d tasks, the one before %d", i, sizes[i], sizes[i-1])
		}
	}
}

// A chunk whose worker was lost is published again in halves, down to the one task that kills:
// that is dead-lettered when three keys have lost workers to it, the last of them alone.
func TestHalvesFindTheDeadlyTask(t *testing.T) {
	w := newTestWindow(t, 10, func(uint64) bool { return false })
	w.guide.speed, w.guide.results = 1, 1<<30 // everything at once
	w.resize(1)
	w.guide.left = 1
	first := w.publish(t)
	const deadly = 5
	if len(first.message.Tasks) < 2*deadly {
		t.Fatalf("a chunk of %d tasks is too small", len(first.message.Tasks))
	}
	w.exhausted, w.peeked, w.next = true, nil, nil
	deaths := 0
	for ; len(w.tasks) > 1 || !w.tasks[deadly].deadLettered; deaths++ {
		if deaths > 40 {
			t.Fatalf("after %d deaths %d tasks are left", deaths, len(w.tasks))
		}
		for _, c := range w.chunks {
			if c.first > deadly || c.first+uint64(c.tasks) <= deadly { // another worker counts it
				for _, id := range w.openTasks(c) {
					w.accepted(id, 0, c.id)
				}
			}
		}
		chunk := w.tasks[deadly].chunk
		if len(w.tasks[deadly].lost) > 1 && chunk.message != nil && !chunk.message.Suspect {
			t.Errorf("a chunk of tasks that lost %d workers is not suspect", len(w.tasks[deadly].lost))
		}
		w.noteLost(chunk.id, loss{string(rune('a' + deaths)), "w", true})
		for {
			r, ok := w.nextRequest()
			if !ok {
				break
			}
			w.sent()
			r.published, r.streamSeq = r.op == opPublish, 9
			w.completed(r)
			w.lookUp(t)
		}
	}
	if w.deadLettered != 1 || len(w.chunks) != 0 || w.hasWork() {
		t.Errorf("%d tasks dead-lettered, %d chunks in flight, work: %v", w.deadLettered, len(w.chunks), w.hasWork())
	}
	if deaths > 10 {
		t.Errorf("%d workers died", deaths)
	}
}

// The rest of a chunk of which a worker has counted the first tasks is published again at once,
// and does not count as repeated.
func TestRestOfAChunkIsPublishedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestWindow(t, 10, func(uint64) bool { return false })
		w.guide.speed, w.guide.results = 1, 1<<30
		first := w.publish(t)
		n := len(first.message.Tasks)
		const counted = 3
		for id := range uint64(counted) {
			w.accepted(id, 0, first.chunk)
		}
		w.returned(&queens.ChunkResult{Chunk: first.chunk, Counts: make([]queens.TaskCount, counted)}, false)
		w.lookUp(t)
		r, ok := w.nextRequest()
		if !ok || r.op != opPublish || r.first != counted || len(r.message.Tasks) != n-counted || w.tasks[counted].attempt != 1 {
			t.Fatalf("request %+v (%v), want the other %d tasks", r, ok, n-counted)
		}
		w.sent()
		r.published = true
		w.completed(r)
		if w.republished != 0 {
			t.Errorf("%d tasks count as repeated", w.republished)
		}
		if !w.isObsolete(first.chunk, time.Now().Add(time.Hour)) || w.isObsolete(first.chunk, time.Now()) || w.isObsolete(r.chunk, time.Now()) {
			t.Error("the first chunk is not obsolete, or at once, or the second is")
		}
	})
}

// The loss of one worker makes no chunk suspect, however many it searched: they stay in the queue for
// others. A chunk that loses a second worker is published again in halves, which are suspect.
func TestSecondLossMakesAChunkSuspect(t *testing.T) {
	w := newTestWindow(t, 10, func(uint64) bool { return false })
	w.guide.speed, w.guide.results = 1, 1<<30
	var chunks []request
	for range 5 {
		chunks = append(chunks, w.publish(t))
	}
	withdrawn := func() (list []request) {
		for r, ok := w.nextRequest(); ok; r, ok = w.nextRequest() {
			w.sent()
			if r.op == opDelete {
				list = append(list, r)
			}
			r.published, r.streamSeq = r.op == opPublish, 9
			w.completed(r)
		}
		return list
	}
	withdrawn()
	for _, c := range chunks {
		w.noteLost(c.chunk, loss{"key", "a", true})
		w.noteLost(c.chunk, loss{"key", "a", true})
	}
	if list := withdrawn(); len(list) > 0 {
		t.Errorf("%d of %d chunks are withdrawn after the loss of one worker", len(list), len(chunks))
	}
	second := chunks[2]
	tasks := len(second.message.Tasks)
	if tasks < 2 {
		t.Fatalf("a chunk of %d tasks is too small", tasks)
	}
	w.noteLost(second.chunk, loss{"key", "b", true})
	if list := withdrawn(); len(list) != 1 || list[0].chunk != second.chunk {
		t.Fatalf("withdrawn after the second loss: %+v, want chunk %d", list, second.chunk)
	}
	if half := w.tasks[second.first].chunk; half.tasks != (tasks+1)/2 || !half.message.Suspect {
		t.Errorf("a chunk of %d tasks is published again as %+v", tasks, half)
	}
}

// One key alone dead-letters no task, however many of its workers are lost while searching it, and keys
// without results do not, however many they are. They hide no losses of others.
func TestOneKeyDeadLettersNoTask(t *testing.T) {
	w := newTestWindow(t, 10, func(uint64) bool { return false })
	chunk := w.publish(t)
	w.noteLost(chunk.chunk, loss{"honest", "x", true})
	for i := range 100 {
		w.noteLost(chunk.chunk, loss{"hostile", fmt.Sprint(i), true})
	}
	for i := range 100 {
		w.noteLost(chunk.chunk, loss{fmt.Sprint("stranger", i), "w", false})
	}
	task := w.tasks[chunk.first]
	if task.deadLettered || w.tasks[chunk.first].chunk.tasks != 1 {
		t.Fatalf("after the losses of two keys: %+v", task)
	}
	if id, workers := w.noteLost(chunk.chunk, loss{"third", "y", true}); id != chunk.first || !slices.Contains(workers, "x") || !slices.Contains(workers, "y") || !task.deadLettered {
		t.Errorf("after the loss of a third key: task %d, workers %q, %+v", id, workers, task)
	}
}

// A chunk that a worker has taken, and that none holds, is published again once workers are idle: its
// worker may have postponed it for years. Not while all are busy, nor while a worker holds it.
func TestChunkThatNobodyHoldsIsPublishedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestWindow(t, 10, func(uint64) bool { return false })
		chunk := w.publish(t)
		w.exhausted, w.peeked, w.next = true, nil, nil
		check := func(taken bool) {
			t.Helper()
			time.Sleep(w.cfg.CheckAfter)
			w.sweep(nil, w.idle, time.Now())
			r := w.takeRequest(t, opCheck)
			r.taken, r.at = taken, time.Now()
			w.completed(r)
		}
		none := func(when string) {
			t.Helper()
			if r, ok := w.nextRequest(); ok {
				t.Fatalf("%s: request %+v", when, r)
			}
		}
		w.idle = true
		check(false)
		none("it waits in the queue")
		w.idle = false
		check(true)
		w.sweep(nil, false, time.Now())
		none("all workers are busy")
		held := map[uint64]time.Time{chunk.chunk: time.Now()}
		w.sweep(held, true, time.Now())
		w.sweep(nil, true, time.Now())
		none("a worker held it since")
		w.idle = true
		check(true)
		if r := w.takeRequest(t, opDelete); r.chunk != chunk.chunk {
			t.Fatalf("request %+v, want the chunk deleted", r)
		} else {
			w.completed(r)
		}
		w.lookUp(t)
		if r := w.takeRequest(t, opPublish); r.first != chunk.first || r.chunk == chunk.chunk {
			t.Errorf("request %+v, want task %d published again", r, chunk.first)
		}
	})
}

// A chunk is looked for as soon as the worker that held it has been silent for CheckAfter, and not later.
func TestChunkIsLookedForWhenItsWorkerFallsSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestWindow(t, 10, func(uint64) bool { return false })
		chunk := w.publish(t)
		w.exhausted, w.peeked, w.next = true, nil, nil
		time.Sleep(w.cfg.CheckAfter)
		last := time.Now().Add(-w.cfg.CheckAfter / 2)
		w.sweep(map[uint64]time.Time{chunk.chunk: last}, true, time.Now())
		time.Sleep(w.cfg.CheckAfter / 2)
		w.sweep(nil, true, time.Now())
		if r := w.takeRequest(t, opCheck); r.chunk != chunk.chunk {
			t.Errorf("request %+v", r)
		}
	})
}

// A task remembers a bounded number of workers that were lost, even if any number claim its chunk.
func TestLostWorkersOfATaskAreBounded(t *testing.T) {
	w := newTestWindow(t, 10, func(uint64) bool { return false })
	w.guide.speed, w.guide.results = 1, 1<<30
	chunk := w.publish(t)
	for i := range 1000 {
		w.noteLost(chunk.chunk, loss{string(rune('a' + i)), "w", true})
	}
	if n := len(w.tasks[0].lost); n > maxLosses {
		t.Errorf("task 0 has %d lost workers", n)
	}
}

// Disputed tasks take no room in the window, also when they are published again: if nobody settles
// them the others are counted.
func TestDisputedTasksTakeNoRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestWindow(t, 10, func(uint64) bool { return false })
		for range schedule.MinChunks {
			w.publish(t)
		}
		if w.hasRoom() {
			t.Fatal("the window is not full")
		}
		for id := range uint64(schedule.MinChunks) {
			w.accepted(id, 0, w.tasks[id].chunk.id)
			w.wanted = append(w.wanted, id)
		}
		// Their results contradict each other, and then the only worker counts them again and again.
		if err := split.Find(t.Context(), w.manifest, w.wanted, func(task queens.Task) { w.recount(&task, 1) }); err != nil {
			t.Fatal(err)
		}
		w.wanted = nil
		for range 3 {
			for {
				r, ok := w.nextRequest()
				if !ok {
					break
				}
				w.sent()
				r.published, r.streamSeq, r.at = r.op == opPublish, r.first+10, time.Now()
				r.missing = r.op == opCheck
				w.completed(r)
			}
			if w.disputed != schedule.MinChunks || w.active != 0 || !w.hasRoom() {
				t.Fatalf("%d tasks are disputed, and %d chunks take room", w.disputed, w.active)
			}
			time.Sleep(2 * time.Second)
			w.sweep(nil, false, time.Now())
			w.lookUp(t)
		}
	})
}

// No search time that a worker claims makes the timeout of a chunk short.
func TestTimeoutOfAnySearchTime(t *testing.T) {
	w := newTestWindow(t, 8, func(uint64) bool { return false })
	for _, longest := range []time.Duration{0, time.Second, time.Hour, 1000 * time.Hour, math.MaxInt64 / 3, math.MaxInt64} {
		w.longest = longest
		last := time.Duration(0)
		for attempt := range uint32(20) {
			c := &inflightChunk{tasks: queens.MaxChunk, attempt: attempt + 1}
			if got := w.timeout(c); got < last || got < w.cfg.RepublishAfter || got < min(longest, 24*time.Hour) {
				t.Errorf("after searches of %v the timeout of attempt %d is %v, that of the one before %v", longest, attempt+1, got, last)
			} else {
				last = got
			}
		}
	}
}

// The search of a chunk that was published again because it took long continues until its tasks
// have results: it may be the first to end.
func TestSlowChunkIsNotObsoleteBeforeItsTasksHaveResults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestWindow(t, 8, func(uint64) bool { return false })
		first := w.publish(t)
		w.exhausted, w.next = true, nil
		held := map[uint64]time.Time{first.chunk: time.Now()}
		time.Sleep(w.cfg.RepublishAfter)
		if _, expired := w.sweep(held, false, time.Now()); len(expired) != 1 {
			t.Fatalf("%d chunks expired", len(expired))
		}
		for range 2 { // deleted, and published again
			r, ok := w.nextRequest()
			if !ok || r.first != first.first {
				t.Fatalf("request %+v (%v)", r, ok)
			}
			w.sent()
			r.published, r.streamSeq, r.at = r.op == opPublish, 9, time.Now()
			w.completed(r)
			w.lookUp(t)
		}
		for range 3 {
			time.Sleep(2 * closedFor)
			w.sweep(held, false, time.Now())
			if w.isObsolete(first.chunk, time.Now()) {
				t.Fatal("the first chunk is obsolete before its task has a result")
			}
		}
		w.accepted(first.first, 0, first.chunk)
		time.Sleep(2 * closedFor)
		if w.sweep(held, false, time.Now()); !w.isObsolete(first.chunk, time.Now()) || len(w.slow) != 0 {
			t.Error("the first chunk is not obsolete when its task has a result")
		}
	})
}

// takeRequest returns the next request, which must be of that kind, as the dispatcher takes it.
func (w *window) takeRequest(t *testing.T, want op) request {
	t.Helper()
	r, ok := w.nextRequest()
	if !ok || r.op != want {
		t.Fatalf("request %+v (%v), want %v", r, ok, want)
	}
	w.sent()
	return r
}

// The message of a chunk whose tasks were accepted by a result that names another chunk is
// deleted: no worker acknowledges it. That of a chunk that the result names is not.
func TestMessageOfAChunkThatNobodyAcknowledgesIsDeleted(t *testing.T) {
	w := newTestWindow(t, 8, func(uint64) bool { return false })
	own, other := w.publish(t), w.publish(t)
	w.exhausted, w.next = true, nil
	w.accepted(own.first, 0, own.chunk)
	w.accepted(other.first, 0, own.chunk)
	if r := w.takeRequest(t, opDelete); r.chunk != other.chunk || r.streamSeq != other.streamSeq {
		t.Errorf("request %+v, want chunk %x deleted", r, other.chunk)
	}
	if r, ok := w.nextRequest(); ok {
		t.Errorf("request %+v", r)
	}
}

// A result of all tasks of a chunk is no part of it: what it does not settle is not published
// again before the chunk is missing. A part of a chunk that is being checked is left to the check.
func TestOnlyAPartOfAnIdleChunkIsReturned(t *testing.T) {
	w := newTestWindow(t, 10, func(uint64) bool { return false })
	w.guide.speed, w.guide.results = 1, 1<<30
	chunk := w.publish(t)
	n := len(chunk.message.Tasks)
	w.returned(&queens.ChunkResult{Chunk: chunk.chunk, Counts: make([]queens.TaskCount, n)}, false)
	w.returned(&queens.ChunkResult{Chunk: chunk.chunk, First: 1, Counts: make([]queens.TaskCount, 1)}, false)
	w.enqueue(w.chunks[chunk.chunk], opCheck)
	w.returned(&queens.ChunkResult{Chunk: chunk.chunk, Counts: make([]queens.TaskCount, 1)}, false)
	if len(w.wanted) > 0 || w.chunks[chunk.chunk] == nil {
		t.Errorf("%d tasks are published again", len(w.wanted))
	}
}

// A disputed task that a worker counts again without effect is checked at once; others are not.
func TestDisputedTaskIsCheckedSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestWindow(t, 8, func(uint64) bool { return false })
		plain := w.publish(t)
		w.exhausted, w.next = true, nil
		if err := split.Find(t.Context(), w.manifest, []uint64{5}, func(task queens.Task) { w.recount(&task, 7) }); err != nil {
			t.Fatal(err)
		}
		r := w.takeRequest(t, opPublish)
		if w.tasks[5].attempt != 8 || w.hasWork() != true || len(r.message.Tasks) != 1 {
			t.Errorf("task %+v, request %+v", w.tasks[5], r)
		}
		r.published, r.streamSeq = true, 3
		w.completed(r)
		w.repeated(plain.first, plain.chunk)
		w.repeated(5, plain.chunk)
		w.sweep(nil, false, time.Now())
		if r, ok := w.nextRequest(); ok {
			t.Errorf("request %+v before the worker has counted it", r)
		}
		w.repeated(5, r.chunk)
		w.sweep(nil, false, time.Now())
		if got := w.takeRequest(t, opCheck); got.chunk != r.chunk {
			t.Errorf("request %+v, want the disputed task checked", got)
		}
		w.accepted(plain.first, 0, plain.chunk)
		if w.hasWork() {
			t.Error("a disputed task is work")
		}
		for i := range maxLosses {
			if w.deadLettered > 0 {
				t.Errorf("the task is dead-lettered after %d lost workers", i)
			}
			w.noteLost(r.chunk, loss{"lost" + string(rune('a'+i)), "w", true})
			w.noteLost(r.chunk, loss{"losta", "w", true}) // again
		}
		if !w.tasks[5].deadLettered || w.deadLettered != 1 || w.disputed != 0 {
			t.Errorf("%d tasks are dead-lettered, %d disputed: %+v", w.deadLettered, w.disputed, w.tasks[5])
		}
	})
}

// A chunk ends with its class and at a number of bytes, and the window at 4 s of work a thread.
func TestBoundsOfChunksAndOfTheWindow(t *testing.T) {
	w := newSymmetricWindow(t, 9, queens.Mirror, func(uint64) bool { return false })
	if len(w.manifest.Classes) < 2 {
		t.Fatal("there is one class")
	}
	w.guide.speed, w.guide.left = 1e9, 1e9
	for !w.exhausted || w.next != nil {
		r := w.publish(t)
		last := r.first + uint64(len(r.message.Tasks)) - 1
		if w.manifest.ClassOf(r.first) != w.manifest.ClassOf(last) {
			t.Errorf("a chunk has the tasks %d to %d, of two classes", r.first, last)
		}
		for id := r.first; id <= last; id++ {
			w.accepted(id, 0, r.chunk)
		}
		w.fill()
	}
	large := &queens.Task{ID: 1, Prefixes: make([]queens.Prefix, schedule.MaxChunkBytes/schedule.PrefixBytes)}
	d := &inflightChunk{message: &queens.Chunk{Tasks: make([][]queens.Prefix, 1)}}
	w.draft = d
	if d.bytes = 1; w.fits(large) {
		t.Error("a chunk is too large")
	}
	if d.bytes = 0; !w.fits(large) {
		t.Error("a chunk has no room for what it may have")
	}
	w.draft = nil
	w.resize(100)
	w.guide.speed, w.guide.results = 1, 1<<30
	for _, c := range []struct {
		active, bytes int
		flight        float64
		want          bool
	}{
		{299, 0, 1e6, true}, {300, 0, 399, true}, {300, 0, 401, false}, {1199, 0, 1, true}, {1200, 0, 1, false},
		{0, schedule.MaxWindowBytes, 0, false}, {0, schedule.MaxWindowBytes - 1, 0, true},
	} {
		w.active, w.bytes, w.flight = c.active, c.bytes, c.flight
		if got := w.hasRoom(); got != c.want {
			t.Errorf("%+v: room %v", c, got)
		}
	}
}

// However often the tasks are to be pulled once more, because results became void, each task has its turn;
// and once all have been pulled, those without a result are pulled again.
func TestReopenedWindowReachesEveryTask(t *testing.T) {
	done := make(map[uint64]bool)
	w := newTestWindow(t, 12, func(id uint64) bool { return done[id] })
	w.resize(4)
	published := make(map[uint64]int)
	count := func() (ids []uint64) {
		r := w.publish(t)
		for i := range r.message.Tasks {
			id := r.first + uint64(i)
			published[id]++
			done[id] = true
			w.accepted(id, time.Second, r.chunk)
			ids = append(ids, id)
		}
		return ids
	}
	for range w.manifest.Tasks {
		if len(count()) == 0 || w.exhausted {
			t.Fatal("a chunk without tasks")
		}
		done[0] = false // it became void
		w.reopen()
		if len(published) == int(w.manifest.Tasks) {
			break
		}
	}
	if len(published) != int(w.manifest.Tasks) || published[0] != 1 {
		t.Errorf("%d of %d tasks had their turn; the first one %d times", len(published), w.manifest.Tasks, published[0])
	}
	if ids := count(); len(ids) != 1 || ids[0] != 0 {
		t.Errorf("after all, tasks %d are published", ids)
	}
	for w.again || !w.exhausted {
		if _, ok := w.fetch(); ok {
			t.Fatal("a task is published although all have results")
		}
	}
	done[5] = false
	if w.reopen(); w.exhausted {
		t.Error("nothing is pulled again")
	}
	if ids := count(); len(ids) != 1 || ids[0] != 5 {
		t.Errorf("tasks %d are published again", ids)
	}
}
