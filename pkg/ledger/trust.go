package ledger

import (
	"maps"
	"slices"

	"go.etcd.io/bbolt"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// Trust is how a run checks its counts. It survives restarts: the same tasks are checked again.
type Trust struct {
	// Redundancy is how many voters have to agree on a task, from 1.
	Redundancy int `json:"redundancy"`
	// SpotCheck is the share of the tasks that are checked, 0 to 1.
	SpotCheck float64 `json:"spotCheck"`
	// Thorough says that the coordinator makes every check itself that no other voter makes, however
	// long that takes: somebody asked for the share. Otherwise its time for that is bounded.
	Thorough bool `json:"thorough,omitempty"`
	// Seed chooses the tasks that are checked. It is secret until the run has ended.
	Seed [32]byte `json:"seed"`
}

// trustKey is the key of the settings in progressBucket; a ledger of [Create] lacks it.
var trustKey = []byte("trust")

// Trust returns what [CreateWithTrust] or [Ledger.SetTrust] stored last, and whether anything was.
func (l *Ledger) Trust() (Trust, bool) {
	if l.trust == nil {
		return Trust{}, false
	}
	return *l.trust, true
}

// SetTrust stores how the run checks its counts. It is on disk when SetTrust returns nil. Errors
// are those of [Ledger.Accept].
func (l *Ledger) SetTrust(t Trust) error {
	err := l.update(func(tx *bbolt.Tx) error { return putJSON(tx, progressBucket, trustKey, t) })
	if err == nil {
		l.trust = &t
	}
	return err
}

func (l *Ledger) loadTrust(tx *bbolt.Tx) error {
	if tx.Bucket(progressBucket).Get(trustKey) == nil {
		return nil
	}
	l.trust = new(Trust)
	return getJSON(tx, progressBucket, trustKey, l.trust)
}

// quorum returns how many admitted keys settle a dispute.
func (l *Ledger) quorum() int {
	if l.trust == nil {
		return 2
	}
	return max(l.trust.Redundancy, 2)
}

// Support of a task, a byte: whether it has an accepted count, and others that agree; whether the
// coordinator agrees with it, and whether it does so as referee; and the number of admitted keys that agree
// with it. 0 is a task without an accepted count.
const (
	refereed  = 1 << 7
	own       = 1 << 6
	confirmed = 1 << 5
	counted   = 1 << 4
	maxVoters = counted - 1
)

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

// supportOf returns the support of results that agree, each of another voter: 0 if there are none.
func supportOf(agreeing []queens.Result) uint8 {
	if len(agreeing) == 0 {
		return 0
	}
	voters, support := 0, uint8(counted)
	for i := range agreeing {
		switch r := &agreeing[i]; {
		case r.Worker == queens.Referee:
			support |= own | refereed
		case r.IsOwn():
			support |= own
		case r.Admitted:
			voters++
		}
	}
	if len(agreeing) > 1 {
		support |= confirmed
	}
	return support | uint8(min(voters, maxVoters))
}

// setSupport notes what supports the accepted result of a task.
func (l *Ledger) setSupport(task uint64, support uint8) {
	switch had := l.support[task] != 0; {
	case support != 0 && !had:
		l.accepted.set(task)
	case support == 0 && had:
		l.accepted.remove(task)
	}
	l.support[task] = support
}

// Voters returns the number of admitted keys that agree with the accepted count of a task; 0 if it
// has none.
func (l *Ledger) Voters(task uint64) int {
	if task >= l.header.Manifest.Tasks {
		return 0
	}
	return int(l.support[task] & maxVoters)
}

// IsRefereed reports whether the accepted count of a task is that of the coordinator as referee.
func (l *Ledger) IsRefereed(task uint64) bool {
	return task < l.header.Manifest.Tasks && l.support[task]&refereed != 0
}

// IsRecounted reports whether the accepted count of a task was counted again by the coordinator.
func (l *Ledger) IsRecounted(task uint64) bool {
	return task < l.header.Manifest.Tasks && isRecounted(l.support[task])
}

func isRecounted(support uint8) bool { return support&own != 0 && support&confirmed != 0 }

// HasConfirmations reports whether the file has other results that agree with the accepted one of a task.
func (l *Ledger) HasConfirmations(task uint64) bool {
	return task < l.header.Manifest.Tasks && l.support[task]&confirmed != 0
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
	if tx.Bucket(progressBucket).Get(aloneKey) == nil {
		return nil
	}
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
	return l.Has(task) && l.trust != nil && l.trust.Redundancy > 1 && l.Voters(task) < l.trust.Redundancy &&
		!(l.IsRefereed(task) && l.alone[task])
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

func (l *Ledger) loadMissed(tx *bbolt.Tx) error {
	if tx.Bucket(progressBucket).Get(missedKey) == nil {
		return nil
	}
	return getJSON(tx, progressBucket, missedKey, &l.missed)
}

// Confirmation returns what confirms the accepted counts, but not whether their total is the published
// one. It looks at every task, in memory.
func (l *Ledger) Confirmation() run.Confirmation {
	c := run.Confirmation{Tasks: l.Len(), Missed: l.missed, Disagreements: uint64(len(l.disputes))}
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
	c.Sampled = c.Checked > 0 && c.Missed == 0 && l.trust != nil && l.trust.SpotCheck > 0
	return c
}
