// Package agreement decides which tasks of a run need a further count, and by whom: how many
// voters must agree on a task, which tasks are spot-checked, how a dispute is settled, and whose
// key is quarantined. It knows nothing of chunks, queues and streams, which are those of package
// flight.
//
// It is a state machine. Events and the time go in, commands come out; it does no I/O, starts no
// goroutine, reads no clock, and draws nothing at random but from the seed that it is given. The
// ledger is the truth: each event says what the ledger has of a task now, and after a restart an
// Agreement is made again from the ledger.
//
// # The states of a task
//
// A voter is an admitted key. A run of redundancy R needs R voters that agree on each task; where
// R is 1, one count of any key is enough. A task is in one of these states:
//
//	open        no count is accepted
//	lacking     too few voters agree, and none that has not counted the task is connected
//	asked       too few voters agree, and another voter is to count the task
//	agreed      enough voters agree
//	due         enough voters agree, and a spot check is due that nobody makes now
//	check-asked another voter is to count the task for the spot check
//	check-own   the coordinator counts the task for the spot check
//	disputed    counts contradict each other, and the coordinator has not begun to settle that
//	refereed    the coordinator counts the task to settle the dispute
//	vote-asked  another voter is to count the task to settle the dispute
//	stuck       the coordinator can't settle the dispute, and no connected voter can, or has in time
//
// A task moves between them as follows.
//
//	open -> lacking, asked                                 a count, and R is more than 1
//	open, lacking, asked -> agreed                         a count with which enough voters agree
//	open, lacking, asked -> due, check-asked, check-own    the same, and the task owes a spot check
//	lacking -> asked                                       another voter connects, or a pause ends
//	asked -> lacking                                       no other voter is connected; or counts gain nothing: a pause
//	due -> check-asked, check-own                          a voter is connected that can check it, or the coordinator has time
//	check-asked -> due, check-own                          voters that had counted it counted it again, or it takes too long at the end
//	due, check-asked, check-own -> agreed                  another voter or the coordinator agrees, or the check is missed
//	check-own -> due                                       a wrong vote in a dispute that was settled before; or it takes too long at the end
//
//	open, lacking, asked, agreed -> disputed               counts contradict each other
//	due, check-asked, check-own -> disputed                the same
//	disputed -> refereed                                   it is the task's turn
//	disputed -> vote-asked, stuck                          the coordinator can't count it, or not in a short time
//	refereed -> disputed                                   the coordinator's count has ended
//	vote-asked -> disputed                                 voters take too long: the coordinator counts however long it takes
//	vote-asked -> stuck                                    voters take too long or disconnect, and the coordinator can't count it
//	stuck -> vote-asked                                    a voter connects
//	disputed, refereed, vote-asked, stuck -> agreed, due   the dispute is settled; the task may owe a spot check
//	disputed, refereed, vote-asked, stuck -> asked         the same, but too few voters agree
//	disputed, refereed, stuck -> lacking                   the same
//
//	lacking, asked, agreed -> open                         all its counts became void: their keys were quarantined
//	due, check-asked, check-own -> open                    the same
//	disputed, refereed, vote-asked, stuck -> open          the same
//	agreed, due, check-asked, check-own -> lacking, asked  counts became void, and too few voters are left
//	agreed -> due                                          the count that had checked it became void
//
// # What always holds
//
//  1. A task is done only while enough voters agree on it, and no dispute about it is open.
//  2. A task that is asked, check-asked or vote-asked is in the queue, unless it pauses: Again was ordered after
//     its last count. The coordinator counts those that are check-own or refereed.
//  3. A key is quarantined only if the coordinator's own count, or Quorum voters, contradict it.
//  4. A spot check that is owed is made or counted as missed. A task that needs none has none due.
//  5. The memory for tasks beyond some bits a task is bounded: at most about MaxLacking tasks lack voters,
//     maxCheckAsked are check-asked, and the ledger bounds the votes of each dispute.
package agreement

import (
	"slices"
	"time"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// Config says how a run checks its counts.
type Config struct {
	Manifest *queens.Manifest
	// Redundancy is how many voters must agree on a task, at least 1.
	Redundancy int
	// Share is the share of the tasks that are spot-checked, 0 to 1, and Seed chooses them.
	Share float64
	Seed  [32]byte
	// Bounded bounds the time of the coordinator's own spot checks: see maxCheckShare and maxEndShare.
	// Otherwise it makes every check that no voter makes.
	Bounded bool
	// CheckThreads and EndThreads are how many spot checks the coordinator makes at once, while the run
	// counts and when only spot checks are left; 0 if it can't make any.
	CheckThreads, EndThreads int
	// Referee says that the coordinator can count disputed tasks.
	Referee bool
	// Patience is how long to wait for voters when nothing else is left to do.
	Patience time.Duration
}

// Count is a count of a task that the ledger has looked at, and what the ledger has since.
type Count struct {
	Result *run.Result
	First  bool // It is the accepted count, and the task had none before.
	Gained bool // The ledger has stored it: its voter had not given this count before.
	// Conflict says that it contradicts the accepted count, or that a dispute is open that it does not settle.
	Conflict bool
	Early    bool // It is in one of the first chunks of its key, see [run.EarlyChunks].
	run.Standing
	Dispute *run.Dispute // Nil if there is none.
}

// Op is what a command has the coordinator do.
type Op int

// The commands.
const (
	// Settle: no further count of the task is needed, it leaves the queue.
	Settle Op = iota
	// Reopen: the task has no accepted count any more.
	Reopen
	// Again: the task is to be counted by another worker, unless it is in the queue.
	Again
	// Referee: the coordinator counts a disputed task.
	Referee
	// Check: the coordinator counts a task for a spot check.
	Check
	// Look: the coordinator answers with Seen.
	Look
	// Quarantine: the vote is wrong.
	Quarantine
	// Opened, Outvoted, Closed: an open dispute has a further vote, a settled one has a further vote that lost, or a
	// dispute is settled now. For the log.
	Opened
	Outvoted
	Closed
)

// Command is what the coordinator has to do.
type Command struct {
	Op   Op
	Task uint64
	// Kernels are those that have counted the task: Referee and Check count with another one.
	Kernels []string
	// Unlimited is for Referee: however long it takes, not only for a short time.
	Unlimited bool
	// Vote is the wrong vote, and Right the right count, for Quarantine.
	Vote  run.Result
	Right uint64
}

// Agreement is the state machine. [New] makes one.
type Agreement struct {
	cfg       Config
	draw      draw
	done      bitmap   // tasks on which enough voters agree, without those in an open dispute
	doneOf    []uint64 // of them, by class
	tasks     map[uint64]*task
	states    [states]int     // how many of tasks are in each state
	lacking   queue           // tasks that became lacking; some are not any more
	voters    map[string]bool // connected
	withdrawn map[uint64]bool // tasks that no worker gets until they are settled
	longest   time.Duration   // of the searches so far
	gainedAt  time.Time       // of the last count of a worker that gained something
	checks    checks
	disputes  disputes
	commands  []Command
}

// task is what is known of a task in another state than open, agreed and due.
type task struct {
	id        uint64
	state     State
	voters    []string     // that have counted it
	named     bool         // one of them is admitted by more than the join token
	vain      int          // counts in a row that gained nothing
	notBefore time.Time    // when it may be asked for again
	askedAt   time.Time    // when voters were asked first to settle the dispute; zero if they were not
	standing  run.Standing // while it is in dispute
	dispute   *run.Dispute // nil unless it is open
	lane      lane         // in which the coordinator is to count it
	queued    bool         // it is in lacking
	listed    bool         // it is in disputes.open
}

// New returns the agreement of a run without counts.
func New(c Config) *Agreement {
	n := c.Manifest.Tasks
	return &Agreement{
		cfg: c, draw: draw{seed: c.Seed, share: c.Share}, done: newBitmap(n), doneOf: make([]uint64, len(c.Manifest.Classes)),
		tasks: make(map[uint64]*task), voters: make(map[string]bool), withdrawn: make(map[uint64]bool),
		checks: newChecks(n), disputes: disputes{slow: make(map[int]bool), failures: make(map[uint64]Failure), proofs: make(map[uint64]bool)},
	}
}

// Commands returns the commands since the last call, in order.
func (a *Agreement) Commands() []Command {
	all := a.commands
	a.commands = nil
	return all
}

// order gives a command. Once a task is settled, package flight forgets why no worker gets it, and so does the
// Agreement.
func (a *Agreement) order(op Op, id uint64) {
	if op == Settle {
		delete(a.withdrawn, id)
	}
	a.commands = append(a.commands, Command{Op: op, Task: id})
}

// Load takes up a task at the start, before all other events.
func (a *Agreement) Load(id uint64, s run.Standing, early bool) {
	if a.agrees(s) {
		a.setDone(id, true)
		a.checks.due.put(id, a.owesCheck(id, s, early))
	}
}

// LoadLacking takes up a task at the start that too few voters have counted, and their counts.
func (a *Agreement) LoadLacking(now time.Time, id uint64, counts []run.Result) {
	t := a.get(id)
	for i := range counts {
		t.addVoter(&counts[i])
	}
	a.ask(now, t)
}

// Counted takes up a count.
func (a *Agreement) Counted(now time.Time, c *Count) {
	r := c.Result
	if c.First {
		a.checks.searched = plus(a.checks.searched, r.Elapsed)
	}
	if c.Gained && !r.IsOwn() {
		a.gainedAt = now
	}
	if a.settledAtOnce(c) {
		a.setDone(r.Task, true)
		a.order(Settle, r.Task)
		return
	}
	t := a.get(r.Task)
	t.addVoter(r)
	if c.Gained {
		t.vain, t.notBefore = 0, time.Time{}
	} else {
		t.vain++
		t.notBefore = now.Add(vainPause(t.vain))
	}
	switch {
	case c.Dispute != nil && (c.Conflict || t.dispute != nil || a.isOpen(t.id, c.Dispute)):
		a.vote(now, t, c)
	case !c.Counted:
	case !a.agrees(c.Standing):
		a.setDone(t.id, false)
		a.ask(now, t)
	case !a.done.has(t.id):
		a.agree(t, c)
	case a.checks.due.has(t.id):
		a.checkCounted(t, c)
	}
}

// settledAtOnce reports whether nothing was known of a task, and nothing is left to do after a count. So it is
// for nearly all tasks of most runs.
func (a *Agreement) settledAtOnce(c *Count) bool {
	id := c.Result.Task
	return c.First && c.Dispute == nil && a.agrees(c.Standing) && a.tasks[id] == nil && !a.done.has(id) && !a.owesCheck(id, a.enough(c.Standing), c.Early)
}

// agree takes up the count with which enough voters agree on a task.
func (a *Agreement) agree(t *task, c *Count) {
	a.setDone(t.id, true)
	owes := a.owesCheck(t.id, a.enough(c.Standing), c.Early) || a.checks.due.has(t.id) && !a.isChecked(c.Standing)
	a.checks.due.put(t.id, owes)
	if owes {
		a.check(t, c.Result)
	} else {
		a.set(t, Agreed)
	}
	if t.state != CheckAsked {
		a.order(Settle, t.id)
	}
}

// ask has another voter count a task that too few have counted, if one is connected.
func (a *Agreement) ask(now time.Time, t *task) {
	if a.withdrawn[t.id] || now.Before(t.notBefore) || !a.isConnected(t.voters) {
		a.set(t, Lacking)
		return
	}
	a.set(t, Asked)
	a.order(Again, t.id)
}

// Voided takes up what the ledger has of a task after counts of it became void. The dispute is nil
// if there is none.
func (a *Agreement) Voided(now time.Time, id uint64, s run.Standing, d *run.Dispute) {
	t := a.get(id)
	a.checks.vain.put(id, false)
	agreed := func(v run.Result) bool { return v.Count == d.Accepted }
	if a.cfg.Share > 0 && a.agrees(s) && !a.isChecked(s) && (d == nil || slices.ContainsFunc(d.Revoked, agreed)) {
		a.checks.due.put(id, true) // the count that has checked it may be void
	}
	switch {
	case d != nil:
		a.disputed(now, t, s, d)
	case !s.Counted:
		a.reopen(t)
	case !a.agrees(s):
		a.setDone(id, false)
		a.checks.due.put(id, false)
		a.ask(now, t)
	}
}

// reopen takes up that a task has no accepted count any more.
func (a *Agreement) reopen(t *task) {
	a.setDone(t.id, false)
	a.checks.due.put(t.id, false)
	a.set(t, Open)
	a.order(Reopen, t.id)
}

// Withdrawn takes up that no worker gets a task any more, until Settle is ordered.
func (a *Agreement) Withdrawn(now time.Time, id uint64) {
	a.withdrawn[id] = true
	switch t := a.tasks[id]; {
	case t == nil:
	case t.dispute != nil:
		a.settle(now, t)
	case t.state == Asked:
		a.set(t, Lacking)
	case t.state == CheckAsked: // it is not worth that
		a.miss(t)
		a.order(Settle, id)
	}
}

// Connected takes up which voters are connected.
func (a *Agreement) Connected(now time.Time, voters []string) {
	before := a.voters
	a.voters = make(map[string]bool, len(voters))
	joined := false
	for _, v := range voters {
		a.voters[v] = true
		joined = joined || !before[v]
	}
	a.checks.looked = 0
	if joined {
		a.awaitVoters()
	}
	a.askLacking(now, len(a.lacking))
	a.reviewDisputes(now, len(a.disputes.open))
}

// MaxLacking is the number of lacking tasks above which no new tasks should be counted: voters are missing.
const MaxLacking = 1 << 16

// maxReviewed is how many lacking tasks, and disputes, a call of Tick looks at.
const maxReviewed = 1 << 8

// Tick does what is due at a time. Wall is the wall time of the whole run, longest the time of the longest search so
// far, and voiding is true while counts of quarantined keys are still being removed. The caller calls Tick a few times
// a second, and again after each check of the coordinator.
func (a *Agreement) Tick(now time.Time, wall, longest time.Duration, voiding bool) {
	a.longest = longest
	a.askLacking(now, min(len(a.lacking), maxReviewed))
	a.reviewDisputes(now, min(len(a.disputes.open), maxReviewed))
	a.startDisputes()
	a.endChecks(now, wall, voiding)
	a.startChecks()
}

// askLacking asks for the next lacking tasks that a connected voter can count.
func (a *Agreement) askLacking(now time.Time, most int) {
	for range most {
		id := a.lacking.pop()
		t := a.tasks[id]
		if t == nil {
			continue
		}
		t.queued = false
		if t.state == Lacking {
			a.ask(now, t)
		}
	}
}

// agrees reports whether enough voters agree on a task.
func (a *Agreement) agrees(s run.Standing) bool {
	return s.Counted && (a.cfg.Redundancy <= 1 || s.Voters >= a.cfg.Redundancy || s.Alone)
}

// setDone notes whether a task is done.
func (a *Agreement) setDone(id uint64, done bool) {
	if a.done.has(id) == done {
		return
	}
	a.done.put(id, done)
	if class := a.cfg.Manifest.ClassOf(id); done {
		a.doneOf[class]++
	} else {
		a.doneOf[class]--
	}
}

// isConnected reports whether a voter is connected that is none of those given.
func (a *Agreement) isConnected(except []string) bool {
	if len(a.voters) > len(except) {
		return true
	}
	for v := range a.voters {
		if !slices.Contains(except, v) {
			return true
		}
	}
	return false
}

// addVoter notes that a voter has counted the task.
func (t *task) addVoter(r *run.Result) {
	if v := r.Voter(); !slices.Contains(t.voters, v) {
		t.voters = append(t.voters, v)
	}
	t.named = t.named || r.Admitted && !r.ByToken
}

// A count that gains nothing is of a voter that had counted the task: workers decline such chunks a few
// times only. The task is asked for again at once, and later after a pause that doubles from the first to
// the last.
const (
	firstVainPause = time.Second
	lastVainPause  = time.Minute
)

func vainPause(vain int) time.Duration {
	if vain < 2 {
		return 0
	}
	return min(firstVainPause<<min(vain-2, 10), lastVainPause)
}
