package session

import (
	"context"
	"math"
	"time"

	"nqueens/pkg/metrics"
)

// siteInterval is the time between two looks at what surrounds the coordinator.
const siteInterval = 5 * time.Second

// measureSite looks again and again at what surrounds the coordinator, for its metrics, until ctx
// ends. The scrapes read what it found: they wait for no server, and for no disk.
func (s *Session) measureSite(ctx context.Context) {
	for ctx.Err() == nil {
		s.metrics.SetSite(s.site(ctx))
		select {
		case <-ctx.Done():
		case <-time.After(siteInterval):
		}
	}
}

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
