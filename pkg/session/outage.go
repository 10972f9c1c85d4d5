package session

import (
	"time"

	"nqueens/pkg/watch"
)

// awayAfter is how long the server may be away before a person is told what to do. Most servers
// that restart are back by then.
const awayAfter = time.Minute

// outage notes since when there is no connection to the server.
type outage struct {
	since time.Time // zero while there is a connection
	told  bool
}

// observe notes whether the connection is lost. It returns true once in an outage: when the server
// has been away for long.
func (o *outage) observe(lost bool, now time.Time) (tell bool) {
	switch {
	case !lost:
		*o = outage{}
	case o.since.IsZero():
		o.since = now
	case !o.told && now.Sub(o.since) >= awayAfter:
		o.told = true
		return true
	}
	return false
}

// updateStatus shows what the snapshots do not tell, and says once in an outage what can be done.
func (s *Session) updateStatus() {
	if s.outage.observe(s.bus.Connected() != nil, time.Now()) {
		s.log.Warn().Str("run", s.Name()).Str("server", s.bus.Server()).
			Msg("the server has been away for a minute. The ledger has every accepted result: start the server again, with or " +
				"without its store, or stop this process and use another server: coordinator resume " + s.Name() + " --nats URL")
	}
	status := ""
	if p := s.latest.Load(); p != nil && p.Done == p.Tasks {
		status = "all tasks are counted: verifying the ledger"
	} else if since := s.outage.since; !since.IsZero() {
		status = watch.ServerDownText(since)
	}
	s.cfg.OnStatus(status)
	if s.host != nil {
		s.host.SetStatus(status)
	}
}
