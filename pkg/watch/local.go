package watch

import (
	"context"
	"fmt"
	"os"
	"time"

	"nqueens/pkg/audit"
	"nqueens/pkg/ledger"
	"nqueens/pkg/run"
	"nqueens/pkg/runstore"
)

// FollowLocal presents a run of this machine until it ends, and returns its last snapshot as [Follow] does. It asks
// the process that works on the run at its socket; while none does, it reads the ledger. It audits the ledger of a
// complete run before it presents the total. Of cfg it uses Run and the functions.
func FollowLocal(ctx context.Context, store *runstore.Store, cfg Config) (run.Snapshot, error) {
	f := localFollower{Config: cfg, store: store}
	f.OnWatching()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		if ended, err := f.poll(ctx); ended || err != nil {
			return f.latest, err
		}
		select {
		case <-ctx.Done():
			return f.latest, context.Cause(ctx)
		case <-tick.C:
		}
	}
}

type localFollower struct {
	Config
	store    *runstore.Store
	latest   run.Snapshot // of no run before the first
	stopped  time.Time    // when the ledger of a stopped run was written; zero while a process works on it
	silentAt time.Time    // when its process did not answer for the first time; zero while it answers
}

// poll presents what there is to know of the run now. It reports whether the run has ended.
func (f *localFollower) poll(ctx context.Context) (ended bool, err error) {
	file, err := os.Stat(f.store.Ledger(f.Run))
	if err != nil {
		return false, f.store.NoRun(f.Run)
	}
	if file.ModTime().Equal(f.stopped) {
		return false, nil // a process that resumes the run writes the ledger
	}
	i := f.store.Inspect(f.Run)
	f.stopped = time.Time{}
	switch {
	case i.Err != nil:
		return false, fmt.Errorf("run %s: %w", f.Run, i.Err)
	case i.Locked != nil:
		return false, f.showActive(&i)
	case i.State == run.Complete:
		return true, f.showTotal(ctx, &i)
	case i.State.Finished():
		f.latest = i.Snapshot
		return true, failure(&i.Snapshot)
	}
	f.stopped = file.ModTime()
	record := run.Record{Run: f.Run, Manifest: *i.Manifest, State: i.State, Done: i.Done}
	f.OnStatus(Status{Kind: Stopped, Record: &record})
	return false, nil
}

// showActive presents the latest snapshot of a process that works on the run.
func (f *localFollower) showActive(i *runstore.Info) error {
	if i.Hash != "" {
		f.silentAt = time.Time{}
		f.OnStatus(Status{Kind: Live})
		if !i.At.After(f.latest.At) {
			return nil // nothing is counted yet, or nothing is new
		}
		f.latest = i.Snapshot
		return f.OnSnapshot(&i.Snapshot)
	}
	if f.silentAt.IsZero() {
		f.silentAt = time.Now()
	}
	if i.Locked.Holder.Socket == "" && time.Since(f.silentAt) > recordGrace {
		return fmt.Errorf("run %s is active in process %d on %s, which has no socket: name its server with --nats",
			f.Run, i.Locked.Holder.PID, i.Locked.Holder.Host)
	}
	f.OnStatus(Status{Kind: ProcessSilent, Err: i.Locked})
	return nil
}

// showTotal audits the ledger of a complete run, and presents its total.
func (f *localFollower) showTotal(ctx context.Context, i *runstore.Info) error {
	l, err := f.store.OpenReadOnly(f.Run)
	if err != nil {
		return err
	}
	defer func() { _ = l.Close() }() // it was only read
	f.OnStatus(Status{Kind: Auditing})
	s, err := auditedSnapshot(ctx, l, &i.Snapshot)
	if err != nil {
		return err
	}
	s.Elapsed.Duration = l.Wall()
	f.latest = s
	return f.OnSnapshot(&f.latest)
}

// auditedSnapshot adds to the facts of a complete run its total, which it computes from the ledger.
func auditedSnapshot(ctx context.Context, l *ledger.Ledger, facts *run.Snapshot) (run.Snapshot, error) {
	s := *facts
	total, err := audit.FinalTotal(ctx, l)
	if err != nil {
		return s, err
	}
	s.SetTotal(total, new(l.Confirmation(total)))
	s.Solutions, s.WorkDone = s.Total, 1
	s.Disputes = l.Disputed()
	return s, nil
}
