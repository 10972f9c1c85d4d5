package session

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"

	"nqueens/pkg/bus"
	"nqueens/pkg/coordinator"
	"nqueens/pkg/count"
	"nqueens/pkg/keyring"
	"nqueens/pkg/progress"
	"nqueens/pkg/run"
	"nqueens/pkg/worker"
)

// runServices runs the coordinator, the workers of this process, and what serves them, until
// the coordinator ends or one of them fails.
func (s *Session) runServices(ctx context.Context, server *connection, claim *bus.Claim) (coordinator.Outcome, error) {
	roster := progress.NewRoster()
	service := s.newCoordinator(claim, roster, server.joinCommand())
	workers, own := s.newWorkers(roster)
	s.bus.Telemetry().OnDropped(roster.NoteDropped)
	// Before the first announcement: a worker that misses it is heard.
	unsubscribe, err := s.bus.Telemetry().SubscribeHeartbeats(func(h run.Heartbeat) {
		change := roster.ObserveHeartbeat(h)
		if change == progress.Joins || len(h.Held) == 0 && !h.Leaving {
			service.Greet()
		}
		if h.Key == s.identity.Key() && own[h.Worker] {
			return
		}
		if change == progress.Joins {
			s.log.Debug().Str("worker", h.Worker).Str("version", h.Version).Str("kernel", h.Kernel).Int("threads", h.Threads).Msg("worker joined")
		}
		s.fleet.observe(&h, change)
	})
	if err != nil {
		return coordinator.Outcome{}, err
	}
	defer unsubscribe()
	unsubscribe, err = s.bus.Telemetry().SubscribeAnnouncements(roster.ObserveAnnouncement)
	if err != nil {
		return coordinator.Outcome{}, err
	}
	defer unsubscribe()
	group, ctx := errgroup.WithContext(ctx)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if s.host != nil {
		s.host.SetDetail(service.Detail)
		measure := func() { s.metrics.SetSite(s.site(ctx)) }
		group.Go(func() error { return s.host.Failure(ctx) })
		group.Go(func() error {
			measure()
			return every(ctx, siteInterval, func() error { measure(); return nil })
		})
	}
	for _, w := range workers {
		group.Go(func() error {
			err := w.Run(ctx)
			if err != nil && ctx.Err() != nil { // the count ended first: its result stands
				s.log.Warn().Err(err).Msg("a worker of this process ended with an error")
				return nil
			}
			return err
		})
	}
	defer s.control.ServeLifts(service.Lift)()
	group.Go(func() error { return server.waitFailure(ctx) })
	if server.guard != nil {
		group.Go(func() error {
			return every(ctx, keyring.RefreshInterval, func() error { server.guard.Refresh(server.embedded, s.log); return nil })
		})
	}
	if s.admitter != nil {
		group.Go(func() error { return every(ctx, keyring.RefreshInterval, s.rereadAdmitted) })
	}
	group.Go(func() error { return every(ctx, publishInterval, s.publishLatest) })
	group.Go(func() error {
		if err := s.control.AwaitCancel(ctx); err != nil {
			return fmt.Errorf("%w on this machine", err)
		}
		return nil
	})
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

func (s *Session) newCoordinator(claim *bus.Claim, roster *progress.Roster, join string) *coordinator.Coordinator {
	m := s.ledger.Header().Manifest
	cfg := coordinator.Config{
		Known:          m.KnownTotal(),
		Roster:         roster,
		Epoch:          claim.Epoch(),
		Priority:       s.cfg.Priority,
		FinishIn:       s.cfg.FinishIn,
		CheckAfter:     coordinator.DefaultCheckAfter,
		RepublishAfter: coordinator.DefaultRepublishAfter,
		DisputeTimeout: coordinator.DefaultDisputeTimeout,
		Referee:        count.Again,
		Alone:          s.cfg.Alone,
		Check:          count.Again,
		CheckThreads:   cmp.Or(s.cfg.Workers, runtime.GOMAXPROCS(0)),
		Admits:         s.admits,
		OwnKeys:        []string{s.identity.Key()},
		Join:           join,
		OnComplete:     s.countUnique,
		OnSnapshot:     s.report,
		OnLost:         s.fleet.lose,
		ReportEvery:    coordinator.DefaultReportEvery,
		Log:            s.log,
	}
	if s.metrics != nil {
		cfg.OnSearch = s.metrics.ObserveSearch
		s.ledger.OnCommit(s.metrics.ObserveCommit)
	}
	return coordinator.New(cfg, s.bus.Tasks(), s.bus.Results(), s.bus.Telemetry(), claim, s.ledger)
}

// newWorkers returns the workers of this process, and the set of their names. It enters them
// in the roster, because their first heartbeats may get lost.
func (s *Session) newWorkers(roster *progress.Roster) (workers []*worker.Worker, names map[string]bool) {
	names = make(map[string]bool)
	counted := new(worker.CountedTasks) // they are one key
	for range s.cfg.Workers {
		name := worker.NewName()
		w := worker.New(worker.Config{
			Name:     name,
			Identity: s.identity,
			Counted:  counted,
			Version:  s.cfg.Version,
			Kernel:   s.cfg.Kernel,
			Threads:  1,
			Lease:    bus.DefaultLease,
			Log:      s.log,
		}, s.bus.Queue(), s.bus.Results(), s.bus.Telemetry())
		roster.ObserveHeartbeat(run.Heartbeat{
			Worker: name, Key: s.identity.Key(), Version: s.cfg.Version, Kernel: s.cfg.Kernel.Name, Threads: 1,
		})
		names[name] = true
		workers = append(workers, w)
	}
	return workers, names
}

const (
	// publishInterval is how often progress is published to other processes.
	publishInterval = time.Second
	// livenessTimeout is how long a live run may go without reporting progress: the audit of
	// a large run at its end reports none.
	livenessTimeout = 5 * time.Minute
)

// every calls f at each interval until ctx ends, and then returns nil, or until f fails.
func every(ctx context.Context, interval time.Duration, f func() error) error {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if ctx.Err() != nil { // both were ready
				return nil
			}
			if err := f(); err != nil {
				return err
			}
		}
	}
}

// report takes a snapshot from the coordinator.
func (s *Session) report(snapshot run.Snapshot) {
	s.lastReport.Store(time.Now().UnixNano())
	s.latest.Store(&snapshot)
	s.control.SetSnapshot(&snapshot)
	if s.host != nil {
		s.metrics.Update(&snapshot)
		s.host.Update(&snapshot)
	}
	s.cfg.OnSnapshot(snapshot)
	s.fleet.log(s.log, &snapshot)
}

// publishLatest publishes the latest snapshot.
func (s *Session) publishLatest() error {
	s.updateStatus()
	if p := s.latest.Load(); p != nil {
		s.publish(p)
	}
	return nil
}

// publish publishes a snapshot. It fails without a connection, which the bus logs; the next
// snapshot follows soon.
func (s *Session) publish(p *run.Snapshot) {
	if err := s.bus.Telemetry().PublishSnapshot(p); err != nil {
		s.log.Debug().Err(err).Msg("snapshot not published")
	}
}
