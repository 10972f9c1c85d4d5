package main

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"nqueens/pkg/bus"
	"nqueens/pkg/cli"
	"nqueens/pkg/coordinator"
	"nqueens/pkg/httpserver"
	"nqueens/pkg/progress"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/worker"
)

// execute runs the coordinator, and the workers of this process, to the end.
func (c *carriage) execute(ctx context.Context, server *connection, claim *bus.Claim) (coordinator.Outcome, error) {
	roster := progress.NewRoster()
	service, err := c.service(claim, roster)
	if err != nil {
		return coordinator.Outcome{}, err
	}
	workers, own, err := c.workers()
	if err != nil {
		return coordinator.Outcome{}, err
	}
	group, ctx := errgroup.WithContext(ctx)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if c.answers != nil {
		c.beat.Store(time.Now().UnixNano())
		c.app.Log.Info().Str("http", c.answers.Address()).Msg("answering " + httpserver.LivePath + " and " + httpserver.ReadyPath)
		group.Go(func() error { return c.answers.Serve(ctx) })
	}
	for name := range own { // whose first heartbeats nobody may hear yet
		roster.ObserveHeartbeat(run.Heartbeat{Worker: name, Version: cli.Version(), Kernel: c.kernel.Name, Threads: 1})
	}
	for _, w := range workers {
		group.Go(func() error { w.Run(ctx); return nil })
	}
	group.Go(func() error {
		return c.bus.Telemetry().WatchHeartbeats(ctx, func(h run.Heartbeat) {
			change := roster.ObserveHeartbeat(h)
			if !own[h.Worker] {
				logChange(c.app.Log, change, &h)
			}
		})
	})
	group.Go(func() error { return server.failure(ctx) })
	group.Go(func() error { return c.tell(ctx) })
	group.Go(func() error { return c.watchCancel(ctx) })
	var outcome coordinator.Outcome
	group.Go(func() error {
		defer stop()
		var err error
		outcome, err = service.Run(ctx)
		return err
	})
	err = group.Wait()
	return outcome, err
}

func (c *carriage) service(claim *bus.Claim, roster *progress.Roster) (*coordinator.Coordinator, error) {
	m := c.ledger.Header().Manifest
	return coordinator.New(coordinator.Config{
		Known:          m.KnownTotal(),
		Roster:         roster,
		CheckAfter:     coordinator.DefaultCheckAfter,
		RepublishAfter: coordinator.DefaultRepublishAfter,
		DisputeTimeout: coordinator.DefaultDisputeTimeout,
		OnComplete:     c.countUnique,
		OnProgress:     c.report,
		ReportEvery:    coordinator.DefaultReportEvery,
		Log:            c.app.Log,
	}, c.bus.Tasks(), c.bus.Results(), claim, c.ledger)
}

// workers returns those of this process, and their names.
func (c *carriage) workers() (workers []*worker.Worker, names map[string]bool, err error) {
	names = make(map[string]bool)
	for range c.options.workers {
		name := worker.NewName()
		w, err := worker.New(worker.Config{
			Name:    name,
			Version: cli.Version(),
			Kernel:  c.kernel,
			Threads: 1,
			Lease:   bus.DefaultLease,
			Log:     c.app.Log,
		}, c.bus.Queue(), c.bus.Results(), c.bus.Telemetry())
		if err != nil {
			return nil, nil, err
		}
		names[name] = true
		workers = append(workers, w)
	}
	return workers, names, nil
}

// listen takes the address on which to answer for the health of the run, if that is
// asked for. Nobody is answered before the run is executed.
func (c *carriage) listen() (err error) {
	if c.options.http != "" {
		c.answers, err = httpserver.Listen(c.options.http, httpserver.Checks{Live: c.live, Ready: func() error { return c.bus.Connected() }})
	}
	return err
}

func (c *carriage) report(s run.Progress) {
	c.beat.Store(time.Now().UnixNano())
	c.show.show(s)
}

// tellEvery is how often those who watch from elsewhere are told how far the run is.
const tellEvery = time.Second

// tell tells them until ctx ends.
func (c *carriage) tell(ctx context.Context) error {
	tick := time.NewTicker(tellEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			c.show.setDisconnected(c.bus.Connected() != nil)
			if now := c.show.latest.Load(); now != nil {
				c.publish(now)
			}
		}
	}
}

// publish tells those who watch. That fails where there is no connection, which others
// say: the next snapshot comes soon.
func (c *carriage) publish(s *run.Progress) {
	if err := c.bus.Telemetry().PublishProgress(*s); err != nil {
		c.app.Log.Debug().Err(err).Msg("progress not published")
	}
}

// deadAfter is how long a run may not report before it is held to be stuck. It does not
// report while it goes through all tasks of a large run at the end.
const deadAfter = 5 * time.Minute

// live returns nil while the run gets on.
func (c *carriage) live() error {
	if silent := time.Since(time.Unix(0, c.beat.Load())); silent > deadAfter {
		return fmt.Errorf("the run has not reported for %v", silent.Round(time.Second))
	}
	return nil
}

// lookForCancel is how often to look whether somebody has cancelled the run.
const lookForCancel = time.Second

// watchCancel ends with an error when the run is cancelled by its file.
func (c *carriage) watchCancel(ctx context.Context) error {
	name := c.ledger.Header().Run
	tick := time.NewTicker(lookForCancel)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if c.store.CancelRequested(name) {
				return fmt.Errorf("%w, by coordinator cancel: coordinator count begins another", queens.ErrCancelled)
			}
		}
	}
}
