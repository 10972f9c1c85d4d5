package ledger

import (
	"go.etcd.io/bbolt"

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

// Support of a task: the number of voters that agree with its accepted count, 0 if it has none,
// and whether the coordinator's reference kernel is among them.
const (
	refereed  = 1 << 7
	maxVoters = refereed - 1
)

// setSupport notes what stands behind the accepted result of a task.
func (l *Ledger) setSupport(task uint64, support uint8) {
	switch had := l.support[task] != 0; {
	case support != 0 && !had:
		l.accepted.set(task)
	case support == 0 && had:
		l.accepted.remove(task)
	}
	l.support[task] = support
}

// Confirmations returns the number of voters that agree with the accepted count of a task; 0 if
// it has none.
func (l *Ledger) Confirmations(task uint64) int {
	if task >= l.header.Manifest.Tasks {
		return 0
	}
	return int(l.support[task] &^ refereed)
}

// IsRefereed reports whether the coordinator has counted a task by its reference kernel and that
// count is accepted: more voters would say no more.
func (l *Ledger) IsRefereed(task uint64) bool {
	return task < l.header.Manifest.Tasks && l.support[task]&refereed != 0
}

// DoneByClass returns how many tasks of each class are done: as many voters agree on them as
// [Trust.Redundancy] says, or the coordinator's reference kernel has counted them. It looks at every
// task, in memory.
func (l *Ledger) DoneByClass() []uint64 {
	t, _ := l.Trust()
	need := max(t.Redundancy, 1)
	done := make([]uint64, len(l.header.Manifest.Classes))
	for task, support := range l.support {
		if int(support&^refereed) >= need || support&refereed != 0 {
			done[l.header.Manifest.ClassOf(uint64(task))]++
		}
	}
	return done
}

// Confirmation returns what stands behind the accepted counts, but not whether their total is
// the published one. It looks at every task, in memory. If the coordinator's reference kernel
// counted all of them, the redundancy is 2; if there are none, it is 0.
func (l *Ledger) Confirmation() run.Confirmation {
	c := run.Confirmation{Tasks: l.Len(), Disagreements: uint64(len(l.disputes))}
	least := uint8(maxVoters)
	for _, support := range l.support {
		if support < refereed {
			least = min(least, support)
		}
		if support >= 2 {
			c.Checked++
		}
	}
	switch c.Redundancy = int(least); {
	case len(l.support) == 0:
		c.Redundancy = 0
	case least == maxVoters:
		c.Redundancy = 2
	}
	return c
}
