package ledger

import "nqueens/pkg/queens"

// Standing is what supports the accepted count of a task. It is zero for a task without one, but for Alone.
type Standing struct {
	Counted bool // The task has an accepted count.
	// Voters is the number of admitted keys that agree with the count.
	Voters int
	// Recounted says that the coordinator has counted the task too, and agrees with a worker; Refereed,
	// that it has counted the task as referee.
	Recounted, Refereed bool
	// Alone says that the coordinator's own count is enough, see [Ledger.SetAlone].
	Alone bool
}

// Standing returns what supports the accepted count of a task, from memory. It is zero for a task that
// the run does not have.
func (l *Ledger) Standing(task uint64) Standing {
	if task >= l.header.Manifest.Tasks {
		return Standing{}
	}
	s := l.support[task]
	return Standing{
		Counted: s != 0, Voters: int(s & maxVoters), Recounted: isRecounted(s), Refereed: s&refereed != 0, Alone: l.alone[task],
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
