// Package flight decides which tasks of a run are published, in which chunks, and what happens to a chunk
// until its tasks are counted. It knows nothing of counts and voters: package agreement decides which tasks
// need a further count.
//
// A [Flight] is a state machine. It does no I/O, starts no goroutine, and reads no clock. The event loop of the
// coordinator calls its methods with what has happened, and with the time where that matters; [Flight.Next]
// returns the commands that the loop must execute. The same calls give the same commands. A Flight is not safe
// for concurrent use.
//
// # The life of a task
//
// A task is only a number here: the loop looks up its prefixes when it publishes the chunk. A task that needs
// its first count is ahead of the cursor, which passes over all tasks of the run once, in order. [Flight.Fill]
// takes consecutive tasks from the cursor and plans a chunk of them. The task is then in flight, until a worker
// reports the chunk ([Flight.Returned]) or the task needs no further count ([Flight.Settled]). It comes into
// flight again if it needs a further count ([Flight.Again]), or if its first count became void
// ([Flight.Reopen]). If a chunk ends without a report, its open tasks wait until Fill plans another chunk for
// them, with another id and the next attempt.
//
// A task that kills workers is found by halving. Once a chunk has lost two workers of known keys, its tasks are
// suspect: it is withdrawn, and its tasks are published again in two halves. A task is dead-lettered when
// workers of three known keys were lost while it was alone in its chunk. No worker gets it any more.
//
// # The life of a chunk
//
// A chunk is one message in the queue. It has exactly one of these states.
//
//	planned      its Publish command waits to be handed out by Next
//	publishing   the loop executes the Publish command
//	published    its message is in the queue, or a worker has it
//	away         the same, but a worker has taken the message, and at the last check none held the chunk
//	checking     a Check command waits, or the loop executes it
//	missing      the last check did not find the message; the result of the chunk may be on its way
//	recalled     its message must be deleted as soon as the outstanding command has ended
//	withdrawing  a Delete command waits, or the loop executes it
//	closed       it has ended; only its id is remembered for a while
//
// It moves between them as follows. "Recall" means that no worker should get the message any more:
// every task has left the chunk, a suspect chunk must be halved, the chunk has expired or is away while workers are
// idle, or the results of all workers that hold it are refused ([Flight.Withdraw]).
//
//	planned      -> publishing    Next hands out its Publish command
//	planned      -> closed        every task has left it; Next skips the command
//	publishing   -> published     Published
//	publishing   -> recalled      recall
//	publishing   -> closed        Returned: a worker has reported all its tasks
//	published    -> checking      Sweep: CheckAfter has passed, and no worker holds it
//	published    -> withdrawing   recall
//	published    -> closed        Returned: all
//	away         -> published     Sweep: a worker holds it
//	away         -> checking      Sweep: CheckAfter has passed, and workers are not idle
//	away         -> withdrawing   recall
//	away         -> closed        Returned: all
//	checking     -> published     Checked: the queue has the message; or CheckFailed
//	checking     -> away          Checked: the queue has the message, and a worker has taken it
//	checking     -> missing       Checked: the queue does not have the message
//	checking     -> recalled      recall
//	checking     -> closed        Returned: all
//	missing      -> closed        Returned, or every task has left it; or Sweep: all results since are read, it is lost
//	recalled     -> withdrawing   Published, Checked or CheckFailed: the outstanding command has ended
//	recalled     -> closed        Returned: all
//	withdrawing  -> closed        Deleted, or Returned: all
//
// Tasks that are open when a chunk becomes closed wait for another chunk. If a worker reports only the first tasks
// of a chunk, the others wait at once, and the useless message is recalled. An event that does not fit the state
// of a chunk changes nothing: results and the outcomes of commands arrive in any order.
//
// # What always holds
//
//  1. A task is in at most one chunk that is not closed. A task for which Settled was called is in none, until
//     Again or Reopen names it.
//  2. No task is forgotten. Unless it is dead-lettered, a task that needs its first count is in flight or ahead of
//     the cursor after Fill; a task that Again named is in flight until it is reported or settled. A task in flight
//     is in a chunk, or waits for one while the window is full.
//  3. A chunk has exactly one state, and at most one command of it is outstanding until it is closed.
//  4. If every task has left a chunk, its message is deleted, unless a worker has reported all of it, and so
//     acknowledges the message, or the queue did not have it at the last check.
//  5. Fill plans no chunk while [schedule.IsFull], and none from the cursor unless [schedule.HasRoom].
//  6. A task is dead-lettered only if workers of three known keys were lost while it was alone in its chunk, or
//     by DeadLetter.
package flight

import (
	"time"

	"nqueens/pkg/queens"
)

// Config is what a Flight needs to know of the run.
type Config struct {
	Manifest *queens.Manifest
	// Parts has, for each class of the manifest, the part of the run's work in one of its tasks, 0 to 1.
	Parts []float64
	// CheckAfter is the time after which the queue is asked whether it has a chunk that no worker holds.
	CheckAfter time.Duration
	// RepublishAfter is the least time after which a chunk is published again although the queue has it.
	RepublishAfter time.Duration
	// NewID returns the id of the next chunk: never 0, never one that it returned before, and nothing that a
	// worker can guess.
	NewID func() uint64
}

// Flight is the state machine. [New] returns one.
type Flight struct {
	cfg    Config
	guide  guide
	cursor cursor
	again  batches            // tasks that wait to be planned again
	where  map[uint64]*chunk  // the chunk of each task in flight; nil for one that waits in again
	tasks  []int              // in flight, by class
	chunks map[uint64]*chunk  // by id: those that are not closed
	bytes  int                // of the prefixes in these chunks, estimated
	orders orders             // commands for Next
	sent   []*chunk           // those that have a message, in order of publication, and some that were closed lately
	losses map[uint64]*losses // by task
	past   map[uint64]past    // chunks that were closed lately, by id
	// forgotAt is when old ones were forgotten last.
	forgotAt time.Time

	longest     time.Duration // search of a task so far
	republished uint64        // tasks
}

// New returns a Flight with no task in flight and the cursor at the first task. It expects one thread.
func New(c Config) *Flight {
	return &Flight{
		cfg: c, guide: newGuide(c.Parts), cursor: cursor{end: c.Manifest.Tasks},
		where: make(map[uint64]*chunk), tasks: make([]int, len(c.Manifest.Classes)), chunks: make(map[uint64]*chunk),
		losses: make(map[uint64]*losses), past: make(map[uint64]past),
	}
}

// Resize sets the number of threads that the chunks in flight are for.
func (f *Flight) Resize(threads int) { f.guide.threads = max(threads, 1) }

// Observe notes how long a search of a task took, as its worker claims, before Returned and Settled. Sizes and timeouts
// of chunks follow from that. The longest search takes no longer than the task was published.
func (f *Flight) Observe(now time.Time, task uint64, search time.Duration) {
	f.guide.observe(now, f.part(task), search)
	if c := f.where[task]; c != nil && !c.publishedAt.IsZero() {
		f.longest = max(f.longest, min(search, now.Sub(c.publishedAt)))
	}
}
