package memledger

import (
	"fmt"
	"slices"
	"strings"

	"nqueens/pkg/queens"
)

// Quarantine refuses all further results of a key. Those that it has count until Void has voided them.
func (l *Ledger) Quarantine(key string) {
	if l.IsQuarantined(key) {
		return
	}
	l.quarantined = append(l.quarantined, key)
	l.voiding = append(l.voiding, voiding{key: key})
	slices.SortFunc(l.voiding, func(a, b voiding) int { return strings.Compare(a.key, b.key) })
}

// IsQuarantined reports whether a key is quarantined.
func (l *Ledger) IsQuarantined(key string) bool { return slices.Contains(l.quarantined, key) }

// IsVoiding reports whether results of a quarantined key still count.
func (l *Ledger) IsVoiding() bool { return len(l.voiding) > 0 }

// Void voids first the results of a quarantined key, and at the next call its votes. It returns the tasks that it
// has changed.
func (l *Ledger) Void() (changed []uint64) {
	v := &l.voiding[0]
	for id := range l.tasks {
		t := &l.tasks[id]
		if t.disputed == v.votes && l.voidTask(t, v.key) {
			changed = append(changed, uint64(id))
		}
	}
	if v.votes {
		l.voiding = l.voiding[1:]
	} else {
		v.votes = true
	}
	return changed
}

// voidTask voids the results of a key of a task, and reports whether there were any.
func (l *Ledger) voidTask(t *task, key string) bool {
	var left []queens.Result
	for _, r := range t.results {
		switch {
		case r.Key != key:
			left = append(left, r)
		case t.disputed:
			t.voided = append(t.voided, r)
		}
	}
	if len(left) == len(t.results) {
		return false
	}
	t.results = left
	switch {
	case t.disputed:
		t.tally(l.quorum())
	case len(left) == 0:
		t.accepted = -1
	}
	return true
}

// String describes everything, a line for each task that has results.
func (l *Ledger) String() string {
	var b strings.Builder
	for id := range l.tasks {
		t := &l.tasks[id]
		if len(t.results)+len(t.voided) == 0 && !t.alone {
			continue
		}
		fmt.Fprintf(&b, "task %d:", id)
		for i, r := range t.results {
			fmt.Fprintf(&b, " %s=%d", r.Voter(), r.Count)
			if i == t.accepted {
				b.WriteByte('*')
			}
		}
		for _, r := range t.voided {
			fmt.Fprintf(&b, " -%s=%d", r.Voter(), r.Count)
		}
		if t.disputed {
			b.WriteString(", disputed")
		}
		if t.alone {
			b.WriteString(", alone")
		}
		b.WriteByte('\n')
	}
	for _, key := range l.quarantined {
		fmt.Fprintf(&b, "quarantined %s\n", key)
	}
	for _, v := range l.voiding {
		fmt.Fprintf(&b, "voiding %s %v\n", v.key, v.votes)
	}
	return b.String()
}
