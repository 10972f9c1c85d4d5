package ledger

import (
	"math/big"

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
func (s voterSet) note(r *run.Result) {
	if before, known := s[r.Key]; r.Admitted {
		s[r.Key] = r.ByToken && (before || !known)
	}
}

// LacksVoters reports whether a task has an accepted count on which fewer admitted keys agree than
// [Trust.Redundancy] says. Without redundancy one count of any key is enough. So is the coordinator's own
// count of a task that no worker gets any more, see SetAlone.
func (l *Ledger) LacksVoters(task uint64) bool {
	if l.header.Trust.Redundancy == 1 {
		return false
	}
	s := l.Standing(task)
	return s.Counted && s.Voters < l.header.Trust.Redundancy && !s.Alone
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

// Confirmation returns what confirms a total that the accepted counts add up to, or these counts if the total is nil. It
// looks at every task, in memory.
func (l *Ledger) Confirmation(total *big.Int) run.Confirmation {
	c := run.Confirmation{Tasks: l.Len(), Missed: l.progress.Missed, Disputes: uint64(len(l.disputes))}
	c.Published = queens.Compare(l.header.Manifest.N, l.header.Manifest.Placed, total) == queens.Match
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
