package estimate

// Overhead of a count beside its searches, in seconds, measured on two machines with the command
// count and an embedded server.
const (
	// startStopSeconds is the time of the start and the end of the command, with its server.
	startStopSeconds = 0.11
	// prefixSeconds is the time to number and hash a prefix of a task: once before the first task is
	// published and once at the end.
	prefixSeconds = 2 * 0.3e-6
	// taskSeconds is the time around each task in which a worker does not search: mostly the disk's,
	// because the result is stored before the worker takes another task.
	taskSeconds = 1.2e-3
	// resultSeconds is the time that the coordinator needs for each task, for any number of workers.
	resultSeconds = 0.15e-3
)

const (
	// runSpread is how much the time of the same search varies on the same machine, as a share.
	runSpread = 0.15
	// overheadSpread is the factor by which the overhead varies between machines.
	overheadSpread = 1.6
	// longestTaskFactor is the ratio of the longest task to the mean task.
	longestTaskFactor = 1.3
)

// wallTime returns the wall time of the command count with the given number of workers.
func (s *taskSet) wallTime(cost Cost, workers int) Range {
	k, tasks := float64(workers), float64(s.number)
	rest := startStopSeconds + s.prefixes*prefixSeconds + tasks*taskSeconds/k
	longest := longestTaskFactor * s.longest // a share of all work, as is the next
	// When a worker takes the last task, the others are at random points of theirs. The last
	// worker ends k/(k+1) of a task's time later on average; an even distribution would give 1/2.
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

// interval returns the range of the cost. At its low end nothing else runs on the machine, at its high
// end as much as during the sample.
func (c *Cost) interval() Range {
	spread := 1 + runSpread + 2*c.Error
	return Range{
		Low:  min(c.Seconds/spread, c.Seconds*c.CPUShare/(1+runSpread)),
		Mid:  c.Seconds,
		High: c.Seconds * spread,
	}
}
