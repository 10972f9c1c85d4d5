package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"nqueens/pkg/cli"
	"nqueens/pkg/notify"
	"nqueens/pkg/report"
	"nqueens/pkg/run"
	"nqueens/pkg/runstore"
)

// notifyPatience is how long a coordinator whose run has ended tries to tell that, before it leaves that to the
// next command.
const notifyPatience = 30 * time.Second

// notifier tells the targets of --notify-file what happens to a run. Without that file it only delivers what other
// processes have left.
type notifier struct {
	app   *cli.App
	store *runstore.Store
	left  func() // delivers what is left in the folder of all runs, once

	// From start on, with targets:
	outbox *notify.Outbox
	watch  notify.Watch
	stop   context.CancelFunc
	ended  sync.WaitGroup // Outbox.Run
}

func newNotifier(ctx context.Context, app *cli.App, store *runstore.Store) *notifier {
	return &notifier{app: app, store: store, left: sync.OnceFunc(func() { deliverLeft(ctx, app, store) })}
}

// start begins to deliver the events of a run that counts: to the targets in the file of the flag, or else to those
// with which the run was started. An empty flag ends that.
func (n *notifier) start(ctx context.Context, name string, flag *pflag.Flag) {
	go n.left() // the end waits for it
	folder, file := n.store.Folder(name), flag.Value.String()
	var err error
	if file != "" {
		n.outbox, err = notify.Create(folder, file, n.app.Log)
	} else if n.outbox, err = notify.Open(folder, n.app.Log); err == nil && flag.Changed {
		err = n.outbox.Remove()
		n.outbox = nil
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		n.app.Log.Warn().Err(err).Str("run", name).Msg("nobody is notified of what happens to the run")
	}
	if n.outbox != nil {
		ctx, n.stop = context.WithCancel(ctx)
		n.ended.Go(func() { n.outbox.Run(ctx) })
	}
}

// observe tells what a snapshot shows.
func (n *notifier) observe(s *run.Snapshot) {
	if n.outbox == nil {
		return
	}
	for _, e := range n.watch.Observe(time.Now(), s) {
		n.add(e)
	}
}

func (n *notifier) add(e notify.Event) {
	if err := n.outbox.Add(e); err != nil {
		n.app.Log.Warn().Err(err).Str("run", e.Run).Msg("a notification is lost: it is not kept")
	}
}

// end tells how the run ended, waits for that to be delivered, and stops.
func (n *notifier) end(ctx context.Context, r *report.Result) {
	defer n.left()
	if n.outbox == nil {
		return
	}
	defer n.ended.Wait()
	defer n.stop()
	s := run.Snapshot{
		Run: r.Run, N: r.N, Symmetry: r.Symmetry, Placed: r.Placed, State: run.State(r.End), Done: r.Tasks, Tasks: r.Tasks,
		Total: r.Total, Confirmed: &r.Confirmed,
	}
	if r.Count != nil {
		s.Done = r.Count.Snapshot.Done
	}
	e, ok := notify.Ended(&s, time.Now())
	if !ok {
		return
	}
	n.add(e)
	delivered := make(chan struct{})
	go func() { n.ended.Wait(); close(delivered) }()
	select {
	case <-delivered:
	case <-ctx.Done():
	case <-time.After(notifyPatience):
		n.app.Log.Warn().Str("run", r.Run).Msg("a notification is not delivered: the next count, resume or runs tries again")
	}
}

// deliverLeft tries once to deliver what processes that have ended left undelivered: events of runs that can be
// resumed, and the ends of others.
func deliverLeft(ctx context.Context, app *cli.App, store *runstore.Store) {
	names, _ := store.Names() // of a folder that can't be read nothing can be delivered
	for _, name := range names {
		outbox, err := notify.Open(store.Folder(name), app.Log)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		i := store.Inspect(name)
		if i.Locked != nil {
			continue // the process that works on the run delivers
		}
		if e, ended := notify.Ended(&i.Snapshot, i.Ended); ended && err == nil {
			err = outbox.Add(e)
		}
		switch {
		case err != nil:
		case i.State == run.Cancelled:
			err = outbox.Remove()
		default:
			_, err = outbox.Deliver(ctx)
		}
		if err = cmp.Or(err, i.Err); err != nil && ctx.Err() == nil {
			app.Log.Warn().Err(err).Str("run", name).Msg("a notification is not delivered: the next count, resume or runs tries again")
		}
	}
}
