package agreement

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
