package coordinator

import (
	"errors"

	"nqueens/pkg/ledger"
	"nqueens/pkg/run"
)

// counters count, for monitoring, what happened since this coordinator began.
type counters struct {
	published    uint64 // chunks
	chunkResults uint64
	results      run.ResultCounts
	refused      run.RefusedResults
}

// judged counts a result by the ledger's verdict.
func (c *counters) judged(v ledger.Verdict) {
	switch v {
	case ledger.Accepted:
		c.results.Accepted++
	case ledger.Confirmed:
		c.results.Confirmed++
	case ledger.Duplicate:
		c.results.Duplicate++
	case ledger.Conflict:
		c.results.Conflict++
	case ledger.Settled:
		c.results.Settled++
	case ledger.Refused:
		c.refused.QuarantinedKey++
	}
}

// rejected counts a result by the reason why it is not recorded.
func (c *counters) rejected(reason error) {
	switch {
	case errors.Is(reason, errUnknownTask):
		c.refused.UnknownTask++
	case errors.Is(reason, errHashMismatch):
		c.refused.WrongHash++
	case errors.Is(reason, errOtherManifest):
		c.refused.OtherManifest++
	case errors.Is(reason, errQuarantined):
		c.refused.QuarantinedKey++
	}
}

// report passes on the progress, and with it what monitoring asks for.
func (c *Coordinator) report(p run.Progress) {
	c.cfg.OnProgress(p)
	if c.cfg.OnStats != nil {
		c.cfg.OnStats(c.stats(p))
	}
}

// stats returns the numbers that belong to a snapshot of the progress.
func (c *Coordinator) stats(p run.Progress) run.Stats {
	n := &c.collector.counters
	return run.Stats{
		Progress: p, Tasks: c.taskStates(),
		Waiting: c.beat.Load().Waiting, Leases: c.leases,
		Window: len(c.window.chunks), WindowBytes: c.window.bytes,
		IdleThreads: c.cfg.Roster.Idle(), Quarantined: len(c.ledger.Quarantined()),
		Published: n.published, ChunkResults: n.chunkResults, Results: n.results, Refused: n.refused,
	}
}

// taskStates counts the tasks by state. A disputed task is in no other state, whether it is in
// flight or has an accepted result.
func (c *Coordinator) taskStates() run.TaskStates {
	w, all := c.window, c.collector.manifest.Tasks
	s := run.TaskStates{Done: c.collector.agreedLen, Disputed: uint64(len(c.collector.disputes))}
	inFlight, deadLettered := len(w.tasks)-w.checks, w.deadLettered // spot checks are done
	for id := range c.collector.disputes {
		if c.collector.agreed[id/64]&(1<<(id%64)) != 0 {
			s.Done--
		}
		switch t := w.tasks[id]; {
		case t == nil || t.agreed:
		case t.deadLettered:
			deadLettered--
			inFlight--
		default:
			inFlight--
		}
	}
	s.DeadLettered, s.InFlight = uint64(max(deadLettered, 0)), uint64(max(inFlight-deadLettered, 0))
	if others := s.Done + s.InFlight + s.Disputed + s.DeadLettered; others < all {
		s.Waiting = all - others
	}
	return s
}
