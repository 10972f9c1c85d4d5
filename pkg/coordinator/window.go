package coordinator

import (
	"math"
	"math/rand/v2"
	"time"

	"nqueens/pkg/queens"
)

// A chunk's timeout is at least minTimeoutSearches times the longest search of a task so far,
// for each of its tasks, and doubles with each attempt, at most maxDoublings times. Whatever
// workers claim, it is at most maxTimeout.
const (
	minTimeoutSearches = 20
	maxDoublings       = 10
	maxTimeout         = 365 * 24 * time.Hour
)

// window holds the tasks in flight: published in a chunk, or about to be, and on which too few
// voters agree. Tasks enter in order of id and leave when enough agree. It holds ids and hashes, and
// prefixes only until they are published, unless every task needs several voters.
type window struct {
	cfg      *Config
	run      string
	manifest *queens.Manifest
	has      func(id uint64) bool // reports whether as many voters agree on the task as every task needs
	guide    guide
	tasks    map[uint64]*inflightTask
	chunks   map[uint64]*inflightChunk // by id
	closed   map[uint64]time.Time      // chunks that are not in flight any more, and since when
	sweptAt  time.Time                 // when closed was last swept
	slow     map[uint64]*inflightChunk // those closed because they took long, while a task of theirs is in flight
	active   int                       // chunks that are not exempt
	flight   float64                   // share of the run's work in the chunks
	bytes    int                       // of the prefixes in the chunks

	pull      func() (queens.Task, bool)
	close     func()
	peeked    *queens.Task   // pulled, and not in a chunk yet
	exhausted bool           // all tasks have been pulled
	again     bool           // they are to be pulled once more after that, see reopen
	draft     *inflightChunk // the chunk to which fill adds tasks
	next      *inflightChunk // to be published next; it waits for the dispatcher

	retryQueue []request                 // checks, republications and deletions, which take turns with next
	retryTurn  bool                      // the request from nextRequest is the first of retryQueue
	planned    map[uint64]*inflightChunk // tasks whose prefixes are looked up, and their chunks
	wanted     []uint64                  // tasks to look up
	early      map[uint64]struct{}       // tasks in flight without a chunk: their results came first
	pending    pending

	keep    bool                        // prefixes: every task is published several times
	touched map[*inflightChunk]struct{} // chunks of which some tasks were counted lately, see closeCounted
	parked  map[*inflightChunk]struct{} // copies that wait for a voter, see release
	checks  int                         // tasks in flight on which enough voters agree: spot checks
	flying  []uint64                    // tasks in flight that are no spot checks, by class
	most    int                         // checks, above which nothing more is published
	// rotation has the parked chunks, in turn, and some that are not parked any more.
	rotation []*inflightChunk

	longest      time.Duration // of the searches so far
	deadLettered int           // tasks in flight that are dead-lettered
	disputed     int           // tasks in flight that are disputed
	republished  uint64        // tasks
	missed       uint64        // tasks whose spot checks were not made
	away         int           // chunks that were away, and withdrawn, until that is logged
	idle         bool          // workers have threads that search nothing, as of the last sweep
}

// inflightTask is a task in the window.
type inflightTask struct {
	chunk        *inflightChunk // nil until a chunk is planned
	hash         uint64
	class        int32  // index in the manifest
	attempt      uint32 // how often it was published, or planned to be
	lost         []loss // workers that searched it when they were lost, see lose
	deadLettered bool   // no worker gets it any more
	disputed     bool
	need         int    // voters that must agree before it leaves, if more than on every task
	agreed       bool   // as many agree as every task needs: it is in flight for a spot check
	counted      bool   // a result of its chunk, as it was published last, is here
	copies       uint32 // of its attempts, those because more voters are needed
}

// inflightChunk is a chunk in the window.
type inflightChunk struct {
	id, first uint64
	tasks     int
	open      int     // tasks that are in flight in this chunk
	share     float64 // of the run's work, of each task
	bytes     int
	exempt    bool          // its task is disputed or dead-lettered: it takes no room
	attempt   uint32        // the greatest of its tasks
	message   *queens.Chunk // nil unless it is about to be published
	missing   int           // tasks whose prefixes are still looked up
	streamSeq uint64        // of its message; 0 before it is published
	busy      bool          // a request for it is queued or being executed
	checkAt   time.Time
	expiresAt time.Time     // when it is republished even if the queue still has it
	missingAt time.Time     // when its message was found missing; zero if it was not
	away      bool          // a worker has taken it, and at the last check none that is present held it
	answered  bool          // a result of it came, which was refused, in part, or told nothing new
	prefix    queens.Prefix // the first of its first task, once it was published
	withdraw  withdrawal
	copyState
}

// withdrawal is what happens to a chunk when its message is deleted.
type withdrawal int

const (
	stays   withdrawal = iota
	whole              // its tasks are published again
	halves             // the same, in two chunks
	forever            // its task is dead-lettered
)

func newWindow(cfg *Config, run string, m *queens.Manifest, shares []float64, has func(id uint64) bool) *window {
	w := &window{
		cfg: cfg, run: run, manifest: m, has: has, guide: newGuide(shares), most: math.MaxInt,
		tasks: make(map[uint64]*inflightTask), chunks: make(map[uint64]*inflightChunk), closed: make(map[uint64]time.Time), slow: make(map[uint64]*inflightChunk),
		touched: make(map[*inflightChunk]struct{}), parked: make(map[*inflightChunk]struct{}),
		planned: make(map[uint64]*inflightChunk), early: make(map[uint64]struct{}),
		pending: pending{results: make(map[uint64][]taskDelivery), names: make(map[string]string)},
		flying:  make([]uint64, len(m.Classes)),
	}
	w.start()
	return w
}

// resize fits window and chunks to the number of threads connected.
func (w *window) resize(threads int) { w.guide.threads = max(threads, 1) }

// newChunk puts a chunk without tasks in flight. Its id is random: it tells nothing of its
// tasks.
func (w *window) newChunk(first uint64, tasks int) *inflightChunk {
	c := &inflightChunk{id: max(rand.Uint64(), 1), first: first, tasks: tasks, share: w.share(first)}
	c.message = &queens.Chunk{Run: w.run, Manifest: w.manifest.Hash, ID: c.id, First: first}
	w.chunks[c.id] = c
	w.active++
	return c
}

func (w *window) share(id uint64) float64 { return w.guide.shares[w.manifest.ClassOf(id)] }

// add puts a task in flight, unless it is.
func (w *window) add(task *queens.Task) *inflightTask {
	t := w.tasks[task.ID]
	if t == nil {
		t = w.insert(task.ID, task.Hash())
	}
	return t
}

// insert puts a task in flight that is not.
func (w *window) insert(id, hash uint64) *inflightTask {
	t := &inflightTask{hash: hash, class: int32(w.manifest.ClassOf(id))}
	w.tasks[id] = t
	w.flying[t.class]++
	return t
}

// addEarly puts a task in flight whose results arrived before this coordinator published it. If
// they are rejected, sweep publishes it.
func (w *window) addEarly(task *queens.Task) {
	if t := w.add(task); t.chunk == nil {
		w.early[task.ID] = struct{}{}
	}
}

// timeout returns how long to wait for the result of a chunk before it is republished although
// the queue has it.
func (w *window) timeout(c *inflightChunk) time.Duration {
	searches, doublings := int64(minTimeoutSearches*c.tasks), min(c.attempt-1, maxDoublings)
	least := time.Duration(min(w.longest.Nanoseconds(), maxTimeout.Nanoseconds()/searches) * searches)
	return min(max(w.cfg.RepublishAfter, least), maxTimeout>>doublings) << doublings
}

// sweepInterval is the time between calls of sweep.
func (w *window) sweepInterval() time.Duration { return w.cfg.CheckAfter / 4 }

// hasWork reports whether a task is not yet in flight, or is in flight and neither
// dead-lettered nor disputed.
func (w *window) hasWork() bool {
	if !w.exhausted || len(w.tasks) > w.deadLettered+w.disputed {
		return true
	}
	for _, c := range w.chunks {
		if c.withdraw == forever { // a worker may get it until its message is deleted
			return true
		}
	}
	return false
}

// accepted removes a task on which enough voters agree, and notes how long its search took. The
// chunk is the one that the result names.
func (w *window) accepted(id uint64, search time.Duration, chunk uint64) {
	w.longest = max(w.longest, search)
	t := w.tasks[id]
	if t == nil {
		return
	}
	if t.deadLettered {
		w.deadLettered--
	}
	if t.disputed {
		w.disputed--
	}
	w.setAgreed(t, false)
	w.flying[t.class]--
	delete(w.tasks, id)
	delete(w.early, id)
	w.leave(t, chunk)
}

// leave takes a task out of its chunk, and closes a chunk without tasks. A message that no
// worker acknowledges, because the results named other chunks, is deleted.
func (w *window) leave(t *inflightTask, named uint64) {
	c := t.chunk
	if c == nil {
		return
	}
	t.chunk = nil
	if t.counted {
		t.counted = false
		c.counted--
	}
	c.open--
	w.flight -= c.share
	if c.open > 0 || c == w.draft {
		w.touched[c] = struct{}{}
		return
	}
	if c.streamSeq != 0 && c.id != named {
		r := w.request(c, opDelete)
		r.orphan = true
		w.retryQueue = append(w.retryQueue, r)
	}
	w.drop(c)
}

// drop forgets a chunk without tasks.
func (w *window) drop(c *inflightChunk) {
	w.exempt(c)
	w.bytes -= c.bytes
	delete(w.chunks, c.id)
	delete(w.parked, c)
	w.closed[c.id] = time.Now()
	if c == w.next {
		w.next = nil
	}
}

// exempt notes that a chunk takes no room in the window.
func (w *window) exempt(c *inflightChunk) {
	if !c.exempt {
		c.exempt = true
		w.active--
	}
}
