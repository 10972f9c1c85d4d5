package session

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"nqueens/pkg/audit"
	"nqueens/pkg/bus"
	"nqueens/pkg/coordinator"
	"nqueens/pkg/coordinator/core"
	"nqueens/pkg/humanize"
	"nqueens/pkg/kernel"
	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/split"
	"nqueens/pkg/worker"
)

// count runs the coordinator and the worker of this process until the run or ctx ends, or the
// coordinator or the worker fails. It returns the last snapshot.
func (s *Session) count(ctx context.Context) (last queens.Snapshot, err error) {
	last = s.stored(s.state)
	if s.server, err = s.connect(); err != nil {
		return last, err
	}
	s.run.Publish(s.server.url, s.cfg.Flags)
	m := &s.state.Header().Manifest
	s.cfg.Log.Info().Str("run", s.name).Int("n", m.N).Str("method", string(m.Method)).Str("symmetry",
		string(m.Symmetry)).Uint64("tasks", m.Tasks).
		Uint64("done", s.earlier).Int("threads", s.cfg.Threads).Str("kernel", s.cfg.Kernel.Name).
		Str("server", s.server.name).Str(humanize.LogField, s.startLine(s.server.name)).Msg("counting")
	if s.server.join != "" {
		text := "workers join with: " + s.server.join
		if s.server.embedded != nil && strings.HasPrefix(s.server.url, "tls://") {
			text += "; copy that file to other machines"
		}
		s.cfg.Log.Info().Str("join", s.server.join).Str(humanize.LogField, text).Msg("join")
	}
	s.cfg.OnStart(s.name)
	group, ctx := errgroup.WithContext(ctx)
	counting, stop := context.WithCancel(ctx)
	defer stop()
	group.Go(func() error { return s.server.bus.Wait(counting) })
	group.Go(func() error { return s.server.watchUsers(counting) })
	var end core.End
	group.Go(func() (err error) {
		defer stop()
		err = s.awaitServer(ctx, &last)
		if err != nil || ctx.Err() != nil { // the coordinator has not begun
			end.State = queens.Stopped
			return err
		}
		if s.coordinator, err = coordinator.Start(s.coordinatorConfig(&last)); err != nil {
			return err
		}
		listens := make(chan struct{})
		if s.cfg.Threads > 0 {
			group.Go(func() error {
				if err := s.tested(); err != nil {
					return err
				}
				return s.work(counting, func() { close(listens) })
			})
			select {
			case <-listens: // so the worker of this process hears the first announcement
			case <-ctx.Done():
			}
		}
		end, err = s.coordinator.Run(ctx)
		return err
	})
	err = group.Wait()
	if errors.Is(err, ledger.ErrFailed) { // the last snapshot has results that are not on disk
		if state, _, failed := s.cfg.Store.Load(s.name); failed == nil {
			last = s.stored(state)
		}
	}
	if !last.State.Ended() {
		last.State, last.Waits, last.Resume = queens.Stopped, nil, s.cfg.Resume(s.name)
	}
	s.cfg.OnSnapshot(&last)
	if err == nil && end.State == queens.Stopped {
		err = context.Cause(ctx)
	}
	return last, err
}

// stored returns what the ledger says about a run on which this process does not work yet, or no
// longer.
func (s *Session) stored(state *ledger.State) queens.Snapshot {
	shot := state.Snapshot(split.WorkDone(&state.Header().Manifest, nil, state.DoneByClass()))
	shot.State = queens.Stopped
	return shot
}

// awaitServer waits until a server has accepted the connection, or ctx ends. Meanwhile the
// snapshots say for what the run waits. The coordinator begins afterward: a resumed one must hear
// other coordinators first.
func (s *Session) awaitServer(ctx context.Context, last *queens.Snapshot) error {
	if s.server.bus.Connected() {
		return nil
	}
	waits := queens.Wait{Reason: queens.NoServer, Since: time.Now()}
	connected := make(chan error, 1)
	go func() { connected <- s.server.bus.Await(ctx) }()
	ticks := time.NewTicker(time.Second)
	defer ticks.Stop()
	for {
		waits.Why = s.server.bus.Problem()
		last.State, last.At, last.Waits = queens.Running, time.Now(), new(waits)
		s.cfg.OnSnapshot(last)
		select {
		case err := <-connected:
			last.State, last.Waits = queens.Stopped, nil
			return err
		case <-ticks.C:
		}
	}
}

// coordinatorConfig returns what the coordinator needs. Its OnSnapshot also stores each snapshot in
// *last.
func (s *Session) coordinatorConfig(last *queens.Snapshot) coordinator.Config {
	m := &s.state.Header().Manifest
	taskBytes := make([]int, len(m.Classes))
	for class := range taskBytes {
		taskBytes[class] = bus.EncodedChunkBytes(1, s.index.TaskPrefixes(class))
	}
	var kernels []string
	for _, k := range kernel.Available() {
		kernels = append(kernels, k.Name)
	}
	return coordinator.Config{
		Log: s.run, State: s.state, Index: s.index, Wire: s.server.bus, Recount: s.cfg.Recount,
		Logger: s.cfg.Log,
		Options: core.Options{
			Instance: 1 + rand.Uint64N(1<<63), Version: s.cfg.Version, Alone: s.server.alone,
			Machine: s.cfg.Machine,
			Kernels: kernels, Shares: split.Shares(m), TaskBytes: taskBytes,
		},
		Total: func(ctx context.Context) (*big.Int, error) {
			total, err := audit.Total(ctx, s.cfg.Store.Ledger(s.name))
			if errors.Is(err, queens.ErrIncomplete) {
				err = fmt.Errorf("the ledger lost results that were written: check the disk, then resume the "+
					"run: %w", err)
			}
			return total, err
		},
		OnSnapshot: func(snapshot *queens.Snapshot) {
			s.meter.Measure(snapshot)
			s.addToHistory(snapshot)
			snapshot.Join = s.server.join
			if w := snapshot.Waits; w != nil && w.Reason == queens.NoWorkers {
				w.Help = s.server.join
			}
			*last = *snapshot
			if snapshot.State == queens.Running {
				s.cfg.OnSnapshot(snapshot)
			}
		},
	}
}

// work runs the worker of this process. It calls the function listens when the worker hears
// announcements.
func (s *Session) work(ctx context.Context, listens func()) error {
	err := worker.New(worker.Config{
		Process: worker.NewProcess(queens.Machine{User: queens.CoordinatorUser, Name: s.cfg.Machine}),
		Host:    s.cfg.Host,
		Version: s.cfg.Version, Kernel: s.cfg.Kernel, Threads: s.cfg.Threads, AtOnce: true,
		Halves: s.cfg.Halves, Memory: s.cfg.Memory,
		SelfTest: func(context.Context) error { return nil }, // the caller has waited for it
		// warnings only: the coordinator logs what the worker does
		Log: s.cfg.Log.Level(max(s.cfg.Log.GetLevel(), 2)),
	}, transport{s.coordinator.Local(), listens}).Run(ctx)
	// the count has ended or was interrupted before: this error changes nothing
	if err != nil && ctx.Err() != nil {
		s.cfg.Log.Warn().Err(err).Msg("the worker of this process ended with an error")
		return nil
	}
	if err == nil && ctx.Err() == nil {
		err = errors.New("the worker of this process has ended")
	}
	if err != nil {
		return fmt.Errorf("%w: %w", queens.ErrIncomplete, err)
	}
	return nil
}

// transport connects the worker of this process, and calls listens: see work.
type transport struct {
	*coordinator.Local
	listens func()
}

// Announcements subscribes as [coordinator.Local.Announcements] does.
func (t transport) Announcements(hear func(queens.Announcement)) (stop func(), err error) {
	stop, err = t.Local.Announcements(hear)
	t.listens()
	return stop, err
}
