package ledger

import (
	"slices"

	"nqueens/pkg/run"
)

// Standing returns what supports the accepted count of a task, from memory. It is zero for a task without one, and for
// one that the run does not have.
func (l *Ledger) Standing(task uint64) run.Standing {
	if task >= l.header.Manifest.Tasks {
		return run.Standing{}
	}
	s := l.support[task]
	_, alone := slices.BinarySearch(l.progress.Alone, task)
	return run.Standing{
		Counted: s != 0, Voters: int(s & maxVoters), Own: isRecounted(s) || s&refereed != 0, Alone: alone && s&refereed != 0,
	}
}

// HasConfirmations reports whether the file has other results that agree with the accepted one of a task.
func (l *Ledger) HasConfirmations(task uint64) bool {
	return task < l.header.Manifest.Tasks && l.support[task]&confirmed != 0
}

// The bits of a task's support, a byte: whether the task has an accepted count, and whether other results agree
// with it; whether the coordinator agrees with it, and whether it does so as referee. The low bits are the number of
// admitted keys that agree with it. A task without an accepted count has the support 0.
const (
	refereed  = 1 << 7
	own       = 1 << 6
	confirmed = 1 << 5
	counted   = 1 << 4
	maxVoters = counted - 1
)

func isRecounted(support uint8) bool { return support&own != 0 && support&confirmed != 0 }

// supportOf returns the support of a count among the results of a task: 0 if none has it.
func supportOf(all []stored, count uint64) (support uint8) {
	agreeing, voters := 0, 0
	for i := range all {
		r := &all[i]
		if r.revoked || r.Count != count {
			continue
		}
		support |= counted
		if agreeing++; agreeing > 1 {
			support |= confirmed
		}
		switch {
		case r.Worker == run.Referee:
			support |= own | refereed
		case r.IsOwn():
			support |= own
		case r.Admitted:
			voters++
		}
	}
	return support | uint8(min(voters, maxVoters))
}
