package estimate

// What a count takes besides its searches, in seconds, as the command count was measured
// with an embedded server on two machines.
const (
	// startStopSeconds is the time of the start and the end of the command, with its server.
	startStopSeconds = 0.11
	// prefixSeconds is the time to number and hash a prefix of a task, which is done for all
	// of them before the first is sent and once more at the end.
	prefixSeconds = 2 * 0.3e-6
	// taskSeconds is the time that a worker does not search with each task: mostly the disk's,
	// for its result is stored before it takes another.
	taskSeconds = 1.2e-3
	// resultSeconds is the time that the coordinator takes for each task, however many
	// workers there are.
	resultSeconds = 0.15e-3
)

const (
	// runSpread is how much longer the same search may take on the same machine at another
	// time, or shorter: a share of its time.
	runSpread = 0.15
	// overheadSpread is how many times longer the rest may take, or shorter.
	overheadSpread = 1.6
	// longestTaskFactor is how many times longer than the mean the longest task is.
	longestTaskFactor = 1.3
)

// wallTime returns the time of the command count with so many workers.
func (s *taskSet) wallTime(cost Cost, workers int) Range {
	k, tasks := float64(workers), float64(s.number)
	rest := startStopSeconds + s.prefixes*prefixSeconds + tasks*taskSeconds/k
	longest := longestTaskFactor * s.longest // a share of all work, as is the next
	// When the last task is taken, the other workers are somewhere in theirs. The last of
	// complete to end does so k/(k+1) of a task's time later, where half of it would be even.
	uneven := longest * (k - 1) / (2 * (k + 1))
	search := func(core, tails float64) float64 {
		return max(core/k+core*uneven*tails, core*longest, tasks*resultSeconds)
	}
	core := cost.interval()
	return Range{
		Low:  rest/overheadSpread + search(core.Low, 0),
		Mid:  rest + search(core.Mid, 1),
		High: rest*overheadSpread + search(core.High, 2),
	}
}

// interval returns the range of the cost. At its low end nothing else runs on the machine,
// at its high end as much as during the sample.
func (c *Cost) interval() Range {
	spread := 1 + runSpread + 2*c.Error
	return Range{
		Low:  min(c.Seconds/spread, c.Seconds*c.CPUShare/(1+runSpread)),
		Mid:  c.Seconds,
		High: c.Seconds * spread,
	}
}
