package agreement

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Next is the table of the moves of tasks.
var Next = &next

// States is the number of states.
const States = states

// IsDrawn reports whether a run with this config spot-checks a task.
func (c *Config) IsDrawn(task uint64) bool {
	d := draw{seed: c.Seed, share: c.Share}
	return d.has(task)
}

// MaxCheckAsked is the bound on check-asked tasks.
const MaxCheckAsked = maxCheckAsked

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
