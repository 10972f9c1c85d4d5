package agreement

import (
	"slices"
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

// GainedAt returns when a worker has reported a count that the ledger stored last; zero if none has.
func (a *Agreement) GainedAt() time.Time { return a.gainedAt }

// IsDisputed reports whether a task is in an open dispute.
func (a *Agreement) IsDisputed(id uint64) bool {
	t := a.tasks[id]
	return t != nil && t.dispute != nil
}
