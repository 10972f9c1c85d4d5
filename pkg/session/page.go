package session

import (
	"cmp"
	"context"
	"errors"
	"time"

	"nqueens/pkg/bus"
	"nqueens/pkg/coordinator"
	"nqueens/pkg/dashboard"
	"nqueens/pkg/httpserver"
	"nqueens/pkg/run"
	"nqueens/pkg/watch"
)

// listen opens the address of the page.
func (s *Session) listen() (*dashboard.Host, error) {
	return dashboard.Listen(dashboard.HostConfig{
		Address: s.cfg.HTTP, TokenFile: s.cfg.HTTPTokenFile, Folder: s.cfg.Store.Path(),
		Checks:  httpserver.Checks{Live: s.checkLive, Ready: func() error { return s.bus.Connected() }},
		Metrics: s.metrics.Handler(),
		Page:    dashboard.Config{Source: dashboard.Coordinator, Version: s.cfg.Version},
	})
}

// pageServer serves the page of a run that counts. Its methods do nothing without a page.
type pageServer struct {
	*Session
	stop   context.CancelFunc
	failed chan error // how serving has ended
}

// servePage serves the page until its end.
func (s *Session) servePage(ctx context.Context, server *connection) *pageServer {
	p := &pageServer{Session: s, failed: make(chan error, 1)}
	if s.host == nil {
		return p
	}
	s.lastReport.Store(time.Now().UnixNano())
	s.host.SetServer(watch.Server{Address: server.address, Connection: s.bus, Registry: s.bus.Registry(), Telemetry: s.bus.Telemetry()})
	ctx, p.stop = context.WithCancel(context.WithoutCancel(ctx))
	s.host.Log(s.log)
	go func() { p.failed <- s.host.Serve(ctx) }() // end waits for it
	return p
}

// open shows the run.
func (p *pageServer) open(detail dashboard.DetailFunc) {
	m := p.ledger.Header().Manifest
	p.page = p.host.Open(p.Name(), detail)
	p.page.SetManifest(&m, nil)
}

// failure waits until ctx ends, and then returns nil, or until nobody can be answered any more.
func (p *pageServer) failure(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-p.failed:
		p.failed <- err
		return err
	}
}

// end shows how the run has ended, and stops serving.
func (p *pageServer) end(ctx context.Context, o *coordinator.Outcome, ended error) {
	if p.host == nil {
		return
	}
	if p.page != nil && o.Snapshot.Run != "" {
		last := p.lastSnapshot(o, endState(ctx, ended))
		p.page.Update(&last)
		p.page.SetStatus(endStatus(last.State, p.Name(), ended))
	}
	p.stop()
	if err := <-p.failed; err != nil { // it has ended the run, which says it
		p.log.Debug().Err(err).Msg("the page has ended")
	}
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

// updatePage shows what the snapshots do not tell.
func (s *Session) updatePage() {
	if s.page == nil {
		return
	}
	status := ""
	if p := s.latest.Load(); p != nil && p.Done == p.Tasks {
		status = "all tasks are counted: verifying the ledger"
	}
	if since := s.outage.since; !since.IsZero() {
		status = cmp.Or(status, watch.ServerDownText(since))
	}
	s.page.SetStatus(status)
}
