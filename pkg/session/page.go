package session

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"nqueens/pkg/bus"
	"nqueens/pkg/dashboard"
	"nqueens/pkg/enumerate"
	"nqueens/pkg/httpserver"
	"nqueens/pkg/humanize"
	"nqueens/pkg/metrics"
	"nqueens/pkg/run"
	"nqueens/pkg/watch"
)

// listen opens the address of the page.
func (s *Session) listen() (*dashboard.Host, error) {
	host := s.cfg.Page
	host.Folder, host.Metrics = s.cfg.Store.Path(), s.metrics.Handler()
	host.Checks = httpserver.Checks{Live: s.checkLive, Ready: s.checkReady}
	host.Page = dashboard.Config{Source: dashboard.Coordinator, Version: s.cfg.Version}
	return dashboard.Listen(host)
}

// startPage serves the page until stopPage.
func (s *Session) startPage(ctx context.Context) {
	if s.host == nil {
		return
	}
	s.lastReport.Store(time.Now().UnixNano())
	m := s.ledger.Header().Manifest
	s.host.SetManifest(&m, nil, enumerate.Any(ctx, &m))
	s.host.SetHistory(s.ledger.History())
	s.host.Start(s.log)
}

// showEnd shows how the run has ended. The last snapshot is of no run if the coordinator has not started.
func (s *Session) showEnd(last *run.Snapshot, ended error) {
	s.latest.Store(last)
	if s.host != nil && last.Run != "" {
		s.host.Update(last)
		s.host.SetStatus(endStatus(last.State, last.Run, ended))
	}
}

// stopPage stops serving the page, after browsers have read how the run has ended.
func (s *Session) stopPage() {
	if err := s.host.Stop(); err != nil { // it has ended the run, which says it
		s.log.Debug().Err(err).Msg("the page has ended")
	}
}

// isOver reports whether the run has come to an end: then the process only shows it.
func (s *Session) isOver() bool {
	p := s.latest.Load()
	return p != nil && p.State.Finished()
}

// Linger keeps the page of a run that has come to its end until ctx ends, or for so long as the configuration says.
// [Session.Run] has returned.
func (s *Session) Linger(ctx context.Context) {
	if !s.lingers {
		return
	}
	s.log.Info().Str("for", humanize.Duration(s.cfg.Linger)).Msg("the page stays: an interrupt ends it")
	select {
	case <-ctx.Done():
	case <-time.After(s.cfg.Linger):
	}
	s.stopPage()
}

// checkLive returns nil while the run reports progress, and after its end.
func (s *Session) checkLive() error {
	if silent := time.Since(time.Unix(0, s.lastReport.Load())); silent > livenessTimeout && !s.isOver() {
		return fmt.Errorf("the run has reported no progress for %v", silent.Round(time.Second))
	}
	return nil
}

// checkReady returns nil while there is a connection to the server, and after the end of the run.
func (s *Session) checkReady() error {
	if s.isOver() {
		return nil
	}
	return s.bus.Connected()
}

// endStatus says why a run has ended without a total, and what to do.
func endStatus(state run.State, name string, ended error) string {
	switch {
	case ended == nil:
		return ""
	case errors.Is(ended, bus.ErrTakenOver):
		return bus.ErrTakenOver.Error()
	case state == run.Stopped:
		stopped := watch.Status{Kind: watch.Stopped}
		return stopped.Text(name)
	}
	return ended.Error()
}

// siteInterval is the time between two measurements of what surrounds the coordinator.
const siteInterval = 5 * time.Second

// site returns what surrounds the coordinator, for its metrics. The scrapes read what was measured last: they wait for
// no server, and for no disk.
func (s *Session) site(ctx context.Context) metrics.Site {
	site := metrics.Site{DiskFree: -1, Link: metrics.Link{
		Connected: s.bus.Connected() == nil, Reconnects: s.bus.Reconnects(), Rejected: s.bus.Rejected(),
	}}
	if free, err := s.cfg.Store.Free(s.Name()); err == nil {
		site.DiskFree = int64(min(free, math.MaxInt64))
	}
	if !site.Link.Connected {
		return site
	}
	if tasks, results, err := s.bus.Usage(ctx); err == nil {
		site.Streams = map[string]metrics.Stream{"tasks": metrics.Stream(tasks), "results": metrics.Stream(results)}
	}
	return site
}
