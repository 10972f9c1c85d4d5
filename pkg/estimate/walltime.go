package estimate

// Overhead of a count beside its searches, in seconds, measured on two machines with the command
// count and an embedded server.
const (
	// startStopSeconds is the time of the start and the end of the command, with its server.
	startStopSeconds = 0.07
	// prefixSeconds is the time to number and hash a prefix of a task: once before the first task is
	// published and once at the end. It is that of one core; all cores share the work.
	prefixSeconds = 2 * 0.13e-6
)

const (
	// runSpread is how much the time of the same search varies on the same machine, as a share.
	runSpread = 0.15
	// overheadSpread is the factor by which the overhead varies between machines.
	overheadSpread = 2
)

// wallTime returns the wall time of the command count with the given number of threads, which wait
// as those of the fleet do.
func wallTime(cost Cost, fleet *Fleet, threads int) Range {
	k := float64(threads)
	rest := fleet.Parts.Start + fleet.Parts.Planning
	core := cost.interval()
	least := max(fleet.Parts.Messages, fleet.Parts.Ledger) // however fast the searches are
	waiting := fleet.took - core.Mid/k
	return Range{
		Low:  rest/overheadSpread + max(core.Low/k, least/overheadSpread),
		Mid:  rest + core.Mid/k + waiting,
		High: rest*overheadSpread + core.High/k + 2*waiting,
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
