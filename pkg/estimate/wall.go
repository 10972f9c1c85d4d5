package estimate

// What a count takes besides its searches, in seconds, as the command count was measured
// with an embedded server on two machines.
const (
	// startStop is the time of the start and the end of the command, with its server.
	startStop = 0.11
	// perPrefix is the time to number and hash a prefix of a task, which is done for all
	// of them before the first is sent and once more at the end.
	perPrefix = 2 * 0.3e-6
	// perTask is the time that a worker does not search with each task: mostly the disk's,
	// for its result is stored before it takes another.
	perTask = 1.2e-3
	// perResult is the time that the coordinator takes for each task, however many
	// workers there are.
	perResult = 0.15e-3
)

const (
	// noise is how much longer the same search may take on the same machine at another
	// time, or shorter: a share of its time.
	noise = 0.15
	// otherDisk is how many times longer the rest may take, or shorter.
	otherDisk = 1.6
	// unlike is how many times longer than the mean the longest task is.
	unlike = 1.3
)

// wall returns the time of the command count with so many workers.
func (s *taskSet) wall(cost Cost, workers int) Range {
	k, tasks := float64(workers), float64(s.number)
	rest := startStop + s.prefixes*perPrefix + tasks*perTask/k
	longest := unlike * s.longest // a share of all work, as is the next
	// When the last task is taken, the other workers are somewhere in theirs. The last of
	// all to end does so k/(k+1) of a task's time later, where half of it would be even.
	uneven := longest * (k - 1) / (2 * (k + 1))
	search := func(core, tails float64) float64 {
		return max(core/k+core*uneven*tails, core*longest, tasks*perResult)
	}
	core := cost.between()
	return Range{
		Low:  rest/otherDisk + search(core.Low, 0),
		Mid:  rest + search(core.Mid, 1),
		High: rest*otherDisk + search(core.High, 2),
	}
}

// between returns the range of the cost. At its low end nothing else runs on the machine,
// at its high end as much as during the sample.
func (c *Cost) between() Range {
	spread := 1 + noise + 2*c.Error
	return Range{
		Low:  min(c.Seconds/spread, c.Seconds*c.Ran/(1+noise)),
		Mid:  c.Seconds,
		High: c.Seconds * spread,
	}
}
