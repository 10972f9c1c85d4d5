package ledger

import (
	"maps"
	"slices"

	"go.etcd.io/bbolt"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// Trust is how a run checks its counts. After a restart the same tasks are checked again.
type Trust struct {
	// Redundancy is how many voters have to agree on a task, from 1.
	Redundancy int `json:"redundancy"`
	// SpotCheck says which tasks are checked besides that.
	SpotCheck run.SpotCheck `json:"spotCheck"`
	// Seed chooses the tasks that are checked. It is secret until the run has ended.
	Seed [32]byte `json:"seed"`
}

// quorum returns how many admitted keys settle a dispute.
func (l *Ledger) quorum() int { return max(l.header.Trust.Redundancy, 2) }

// voterSet has the admitted keys with stored results, and for each whether only the join token ever
// admitted it.
type voterSet map[string]bool

// note adds the key of a stored result, if it was admitted.
func (s voterSet) note(r *queens.Result) {
	if r.Admitted {
		s.add(r.Key, r.ByToken)
	}
}

func (s voterSet) add(key string, byToken bool) {
	before, known := s[key]
	s[key] = byToken && (before || !known)
}

// aloneKey is the key of the tasks that [Ledger.SetAlone] stored, in progressBucket: a list in order.
var aloneKey = []byte("alone")

// SetAlone stores that no worker gets a task any more, and that the coordinator's own count of it is enough,
// however many admitted keys should agree. It is on disk when SetAlone returns nil. Errors are those of
// [Ledger.Accept].
func (l *Ledger) SetAlone(task uint64) error {
	if l.alone[task] {
		return l.failed.get()
	}
	tasks := slices.Sorted(maps.Keys(l.alone))
	err := l.update(func(tx *bbolt.Tx) error { return putJSON(tx, progressBucket, aloneKey, append(tasks, task)) })
	if err == nil {
		l.alone[task] = true
	}
	return err
}

func (l *Ledger) loadAlone(tx *bbolt.Tx) error {
	l.alone = make(map[uint64]bool)
	var tasks []uint64
	err := getJSON(tx, progressBucket, aloneKey, &tasks)
	for _, task := range tasks {
		l.alone[task] = true
	}
	return err
}

// LacksVoters reports whether a task has an accepted count on which fewer admitted keys agree than
// [Trust.Redundancy] says. Without redundancy one count of any key is enough. So is the coordinator's own
// count of a task that no worker gets any more, see SetAlone.
func (l *Ledger) LacksVoters(task uint64) bool {
	if l.header.Trust.Redundancy == 1 {
		return false
	}
	s := l.Standing(task)
	return s.Counted && s.Voters < l.header.Trust.Redundancy && !(s.Refereed && s.Alone)
}

// DoneByClass returns how many tasks of each class have an accepted count and do not lack voters. It
// looks at every task, in memory.
func (l *Ledger) DoneByClass() []uint64 {
	done := make([]uint64, len(l.header.Manifest.Classes))
	for task := range l.header.Manifest.Tasks {
		if l.Has(task) && !l.LacksVoters(task) {
			done[l.header.Manifest.ClassOf(task)]++
		}
	}
	return done
}

// missedKey is the key of the number that [Ledger.SetMissed] stores, in progressBucket.
var missedKey = []byte("missed")

// SetMissed stores how many tasks were to be spot-checked and were not when the run came to its end.
// It is on disk when SetMissed returns nil. Errors are those of [Ledger.Accept].
func (l *Ledger) SetMissed(tasks uint64) error {
	if tasks == l.missed && l.failed.get() == nil {
		return nil
	}
	err := l.update(func(tx *bbolt.Tx) error { return putJSON(tx, progressBucket, missedKey, tasks) })
	if err == nil {
		l.missed = tasks
	}
	return err
}

// Confirmation returns what confirms the accepted counts, but not whether their total is the published
// one. It looks at every task, in memory.
func (l *Ledger) Confirmation() run.Confirmation {
	c := run.Confirmation{Tasks: l.Len(), Missed: l.missed, Disputes: uint64(len(l.disputes))}
	for key, byToken := range l.voters {
		if l.IsQuarantined(key) {
			continue
		}
		c.Voters++
		if byToken {
			c.ByToken++
		}
	}
	least := maxVoters
	for _, support := range l.support {
		voters := int(support & maxVoters)
		least = min(least, voters)
		if voters >= 2 || isRecounted(support) {
			c.Checked++
		}
		if support != 0 && voters == 0 && support&own == 0 {
			c.Unadmitted++
		}
	}
	if len(l.support) > 0 {
		c.Redundancy = least
	}
	c.Sampled = c.Checked > 0 && c.Missed == 0 && l.header.Trust.SpotCheck.Share > 0
	return c
}
