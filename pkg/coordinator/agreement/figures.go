package agreement

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// IsDone reports whether enough voters agree on a task, and no dispute about it is open.
func (a *Agreement) IsDone(id uint64) bool { return a.done.has(id) }

// Done returns the number of the tasks for which IsDone is true.
func (a *Agreement) Done() uint64 { return a.done.count }

// DoneOf returns the number of such tasks of each class. The caller must not change it.
func (a *Agreement) DoneOf() []uint64 { return a.doneOf }

// IsComplete reports whether every task is done, and no spot check is due.
func (a *Agreement) IsComplete() bool {
	return a.done.count == a.cfg.Manifest.Tasks && a.checks.due.count == 0
}

// OnlyChecks reports whether every task is done, and spot checks are due.
func (a *Agreement) OnlyChecks() bool {
	return a.done.count == a.cfg.Manifest.Tasks && a.checks.due.count > 0
}

// Lacking returns the number of tasks that wait for a voter, see [MaxLacking], but those that no worker gets.
func (a *Agreement) Lacking() int {
	n := a.states[Lacking]
	for id := range a.withdrawn {
		if a.State(id) == Lacking {
			n--
		}
	}
	return n
}

// Checks returns the number of tasks whose spot check is due, and of those whose check was missed.
func (a *Agreement) Checks() (due, missed uint64) { return a.checks.due.count, a.checks.missed }

// Disputes returns the number of open disputes, and of those that nobody can settle.
func (a *Agreement) Disputes() (open, stuck int) { return a.disputes.count, a.states[Stuck] }

// OpenDisputes returns the tasks in open disputes, in order of id.
func (a *Agreement) OpenDisputes() (tasks []uint64) {
	for _, id := range a.disputes.open {
		if t := a.tasks[id]; t != nil && t.dispute != nil {
			tasks = append(tasks, id)
		}
	}
	slices.Sort(tasks)
	return slices.Compact(tasks)
}

// Others returns the tasks that voters count for a spot check, and those in open disputes, in no order.
func (a *Agreement) Others() (tasks []uint64) {
	if a.Beside() == 0 {
		return nil
	}
	for id, t := range a.tasks {
		if t.state == CheckAsked || t.dispute != nil {
			tasks = append(tasks, id)
		}
	}
	return tasks
}

// Beside returns the number of tasks that voters count for a spot check, and of those in open disputes.
func (a *Agreement) Beside() int { return a.states[CheckAsked] + a.disputes.count }

// IsDisputed reports whether a task is in an open dispute.
func (a *Agreement) IsDisputed(id uint64) bool {
	t := a.tasks[id]
	return t != nil && t.dispute != nil
}

// Dump describes all that is known, for traces and tests, but which tasks are done or due, which State says: a line of
// figures, one of the connected voters, and one for each task in a state other than open, agreed and due, in order of
// id. Times are relative to the given one.
func (a *Agreement) Dump(now time.Time) string {
	var b strings.Builder
	c := &a.checks
	fmt.Fprintf(&b, "done %d, due %d, missed %d, disputes %d", a.done.count, c.due.count, c.missed, a.disputes.count)
	if len(c.running) > 0 {
		fmt.Fprintf(&b, ", checking %d", len(c.running))
	}
	if c.vain.count > 0 {
		fmt.Fprintf(&b, ", checks in vain %d", c.vain.count)
	}
	switch {
	case !c.ownAt.IsZero():
		fmt.Fprintf(&b, ", own checks for %s", now.Sub(c.ownAt))
	case !c.leftAt.IsZero():
		fmt.Fprintf(&b, ", only checks for %s", now.Sub(c.leftAt))
	}
	fmt.Fprintf(&b, "\nvoters: %s\n", cmp.Or(strings.Join(slices.Sorted(maps.Keys(a.voters)), " "), "none"))
	for _, class := range slices.Sorted(maps.Keys(a.disputes.slow)) {
		fmt.Fprintf(&b, "class %d takes the coordinator too long\n", class)
	}
	for _, id := range slices.Sorted(maps.Keys(a.withdrawn)) {
		fmt.Fprintf(&b, "task %d is withdrawn\n", id)
	}
	for _, id := range slices.Sorted(maps.Keys(a.tasks)) {
		a.tasks[id].describe(&b, now, a.failure(id))
	}
	return b.String()
}

func (t *task) describe(b *strings.Builder, now time.Time, f Failure) {
	fmt.Fprintf(b, "task %d %s, counted by %s", t.id, t.state, cmp.Or(strings.Join(t.voters, " "), "nobody"))
	if t.vain > 0 {
		fmt.Fprintf(b, ", %d in vain", t.vain)
	}
	if now.Before(t.notBefore) {
		fmt.Fprintf(b, ", not for %s", t.notBefore.Sub(now))
	}
	switch {
	case t.dispute == nil || f == NotTried:
	case f == TooLong:
		b.WriteString(", takes the coordinator too long")
	case f == Failed:
		b.WriteString(", the coordinator can't count it")
	}
	if t.dispute != nil && !t.askedAt.IsZero() {
		fmt.Fprintf(b, ", voters asked for %s", now.Sub(t.askedAt))
	}
	b.WriteByte('\n')
}
