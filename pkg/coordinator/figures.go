package coordinator

import (
	"cmp"
	"errors"
	"math/big"
	"time"

	"nqueens/pkg/ledger"
	"nqueens/pkg/progress"
	"nqueens/pkg/run"
	"nqueens/pkg/split"
	"nqueens/pkg/symmetry"
)

// figures count, for progress and monitoring, what happens. No decision depends on them.
type figures struct {
	ledger      *ledger.Ledger
	meter       *progress.Meter
	bottlenecks progress.BottleneckMeter
	bottleneck  run.Bottleneck // of the run
	resumed     uint64         // tasks that were accepted before this coordinator began
	leases      int            // chunks that workers held at the last announcement
	waiting     int            // chunks that no worker held then

	published    uint64 // chunks
	chunkResults uint64
	results      run.ResultCounts
	refused      run.RefusedResults
	recording    time.Duration // spent on recording results in the ledger
}

// restart starts measuring rates from what is done now.
func (c *core) restart(now time.Time) {
	o := c.observation(now)
	c.figures.meter = progress.NewMeter(c.manifest.Tasks, &o, progress.ThreadSpeed(c.ledger.History()))
}

// observation returns how far the run is now.
func (c *core) observation(now time.Time) progress.Observation {
	return progress.Observation{
		At: now, Elapsed: c.wall(now), Done: c.agreement.Done(), WorkDone: c.workDone(), Solutions: c.figures.solutions(),
		Threads: c.cfg.Roster.Present().Threads,
	}
}

// solutions returns about how many solutions the accepted results have.
func (f *figures) solutions() *big.Int {
	sums := symmetry.Sums(f.ledger.Figures().Solutions())
	return sums.Total()
}

// judged counts a result by the ledger's verdict. Unasked says that nobody had asked for it.
func (f *figures) judged(v ledger.Verdict, unasked bool) {
	if v == ledger.Confirmed && unasked {
		v = ledger.Duplicate
	}
	switch v {
	case ledger.Accepted:
		f.results.Accepted++
	case ledger.Confirmed:
		f.results.Confirmed++
	case ledger.Duplicate:
		f.results.Duplicate++
	case ledger.Conflict:
		f.results.Disputed++
	case ledger.Settled:
		f.results.Settled++
	case ledger.Refused:
		f.refused.QuarantinedKey++
	}
}

// rejected counts a result by the reason why it is not recorded.
func (f *figures) rejected(reason error) {
	switch {
	case errors.Is(reason, errUnknownTask):
		f.refused.UnknownTask++
	case errors.Is(reason, errHashMismatch):
		f.refused.WrongHash++
	case errors.Is(reason, errOtherManifest):
		f.refused.OtherManifest++
	case errors.Is(reason, errQuarantined):
		f.refused.QuarantinedKey++
	}
}

// workDone returns the share of the run's estimated work on which enough voters agree.
func (c *core) workDone() float64 {
	return split.WorkDone(&c.manifest, c.shares, c.agreement.DoneOf())
}

// measure returns the facts of the run now, and notes in the ledger how the run goes.
func (c *core) measure(now time.Time) run.Snapshot {
	m, f, roster := &c.manifest, &c.figures, c.cfg.Roster
	fleet := roster.Present()
	o := c.observation(now)
	s := f.meter.Measure(&o)
	s.Run, s.N, s.Symmetry, s.Placed, s.State = c.run, m.N, m.Symmetry, m.Placed, run.Running
	s.Workers, s.PausedWorkers, s.Threads, s.IdleThreads, s.WorkerList = fleet.Workers, fleet.Paused, fleet.Threads, fleet.Idle, roster.Workers()
	s.Sharing, s.Bottleneck = roster.Others(c.run), f.bottleneck
	s.States, s.NeededThreads = c.taskStates(), c.demand(&o).NeededThreads()
	s.Republished, s.Disputes, s.Quarantined = c.flight.Republished(), c.ledger.Disputed(), len(c.ledger.Quarantined())
	s.QueuedChunks, s.HeldChunks, s.WindowChunks, s.WindowBytes = f.waiting, f.leases, c.flight.Chunks(), c.flight.Bytes()
	s.PublishedChunks, s.ChunkResults, s.Results, s.Refused = f.published, f.chunkResults, f.results, f.refused
	c.ledger.SetWall(o.Elapsed)
	c.ledger.History().Observe(o.Elapsed, &s)
	return s
}

// demand returns what is left of the run. What the searches so far took says what the others will.
func (c *core) demand(o *progress.Observation) *progress.Demand {
	target := cmp.Or(c.cfg.FinishIn, progress.DefaultTarget)
	d := &progress.Demand{
		Tasks: c.manifest.Tasks - o.Done, Threads: o.Threads, AllPublished: c.flight.AllPublished(), Target: target, Until: target - o.Elapsed,
	}
	if o.WorkDone > 0 {
		const longest = 1e9 // seconds
		spent := c.ledger.Figures().CoreTime().Seconds() * float64(c.trust.Redundancy)
		d.Left = time.Duration(min(spent*(1-o.WorkDone)/o.WorkDone, longest) * float64(time.Second))
	}
	return d
}

// meanRate returns the solutions a second over the whole run.
func (c *core) meanRate() float64 {
	found, _ := new(big.Float).SetInt(c.figures.solutions()).Float64()
	return found / max(c.ledger.Wall().Seconds(), 1e-3)
}

// unreadAfter is how long after the last time at which all results were read some count as unread:
// the reader looks every two seconds.
const unreadAfter = 15 * time.Second

// measureBottleneck measures what limits the speed of the run. Full says that results wait to be
// taken.
func (c *core) measureBottleneck(now time.Time, full bool) {
	fleet := c.cfg.Roster.Present()
	c.figures.bottleneck = c.figures.bottlenecks.Measure(progress.Load{
		Threads: fleet.Threads, Idle: fleet.Idle,
		Waiting:      c.figures.waiting,
		AllPublished: c.flight.AllPublished(),
		Full:         c.flight.IsFull(),
		Unread:       c.reconciled && now.Sub(c.caughtUp) > unreadAfter || full,
	}, c.figures.recording)
}

// taskStates counts the tasks that are not done by state. A task that is counted for a spot check is done.
func (c *core) taskStates() run.TaskStates {
	disputes, _ := c.agreement.Disputes()
	s := run.TaskStates{Disputed: uint64(disputes)}
	for _, id := range c.flight.DeadLettered() {
		if !c.isOther(id) {
			s.DeadLettered++
		}
	}
	for _, tasks := range c.inFlight() {
		s.InFlight += uint64(tasks)
	}
	s.InFlight -= min(s.InFlight, s.DeadLettered)
	if others := c.agreement.Done() + s.InFlight + s.Disputed + s.DeadLettered; others < c.manifest.Tasks {
		s.Waiting = c.manifest.Tasks - others
	}
	return s
}

// inFlight returns the number of tasks in flight of each class that are neither counted for a spot check nor in a
// dispute.
func (c *core) inFlight() []int {
	classes := c.flight.InFlightByClass()
	for _, id := range c.agreement.Others() {
		if c.flight.IsInFlight(id) {
			classes[c.manifest.ClassOf(id)]--
		}
	}
	return classes
}

// maxThreads bounds the threads in an announcement: workers refuse one with more.
const maxThreads = 1 << 30

// announcement returns the next announcement: how much work waits, and which chunks of workers are obsolete.
func (c *core) announcement() run.Announcement {
	b := firstAnnouncement(c.cfg, c.run)
	b.Threads, b.Quarantined, b.Unadmitted = min(c.cfg.Roster.Present().Threads, maxThreads), c.quarantinedKeys(), c.trust.refusedKeys()
	held := c.cfg.Roster.Held(c.run, nil)
	b.Waiting = c.flight.Waiting(held)
	c.figures.leases, c.figures.waiting = len(held), b.Waiting
	for chunk, namedAt := range held {
		if c.reconciled && len(b.Obsolete) < run.MaxObsolete && c.flight.IsObsolete(chunk, namedAt) {
			b.Obsolete = append(b.Obsolete, chunk)
		}
	}
	return b
}

// firstAnnouncement returns the announcement of a coordinator that has not loaded its ledger yet.
func firstAnnouncement(cfg *Config, name string) run.Announcement {
	return run.Announcement{
		Run: name, Epoch: max(cfg.Epoch, 1), State: run.Running, Weight: cmp.Or(cfg.Priority, run.Normal).Weight(),
	}
}
