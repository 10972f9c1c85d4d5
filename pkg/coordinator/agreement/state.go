package agreement

import (
	"fmt"
	"slices"
)

// State is where a task stands; see the package comment.
type State uint8

// The states of a task.
const (
	Open State = iota
	Lacking
	Asked
	Agreed
	Due
	CheckAsked
	CheckOwn
	Disputed
	Refereed
	VoteAsked
	Stuck
	states = iota
)

var stateNames = [states]string{
	"open", "lacking", "asked", "agreed", "due", "check-asked", "check-own", "disputed", "refereed", "vote-asked", "stuck",
}

// String returns the name that the package comment uses.
func (s State) String() string { return stateNames[s] }

// next has the states to which a task may move from each state. Counts that become void lead from any
// state to any that an empty or a full ledger gives: open, lacking, asked, agreed, due and disputed.
var next = [states][]State{
	Open:       {Lacking, Asked, Agreed, Due, CheckAsked, CheckOwn, Disputed},
	Lacking:    {Open, Asked, Agreed, Due, CheckAsked, CheckOwn, Disputed},
	Asked:      {Open, Lacking, Agreed, Due, CheckAsked, CheckOwn, Disputed},
	Agreed:     {Open, Lacking, Asked, Due, Disputed},
	Due:        {Open, Lacking, Asked, Agreed, CheckAsked, CheckOwn, Disputed},
	CheckAsked: {Open, Lacking, Asked, Agreed, Due, CheckOwn, Disputed},
	CheckOwn:   {Open, Lacking, Asked, Agreed, Due, Disputed},
	Disputed:   {Open, Lacking, Asked, Agreed, Due, Refereed, VoteAsked, Stuck},
	Refereed:   {Open, Lacking, Asked, Agreed, Due, Disputed},
	VoteAsked:  {Open, Asked, Agreed, Due, Disputed, Stuck},
	Stuck:      {Open, Lacking, Asked, Agreed, Due, VoteAsked},
}

// State returns the state of a task.
func (a *Agreement) State(id uint64) State {
	if t := a.tasks[id]; t != nil {
		return t.state
	}
	switch {
	case !a.done.has(id):
		return Open
	case a.checks.due.has(id):
		return Due
	}
	return Agreed
}

// get returns what is known of a task.
func (a *Agreement) get(id uint64) *task {
	if t := a.tasks[id]; t != nil {
		return t
	}
	return &task{id: id, state: a.State(id)}
}

// isKept reports whether a task in this state is kept in memory.
func (s State) isKept() bool { return s != Open && s != Agreed && s != Due }

// set moves a task to a state. It is the only function that does.
func (a *Agreement) set(t *task, to State) {
	from := t.state
	if from != to && !slices.Contains(next[from], to) {
		panic(fmt.Sprintf("task %d moves from %s to %s", t.id, from, to))
	}
	if a.tasks[t.id] == t {
		a.states[from]--
		delete(a.tasks, t.id)
	}
	t.state = to
	if to != Disputed {
		t.lane = noLane
	}
	if to.isKept() {
		a.tasks[t.id] = t
		a.states[to]++
	}
	if to == Lacking && !t.queued {
		t.queued = true
		a.lacking.push(t.id)
	}
}
