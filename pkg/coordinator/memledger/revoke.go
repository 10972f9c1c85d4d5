package memledger

import (
	"fmt"
	"slices"
	"strings"

	"nqueens/pkg/run"
)

// Quarantine refuses all further results of a key. Those that it has count until Revoke has revoked them.
func (l *Ledger) Quarantine(key string) {
	if l.IsQuarantined(key) {
		return
	}
	l.quarantined = append(l.quarantined, key)
	l.revoking = append(l.revoking, key)
	slices.Sort(l.revoking)
}

// IsQuarantined reports whether a key is quarantined.
func (l *Ledger) IsQuarantined(key string) bool { return slices.Contains(l.quarantined, key) }

// IsRevoking reports whether results of a quarantined key still count.
func (l *Ledger) IsRevoking() bool { return len(l.revoking) > 0 }

// Revoke revokes the results of a quarantined key, and returns their tasks.
func (l *Ledger) Revoke() (changed []uint64) {
	for id := range l.tasks {
		if l.revokeTask(&l.tasks[id], l.revoking[0]) {
			changed = append(changed, uint64(id))
		}
	}
	l.revoking = l.revoking[1:]
	return changed
}

// revokeTask revokes the results of a key of a task, and reports whether there were any.
func (l *Ledger) revokeTask(t *task, key string) bool {
	var left []run.Result
	for _, r := range t.results {
		switch {
		case r.Key != key:
			left = append(left, r)
		case t.disputed:
			t.revoked = append(t.revoked, r)
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
		if len(t.results)+len(t.revoked) == 0 && !t.alone {
			continue
		}
		fmt.Fprintf(&b, "task %d:", id)
		for i, r := range t.results {
			fmt.Fprintf(&b, " %s=%d", r.Voter(), r.Count)
			if i == t.accepted {
				b.WriteByte('*')
			}
		}
		for _, r := range t.revoked {
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
	for _, key := range l.revoking {
		fmt.Fprintf(&b, "revoking %s\n", key)
	}
	return b.String()
}
