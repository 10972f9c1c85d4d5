package fleettest

import (
	"context"
	"errors"
	"time"

	"nqueens/pkg/bus/bustest/memory"
	"nqueens/pkg/ledger"
	"nqueens/pkg/progress"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"

	service "nqueens/pkg/coordinator"
)

// coordinator is a process that has claimed the run, or tries to.
type coordinator struct {
	life   *life
	bus    *memory.Bus
	cancel context.CancelFunc
	gone   chan struct{} // closed when the process has ended
	folder string        // of its ledger; set when it has ended, or runs
	ledger *ledger.Ledger
}

// startCoordinator starts a coordinator with a ledger that open opens.
func (l *life) startCoordinator(open func(context.Context) (*ledger.Ledger, string, error)) *coordinator {
	ctx, cancel := context.WithCancel(context.Background())
	c := &coordinator{life: l, bus: l.server.Connect(), cancel: cancel, gone: make(chan struct{})}
	var err error
	c.ledger, c.folder, err = open(ctx)
	l.must(err)
	l.processes.Go(func() {
		defer close(c.gone)
		defer c.bus.Close()
		outcome, err := c.run(ctx)
		if failed := c.ledger.Close(); failed != nil {
			l.t.Errorf("a ledger is closed with the error %v", failed)
		}
		c.judge(ctx, &outcome, err)
	})
	return c
}

// judge fails the test if the outcome is wrong.
func (c *coordinator) judge(ctx context.Context, outcome *service.Outcome, err error) {
	l := c.life
	known, _ := queens.KnownTotal(l.board)
	switch {
	case err == nil && outcome.Total != nil && outcome.Total.Cmp(known) == 0:
		l.ended.Do(func() { close(l.total) })
	case err == nil:
		l.t.Errorf("the total is %v, want %v", outcome.Total, known)
	case ctx.Err() == nil && !errors.Is(err, run.ErrIncomplete):
		l.t.Errorf("a coordinator ends with the error %v", err)
	}
}

// kill ends the process at once, as far as others see: nothing that it does reaches the server any more.
func (c *coordinator) kill() {
	c.bus.Close()
	c.stop()
}

// stop ends the process as a person does.
func (c *coordinator) stop() {
	c.cancel()
	<-c.gone
}

// run claims the run and coordinates it, as a session does.
func (c *coordinator) run(ctx context.Context) (outcome service.Outcome, err error) {
	claim, err := c.claim(ctx)
	if err != nil {
		return outcome, err
	}
	if err := c.ledger.SetState(run.Running); err != nil {
		return outcome, err
	}
	roster := progress.NewRoster()
	s := service.New(c.config(roster, claim.Epoch()), c.bus.Tasks(), c.bus.Results(), c.bus.Telemetry(), claim, c.ledger)
	// A subscription fails only if the process is killed.
	_, _ = c.bus.Telemetry().SubscribeHeartbeats(func(h run.Heartbeat) {
		change := roster.ObserveHeartbeat(h)
		if change == progress.Joins || len(h.Held) == 0 && !h.Leaving {
			s.Greet()
		}
	})
	_, _ = c.bus.Telemetry().SubscribeAnnouncements(roster.ObserveAnnouncement)
	outcome, err = s.Run(ctx)
	c.finish(claim, err)
	return outcome, err
}

// claim claims the run, and tries again while the server fails.
func (c *coordinator) claim(ctx context.Context) (claim *memory.Claim, err error) {
	h := c.ledger.Header()
	for {
		if err = c.bus.Ensure(ctx, h.Run); err == nil {
			claim, err = c.bus.Registry().Claim(ctx, run.Record{
				Run: h.Run, Manifest: h.Manifest, Owner: "coordinator", Created: h.Created,
				Redundancy: c.life.trust.Redundancy, Done: c.ledger.Len(), Lost: c.ledger.Lost(),
			})
		}
		if err == nil {
			return claim, nil
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(time.Second):
		}
	}
}

func (c *coordinator) config(roster *progress.Roster, epoch uint64) service.Config {
	recount := func(ctx context.Context, task *queens.Task, _ ...string) (run.TaskCount, error) {
		return count(ctx, task)
	}
	return service.Config{
		Known: c.life.manifest.KnownTotal(), Roster: roster, Epoch: epoch,
		CheckAfter: service.DefaultCheckAfter, RepublishAfter: service.DefaultRepublishAfter,
		DisputeTimeout: service.DefaultDisputeTimeout, ReportEvery: service.DefaultReportEvery,
		Referee: recount, Check: recount, CheckThreads: 2, Alone: count,
		Admits:     func(_ string, admission []byte) (admitted, byToken bool) { return len(admission) > 0, true },
		OnSnapshot: func(run.Snapshot) {},
		Log:        c.life.logger().With().Uint64("epoch", epoch).Logger(),
	}
}

// finish tells others how the run ended, as a session does.
func (c *coordinator) finish(claim *memory.Claim, ended error) {
	state := run.Stopped
	if ended == nil {
		state = run.Complete
	}
	if err := c.ledger.SetState(state); err != nil {
		c.life.t.Errorf("the state of a ledger is set with the error %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := claim.Renew(ctx, state, c.ledger.Len(), c.ledger.Lost()); errors.Is(err, run.ErrIncomplete) {
		return // the other coordinator needs what is on the server
	}
	_ = c.bus.Telemetry().PublishAnnouncement(run.Announcement{Run: runName, Epoch: claim.Epoch(), State: state})
	_ = c.bus.Tasks().Purge(ctx, runName)
}
