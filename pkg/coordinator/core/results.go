package core

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
)

// Delivered handles a delivery: it records what is new, and answers when that is on disk.
func (c *Core) Delivered(now time.Duration, delivery *Delivery) {
	if !c.advance(now) || !c.takes(delivery.From) {
		return
	}
	w := c.fleet.hear(now, delivery.From, false)
	receipts := make([]queens.Receipt, len(delivery.Results))
	for i := range delivery.Results {
		if c.disputesTooMany(delivery.From.Machine, &delivery.Results[i]) {
			c.after(now)
			return // the worker delivers again
		}
		refused := c.deliver(now, w, &delivery.Results[i])
		receipts[i] = queens.Receipt{Recorded: refused == "", Refused: refused}
		if refused != "" && refused != queens.RunHasEnded {
			c.numbers.refused++
		}
	}
	c.out.OnDisk.Receipts = append(c.out.OnDisk.Receipts,
		Receipts{To: delivery.From, Receipts: receipts, Origin: delivery.Origin})
	c.after(now)
}

const (
	// mostUnsettled bounds the tasks that need a recount at the same time.
	mostUnsettled = 1 << 18
	// mostSources bounds the machines and kernels in results, because a stranger can invent any number
	// of names. Each takes up to 1 KB until the run ends.
	mostSources = 1 << 18
)

// disputesTooMany reports whether a result would make a further task need a recount, although
// mostUnsettled do.
func (c *Core) disputesTooMany(machine queens.Machine, r *CheckedResult) bool {
	isTaken := r.Refused == "" && c.over == nil && c.accepts(machine)
	if !isTaken || len(c.judge.unsettled) < mostUnsettled {
		return false
	}
	for i, count := range r.Counts {
		task := r.Counted.First + uint64(i)
		if !c.judge.unsettled[task] && c.state.Differs(task, count) {
			return true
		}
	}
	return false
}

// hasRoomFor reports whether results may come from a further machine or kernel of a user. A user
// has at most as many as stay free for other users: see [Threshold].
func (c *Core) hasRoomFor(user string) bool {
	ofUser, all := c.state.Sources(user)
	return ofUser+all < mostSources
}

// deliver records a result if it brings something new. It returns why it refuses the result, or "".
func (c *Core) deliver(now time.Duration, w *worker, r *CheckedResult) (refused string) {
	machine := w.process.Machine
	switch {
	case r.Refused != "":
		return r.Refused
	case c.over != nil:
		return queens.RunHasEnded
	case !c.accepts(machine):
		return c.refusal(machine)
	case !c.state.HasSource(machine, r.Kernel) && !c.hasRoomFor(machine.User):
		return fmt.Sprintf("this run has results of too many machines of user %s: start workers with "+
			"--machine and a name that stays the same", machine.User)
	}
	isNew := false
	for i, count := range r.Counts {
		task := r.Counted.First + uint64(i)
		news, tooMany := c.judge.news(machine, task, count)
		if tooMany {
			return fmt.Sprintf("%s has counted task %d twice already, with other counts", machine.Witness(),
				task)
		}
		isNew = isNew || news
	}
	if !isNew {
		c.numbers.repeated++
		return ""
	}
	work, solutions := 0.0, 0.0
	for i, count := range r.Counts {
		class := c.queue.class(r.Counted.First + uint64(i))
		work += c.options.Shares[class]
		solutions += float64(count) * float64(c.state.Header().Manifest.Classes[class].Weight)
	}
	w.rate.add(work, solutions, r.Searched)
	w.tasks += r.Counted.Tasks
	w.results++
	c.fleet.sum(w)
	c.changed = c.changed || w.wants() // it may get more now: see hoards
	c.record(now, &ledger.Result{
		Machine: machine, Process: w.process.Name, Kernel: r.Kernel, Range: r.Counted, Hash: r.Hash,
		Counts:   r.Counts,
		Searched: r.Searched, At: c.at(now),
	}, c.queue.holds[w.process][r.Range])
	return ""
}

// record appends a record to the ledger, and at once settles its tasks and bans machines if the
// record shows that they are wrong. The parameter searched is the hold whose search gave the result
// r; nil if there is none.
func (c *Core) record(now time.Duration, r ledger.Record, searched *hold) {
	change, err := c.state.Apply(r)
	if err != nil {
		c.fail(now, "a record that is not of this run: %w", err)
		return
	}
	c.out.Records = append(append(c.out.Records, change.Disputes...), r)
	c.expel(change.Banned)
	for _, task := range change.Tasks {
		if result, ok := r.(*ledger.Result); ok {
			c.judge.counts(result.Machine, task)
		}
		c.settle(task, searched)
	}
	if len(change.Banned) > 0 {
		c.ban(now, change.Banned, change.Voided)
	}
}

// settle moves a task to where it belongs after its records have changed: it waits, is held, awaits
// a recount, or is done. If a hold ends, its worker is told to drop the chunk, unless it is the
// hold searched: see record.
func (c *Core) settle(task uint64, searched *hold) {
	again := c.judge.update(task).byWorker()
	c.changed = c.changed || again
	for _, h := range c.queue.move(task, c.state.Counter(task).Witness(), again) {
		c.changed = true
		if h != searched {
			c.drop(h)
		}
	}
}

// expel takes all that they hold from workers from which nothing is accepted any more after bans,
// and tells them. Tasks that wait as counted by such a witness wait as what they are now.
func (c *Core) expel(bans []queens.Ban) {
	if len(bans) == 0 {
		return
	}
	for _, b := range bans {
		c.queue.regroup(b.Machine.Witness(), func(task uint64) queens.Witness {
			return c.state.Counter(task).Witness()
		})
	}
	for _, w := range c.fleet.refuse() {
		for _, h := range c.queue.holdsOf(w.process) {
			c.release(h, false)
		}
		c.answer(w, nil)
	}
}

// ban records bans, and moves the tasks whose counts are void to where they belong, which takes
// about a microsecond for each. If the same input has ended the hold of a chunk in which such tasks
// need a count, the worker holds the chunk again.
func (c *Core) ban(now time.Duration, bans []queens.Ban, voided []uint64) {
	for _, b := range bans {
		if on := c.fleet.computers[computerOf(b.Machine)]; on != nil {
			b.Label = on.label
		}
		c.record(now, &ledger.Ban{Ban: b, At: c.at(now)}, nil)
		c.sayBan(b.Machine)
	}
	for _, task := range voided {
		c.judge.voided(task)
		c.settle(task, nil)
	}
	for _, w := range c.tell {
		w.drops = slices.DeleteFunc(w.drops, func(r queens.Range) bool {
			return c.adopt(now, w.process, r, nobody) != nil
		})
	}
	c.changed = true
	c.checkMachine(now)
}

// checkMachine stops the run if the coordinator's own machine is banned, or if two of its recounts
// of a task differ.
func (c *Core) checkMachine(now time.Duration) {
	for _, task := range slices.Sorted(maps.Keys(c.judge.unsettled)) {
		if c.judge.contradictsItself(task) {
			c.fail(now, "two recounts of task %d differ, so this machine or a kernel is wrong: check its "+
				"memory, "+
				"and resume the run on another machine", task)
		}
	}
	if own := c.ownMachine(); c.state.Banned(own) {
		c.fail(now, "%s, and resume the run on another machine: this is the coordinator's own",
			c.refusal(own))
	}
}

// ownMachine returns the machine of the coordinator. Nobody on the wire can name it: see
// [queens.CoordinatorUser].
func (c *Core) ownMachine() queens.Machine {
	return queens.Machine{User: queens.CoordinatorUser, Name: c.options.Machine}
}

// sayBan says that a machine is banned, and also its user if that is banned now.
func (c *Core) sayBan(m queens.Machine) {
	text := c.refusal(m)
	if m.Name == c.options.Machine && m != c.ownMachine() {
		text += "; it says that it is the coordinator's machine, whose own counts stay valid"
	}
	c.line(true, "%s", text)
	if c.state.UserBanned(m.User) {
		c.line(true, "%s", userBan(m.User))
	}
}

// fill lets every task wait that needs a count by a worker and is not held.
func (c *Core) fill() {
	waits, group := queens.Range{}, queens.Witness{}
	for task := range c.state.Header().Manifest.Tasks {
		if !c.judge.need(task).byWorker() || c.queue.held(task) {
			continue
		}
		by := c.state.Counter(task).Witness()
		if task != waits.End() || by != group {
			c.queue.wait(waits, group)
			waits, group = queens.Range{First: task}, by
		}
		waits.Tasks++
	}
	c.queue.wait(waits, group)
}
