package coordinator

import (
	"context"
	"time"

	"nqueens/pkg/coordinator/agreement"
	"nqueens/pkg/coordinator/flight"
	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/split"
)

// core carries events between the ledger and the two state machines of a run: flight, which knows what is
// published and where it is, and agreement, which knows what must be counted again, and by whom. It starts
// no goroutine and reads no clock; of files it uses only the ledger's. One goroutine at a time may use it.
type core struct {
	cfg       *Config
	run       string
	manifest  queens.Manifest
	shares    []float64 // of the run's work, of one task of each class
	ledger    *ledger.Ledger
	index     *split.Index
	flight    *flight.Flight
	agreement *agreement.Agreement
	trust     trust
	figures   figures
	journal   journal

	own   []ownCount // what the coordinator is to count itself
	alone alone
	lifts []lift // that wait until everything is revoked

	before  time.Duration // what coordinators before this one took
	started time.Time
	sweptAt time.Time
	// blockedSince is zero while the workers connected can do something.
	blockedSince time.Time
	caughtUp     time.Time          // all results that the server had at this time are recorded
	reconciled   bool               // so are those that it had at the start: tasks are published
	lastRead     run.StreamPosition // of the last result received
	greet        func()             // has an announcement published at once
}

// newCore returns the core of a run whose ledger is open. It takes up what the ledger holds: of 10^7 tasks
// in about a second.
func newCore(ctx context.Context, now time.Time, cfg *Config, l *ledger.Ledger) (*core, error) {
	h := l.Header()
	c := &core{
		cfg: cfg, run: h.Run, manifest: h.Manifest, shares: split.Shares(&h.Manifest), ledger: l,
		trust: newTrust(cfg, l), alone: alone{failed: make(map[uint64]error)}, journal: newJournal(now), greet: func() {}, before: l.Wall(), started: now, lastRead: l.Position(),
	}
	var err error
	if c.index, err = split.NewIndex(ctx, &c.manifest); err != nil {
		return nil, err
	}
	newID := cfg.newID
	if newID == nil {
		newID = newChunkID
	}
	c.flight = flight.New(flight.Config{
		Manifest: &c.manifest, Parts: c.shares, CheckAfter: cfg.CheckAfter, RepublishAfter: cfg.RepublishAfter, NewID: newID,
	})
	c.agreement = agreement.New(c.agreementConfig())
	c.figures = figures{ledger: l, resumed: l.Len()}
	if err := c.load(ctx, now); err != nil {
		return nil, err
	}
	c.restart(now)
	return c, c.checkKnownTotal()
}

func (c *core) agreementConfig() agreement.Config {
	t := &c.trust
	a := agreement.Config{
		Manifest: &c.manifest, Redundancy: t.Redundancy, Share: t.SpotCheck.Share, Seed: t.Seed, Bounded: t.SpotCheck.Bounded,
		Referee: c.cfg.Referee != nil, Patience: c.cfg.DisputeTimeout,
	}
	if c.cfg.Check != nil {
		a.EndThreads = max(c.cfg.CheckThreads, 1)
		if a.CheckThreads = 1; !a.Bounded {
			a.CheckThreads = a.EndThreads
		}
	}
	return a
}

// load takes up what the ledger holds.
func (c *core) load(ctx context.Context, now time.Time) error {
	for id := range c.manifest.Tasks {
		if id%(1<<16) == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if s := c.ledger.Standing(id); s.Counted {
			c.agreement.Load(id, s, false)
		}
	}
	for _, id := range c.ledger.EarlyTasks(c.trust.isOwn) {
		c.agreement.Load(id, c.ledger.Standing(id), true)
	}
	for _, q := range c.ledger.Quarantined() {
		c.agreement.LoadQuarantine(q.Task)
	}
	for _, d := range c.ledger.Disputes() {
		c.agreement.LoadDispute(now, d.Task, c.ledger.Standing(d.Task), &d)
	}
	if c.trust.Redundancy > 1 {
		if err := c.loadLacking(now); err != nil {
			return err
		}
	}
	c.acquit(now)
	return c.carryOut(now)
}

// loadLacking takes up the tasks that too few voters have counted.
func (c *core) loadLacking(now time.Time) error {
	for id := range c.manifest.Tasks {
		if !c.ledger.Has(id) || c.agreement.State(id) != agreement.Open {
			continue
		}
		counts, err := c.ledger.Supporters(id)
		if err != nil {
			return err
		}
		c.agreement.LoadLacking(now, id, counts)
	}
	return nil
}

// isComplete reports whether enough voters agree on every task, no dispute is open, no spot check is due, and
// nothing is left to be revoked.
func (c *core) isComplete() bool { return c.agreement.IsComplete() && !c.ledger.IsRevoking() }

// advance does what is to be done between two events: it revokes some results, and plans chunks. It reports
// whether there is more to do.
func (c *core) advance(now time.Time) (more bool, err error) {
	if c.ledger.IsRevoking() {
		if err := c.revoke(now); err != nil {
			return false, err
		}
		more = c.ledger.IsRevoking()
	}
	if c.reconciled && c.agreement.Lacking() < agreement.MaxLacking { // before, the server may have results of the tasks to publish
		more = c.flight.Fill(c.agreement.Beside(), c.needsFirstCount) || more
	}
	return more, nil
}

// needsFirstCount reports whether a task has no accepted count.
func (c *core) needsFirstCount(id uint64) bool { return c.agreement.State(id) == agreement.Open }

// tick takes up that time has passed. It is called a few times a second.
func (c *core) tick(now time.Time) error {
	c.flight.Resize(max(c.cfg.Roster.Present().Threads, 1))
	c.observeVoters(now)
	c.agreement.Tick(now, c.wall(now), c.flight.LongestSearch(), c.ledger.IsRevoking())
	if err := c.carryOut(now); err != nil {
		return err
	}
	if now.Sub(c.sweptAt) < c.cfg.CheckAfter/sweeps {
		return nil
	}
	c.sweptAt = now
	return c.sweep(now)
}

// sweeps is the number of sweeps in [Config.CheckAfter].
const sweeps = 4

// wall returns how long the run has taken so far, with all its coordinators.
func (c *core) wall(now time.Time) time.Duration { return c.before + now.Sub(c.started) }

// observeVoters takes up which voters are connected.
func (c *core) observeVoters(now time.Time) {
	if c.trust.observe(c.cfg.Roster.Identities()) {
		c.agreement.Connected(now, c.trust.connected())
	}
}

// carryOut carries out the commands of agreement.
func (c *core) carryOut(now time.Time) error {
	for {
		commands := c.agreement.Commands()
		if len(commands) == 0 {
			return nil
		}
		c.journal.disputes(c, commands)
		for i := range commands {
			if err := c.carryOutOne(now, &commands[i]); err != nil {
				return err
			}
		}
	}
}

func (c *core) carryOutOne(now time.Time, o *agreement.Command) error {
	switch o.Op {
	case agreement.Settle:
		c.flight.Settled(now, o.Task)
	case agreement.Reopen:
		c.flight.Reopen(o.Task)
	case agreement.Again:
		c.flight.Again(o.Task, 1)
	case agreement.Referee:
		c.own = append(c.own, ownCount{kind: quickCount, task: o.Task, kernels: o.Kernels})
		if o.Unlimited {
			c.own[len(c.own)-1].kind = longCount
		}
	case agreement.Check:
		c.own = append(c.own, ownCount{kind: checkCount, task: o.Task, kernels: o.Kernels})
	case agreement.Look:
		counts, err := c.ledger.Supporters(o.Task)
		if err != nil {
			return err
		}
		c.agreement.Seen(o.Task, counts)
	case agreement.Quarantine:
		return c.quarantine(now, &o.Vote, o.Right)
	case agreement.Opened, agreement.Outvoted, agreement.Closed: // the journal has noted them
	}
	return nil
}
