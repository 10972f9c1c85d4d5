package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"nqueens/pkg/bus"
	"nqueens/pkg/cli"
	"nqueens/pkg/humanize"
	"nqueens/pkg/queens"
	"nqueens/pkg/report"
	"nqueens/pkg/run"
)

// watcher shows one run until that ends. It asks the server for nothing while the run's
// coordinator is heard of.
type watcher struct {
	app     *cli.App
	bus     *bus.Bus
	run     string
	show    *ui
	stdout  io.Writer
	json    bool
	arrived chan run.Progress // the latest, until it is taken

	latest    run.Progress // of no run before the first
	heard     time.Time    // when that came, or else when the watch began
	connected time.Time    // since when there is a connection; zero while there is none
	away      time.Time    // since when there is none
	lacking   time.Time    // since when the server has no record; zero while it has one
	said      condition
}

// condition is what there is to say of a run beside its snapshot.
type condition int

const (
	asHeard        condition = iota // nothing
	isStopped                       // by its coordinator
	hasNoWord                       // of its coordinator, which may have died
	isAwaited                       // its coordinator, which is there and has not said a word yet
	serverIsAway                    // which the connection logs
	serverIsSilent                  // although there is a connection
)

const (
	// lookEvery is how often to look for what no message tells.
	lookEvery = time.Second
	// quietAfter is how long a coordinator, which publishes every second, may be silent
	// before the server is asked.
	quietAfter = 3 * time.Second
	// goneAfter is how long the server may have no record of a run: a coordinator whose
	// server has lost its store soon makes it again.
	goneAfter = 10 * time.Second
)

// put leaves a snapshot for follow, in place of one that it has not taken. It is called
// one at a time.
func (w *watcher) put(s run.Progress) {
	select {
	case <-w.arrived:
	default:
	}
	w.arrived <- s
}

// follow shows the run until it ends. It returns an error where it does not end with a
// total.
func (w *watcher) follow(ctx context.Context) error {
	if !w.json {
		w.show.start()
		defer w.show.stop()
	}
	w.heard, w.away = time.Now(), time.Now()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case s := <-w.arrived:
			if err := w.take(&s); err != nil || s.State.Finished() {
				return err
			}
		case <-tick.C:
			if err := w.look(ctx); err != nil {
				return err
			}
		}
	}
}

// take shows a snapshot.
func (w *watcher) take(s *run.Progress) error {
	ended := failed(s)
	if ended != nil && s.Total != nil {
		return ended // nobody is to see that total
	}
	w.latest, w.heard, w.lacking = *s, time.Now(), time.Time{}
	w.show.show(*s)
	w.sayHeard()
	if !w.json {
		return ended
	}
	if err := report.WriteProgress(w.stdout, s); err != nil {
		return err
	}
	return ended
}

// failed says how a run ended that has no total to be believed.
func failed(s *run.Progress) error {
	switch s.State {
	case run.Contradicted:
		return fmt.Errorf("%w: so ended run %s; coordinator verify %s, where its ledger is, may say whose count is wrong", queens.ErrContradiction, s.Run, s.Run)
	case run.Cancelled:
		return fmt.Errorf("run %s: %w", s.Run, queens.ErrCancelled)
	case run.Complete:
		known, published := queens.KnownTotal(s.N)
		if published && s.Placed == 0 && known.Cmp(s.Total) != 0 {
			return fmt.Errorf("%w: somebody says that run %s has come to another total; coordinator verify %s goes through its ledger", queens.ErrContradiction, s.Run, s.Run)
		}
	case run.Running, run.Stopped:
	}
	return nil
}

// look finds out why nothing is heard, where that is so, and says it. An error is how the
// run has ended.
func (w *watcher) look(ctx context.Context) error {
	if w.bus.Connected() != nil {
		if !w.connected.IsZero() {
			w.connected, w.away, w.lacking = time.Time{}, time.Now(), time.Time{}
		}
		w.say(serverIsAway, "%s", serverDown(w.away))
		return nil
	}
	if w.connected.IsZero() {
		w.connected = time.Now()
	}
	if time.Since(w.heard) < quietAfter || time.Since(w.connected) < quietAfter {
		w.sayHeard()
		return nil
	}
	record, err := w.bus.Registry().Record(ctx, w.run)
	switch {
	case ctx.Err() != nil:
		return nil // as follow will see
	case errors.Is(err, bus.ErrNoRecord), err == nil && record.State == run.Complete:
		return w.lost()
	case err != nil:
		w.say(serverIsSilent, "the server does not answer: %s", cli.OneLine(err))
		return nil
	}
	w.lacking = time.Time{}
	if err := failed(&run.Progress{Run: w.run, State: record.State}); err != nil {
		return err
	}
	w.sayRecord(&record)
	return nil
}

// lost ends the watch of a run that the server has no record of, or calls complete, once
// nothing more is to be expected of its coordinator.
func (w *watcher) lost() error {
	if w.latest.Run == "" {
		return fmt.Errorf("%s has no run %s at work: it has ended, or is on another server; coordinator runs, where its ledger is, says how it ended", w.bus.Server(), w.run)
	}
	if w.lacking.IsZero() {
		w.lacking = time.Now()
	}
	if time.Since(w.lacking) < goneAfter {
		return nil
	}
	return fmt.Errorf("run %s has ended, and how was not heard here: coordinator resume %s, where its ledger is, says with what total", w.run, w.run)
}

// sayHeard says what the latest snapshot says.
func (w *watcher) sayHeard() {
	if w.latest.State == run.Stopped {
		w.say(isStopped, "stopped: coordinator resume %s goes on with it", w.run)
		return
	}
	switch w.said {
	case isStopped, hasNoWord, isAwaited:
		w.app.Log.Info().Str("run", w.run).Msg("the run goes on")
	}
	w.say(asHeard, "")
}

// sayRecord says what the record of a run says whose coordinator is not heard.
func (w *watcher) sayRecord(r *run.Record) {
	switch {
	case r.State == run.Stopped:
		w.say(isStopped, "stopped with %d of %d tasks done: coordinator resume %s goes on with it", r.Done, r.Manifest.Tasks, w.run)
	case atWork(r):
		w.say(isAwaited, "waiting for word of its coordinator (%q)", r.Owner)
	default:
		w.say(hasNoWord, "its coordinator has not been heard of for %v: if it has died, coordinator resume %s goes on with it",
			humanize.Duration(time.Since(r.Updated).Truncate(time.Second)), w.run)
	}
}

// say shows what there is to say, and logs it where it is something else than before.
func (w *watcher) say(what condition, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if what != w.said && what != asHeard && what != serverIsAway {
		w.app.Log.Info().Str("run", w.run).Msg(text)
	}
	w.said = what
	if w.show.display != nil {
		w.show.display.SetStatus(text)
	}
}
