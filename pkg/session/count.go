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
	"nqueens/pkg/count"
	"nqueens/pkg/humanize"
	"nqueens/pkg/kernel"
	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/report"
	"nqueens/pkg/split"
	"nqueens/pkg/worker"
)

// counting is one count of a session: what its goroutines share. The goroutine that begins the
// coordinator owns last and end; others read them after it has ended.
type counting struct {
	*Session
	group *errgroup.Group
	// ctx ends when the count is interrupted or fails. searching ends then, too, and when the
	// coordinator has ended.
	ctx, searching context.Context
	last           queens.Snapshot // the last one
	end            core.End
}

// count runs the coordinator and the worker of this process until the run or ctx ends, or the
// coordinator or the worker fails. It returns the last snapshot.
func (s *Session) count(ctx context.Context) (last queens.Snapshot, err error) {
	last = s.stored(s.state)
	if s.server, err = s.connect(ctx); err != nil {
		return last, err
	}
	s.run.Publish(s.server.url, s.cfg.Flags)
	s.logStart()
	s.cfg.OnStart(s.name)
	c := &counting{Session: s, last: last}
	c.group, c.ctx = errgroup.WithContext(ctx)
	var stop context.CancelFunc
	c.searching, stop = context.WithCancel(c.ctx)
	defer stop()
	c.group.Go(func() error { return s.server.bus.Wait(c.searching) })
	c.group.Go(func() error { return s.server.watchUsers(c.searching) })
	c.group.Go(func() error {
		defer stop()
		return c.coordinate()
	})
	err = c.group.Wait()
	last = c.last
	end := queens.Stopped
	if errors.Is(err, ledger.ErrFailed) { // neither the last results nor the mark stopped are on disk
		end = queens.Interrupted
		if state, _, failed := s.cfg.Store.Load(s.name); failed == nil {
			last = s.stored(state)
		}
	}
	if !last.State.Ended() {
		last.State, last.Waits, last.Resume = end, nil, s.cfg.Resume(s.name)
	}
	s.cfg.OnSnapshot(&last)
	if err == nil && c.end.State == queens.Stopped {
		err = context.Cause(c.ctx)
	}
	return last, err
}

// coordinate waits for a server, and runs the coordinator and the worker of this process until the
// run or the context ends.
func (c *counting) coordinate() (err error) {
	err = c.awaitServer()
	if err != nil || c.ctx.Err() != nil { // the coordinator has not begun
		c.end.State = queens.Stopped
		return err
	}
	service, err := coordinator.Start(c.coordinatorConfig())
	if err != nil {
		return err
	}
	c.coordinator.Store(service)
	if c.cfg.Threads > 0 {
		c.group.Go(func() error {
			if err := c.tested(); err != nil {
				return err
			}
			return c.work(c.searching, service)
		})
	}
	c.end, err = service.Run(c.ctx)
	return err
}

// logStart logs what is counted where, and how workers join.
func (s *Session) logStart() {
	m := &s.state.Header().Manifest
	s.cfg.Log.Info().Str("run", s.name).Int("n", m.N).Str("method", string(m.Method)).Str("symmetry",
		string(m.Symmetry)).Uint64("tasks", m.Tasks).
		Uint64("done", s.earlier).Int("threads", s.cfg.Threads).Str("kernel", s.cfg.Kernel.Name).
		Str("server", s.server.name).Str(humanize.LogField, s.startLine(s.server.name)).Msg("counting")
	if why := s.cfg.HidesHardware; why != "" && s.state.Header().Redundancy > 1 {
		s.cfg.Log.Warn().Msg(why + ", so another one on this host would confirm its counts: " +
			"give all of them the name of the host with --machine")
	}
	if s.server.join == "" {
		return
	}
	text := "workers join with: " + s.server.join
	if s.server.embedded != nil && strings.HasPrefix(s.server.url, "tls://") {
		text += "; copy that file to other machines"
	}
	s.cfg.Log.Info().Str("join", s.server.join).Str(humanize.LogField, text).Msg("join")
}

// stored returns what the ledger says about a run on which this process does not work yet, or no
// longer.
func (s *Session) stored(state *ledger.State) queens.Snapshot {
	shot := state.Snapshot(split.WorkDone(&state.Header().Manifest, nil, state.DoneByClass()))
	shot.State = queens.Stopped
	return shot
}

// awaitServer waits until a server has accepted the connection, or the context ends. Meanwhile the
// snapshots say for what the run waits. The coordinator begins afterward: a resumed one must hear
// other coordinators first.
func (c *counting) awaitServer() error {
	if c.server.bus.Connected() {
		return nil
	}
	waits := queens.Wait{Reason: queens.NoServer, Since: time.Now()}
	connected := make(chan error, 1)
	go func() { connected <- c.server.bus.Await(c.ctx) }()
	ticks := time.NewTicker(time.Second)
	defer ticks.Stop()
	for {
		waits.Why = c.server.bus.Problem()
		c.last.State, c.last.At, c.last.Waits = queens.Running, time.Now(), new(waits)
		c.cfg.OnSnapshot(&c.last)
		select {
		case err := <-connected:
			c.last.State, c.last.Waits = queens.Stopped, nil
			return err
		case <-ticks.C:
		}
	}
}

// coordinatorConfig returns what the coordinator needs. Its OnSnapshot keeps the last snapshot.
func (c *counting) coordinatorConfig() coordinator.Config {
	s := c.Session
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
			defer report.Slow(s.cfg.Log, "auditing the ledger")()
			total, err := audit.Total(ctx, s.cfg.Store.Ledger(s.name))
			if errors.Is(err, queens.ErrIncomplete) {
				err = fmt.Errorf("the ledger lost results that were written: check the disk, then resume the "+
					"run: %w", err)
			}
			return total, err
		},
		OnSnapshot: func(snapshot *queens.Snapshot) {
			s.meter.Measure(snapshot)
			s.history.add(snapshot)
			snapshot.Join = s.server.join
			if w := snapshot.Waits; w != nil && w.Reason == queens.NoWorkers {
				w.Help = s.server.join
			}
			c.last = *snapshot
			if snapshot.State == queens.Running {
				s.cfg.OnSnapshot(snapshot)
			}
		},
	}
}

// work runs the worker of this process.
func (s *Session) work(ctx context.Context, c *coordinator.Coordinator) error {
	err := worker.New(worker.Config{
		Process: worker.NewProcess(queens.Machine{User: queens.CoordinatorUser, Name: s.cfg.Machine}),
		Host:    s.cfg.Host,
		Version: s.cfg.Version, Kernel: s.cfg.Kernel, Threads: s.cfg.Threads, AtOnce: true,
		Halves: s.cfg.Halves, Memory: count.NewMemory(s.cfg.Memory, s.cfg.Threads),
		SelfTest: func(context.Context) error { return nil }, // the caller has waited for it
		// warnings only: the coordinator logs what the worker does
		Log: s.cfg.Log.Level(max(s.cfg.Log.GetLevel(), 2)),
	}, c.Local()).Run(ctx)
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
