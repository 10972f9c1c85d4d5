package coordinator

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"nqueens/pkg/audit"
	"nqueens/pkg/coordinator/agreement"
	"nqueens/pkg/coordinator/flight"
	"nqueens/pkg/ratelimit"
	"nqueens/pkg/run"
)

// journal writes the log of a run: what happens often is logged once, or once in a while. No decision
// depends on it.
type journal struct {
	limiter        ratelimit.Limiter // of lines that are logged once in a while
	once           ratelimit.Limiter
	lost           uint64    // tasks that left the queue without a result
	voided         uint64    // tasks that have no accepted result any more, until that is logged
	heldAt         time.Time // when to log next that a worker keeps others idle
	noWorkersAt    time.Time // when to log next that no worker is connected
	noWorkersLines int       // that said so since a worker was connected
	fewVotersAt    time.Time // when to log next that too few voters are connected
	voters         int       // when that was logged last
}

func newJournal(now time.Time) journal {
	return journal{once: ratelimit.Limiter{Interval: ratelimit.Forever}, noWorkersAt: now.Add(noWorkersDelay)}
}

// refused notes a result that is not recorded.
func (j *journal) refused(r *run.Result, reason error, c *core) {
	if j.once.Allow(reason.Error()) {
		c.cfg.Log.Warn().Err(reason).Uint64("task", r.Task).Str("worker", r.Worker).Str("kernel", r.Kernel).
			Msg("refused a result; more of its kind are counted, not logged")
	}
}

// disputes notes what has become of disputes: of each kind a line, of the first one, since a message can open thousands.
func (j *journal) disputes(c *core, commands []agreement.Command) {
	tasks := make(map[agreement.Op][]uint64)
	for i := range commands {
		switch o := &commands[i]; o.Op {
		case agreement.Opened, agreement.Closed, agreement.Outvoted:
			tasks[o.Op] = append(tasks[o.Op], o.Task)
		}
	}
	for _, op := range slices.Sorted(maps.Keys(tasks)) {
		j.dispute(c, op, tasks[op])
	}
}

// dispute notes that the same has become of the disputes about some tasks.
func (j *journal) dispute(c *core, op agreement.Op, tasks []uint64) {
	d := c.ledger.Dispute(tasks[0])
	if d == nil {
		return
	}
	text := audit.DescribeDispute(d)
	if op == agreement.Opened {
		text += "; it is counted again"
	}
	if len(tasks) > 1 {
		text += fmt.Sprintf("; %d more tasks likewise", len(tasks)-1)
	}
	switch op {
	case agreement.Opened:
		c.cfg.Log.Error().Uint64("task", tasks[0]).Msg("dispute: " + text)
	case agreement.Closed:
		c.cfg.Log.Warn().Uint64("task", tasks[0]).Msg("dispute settled: " + text)
	case agreement.Outvoted:
		c.cfg.Log.Error().Uint64("task", tasks[0]).Msg("dispute, outvoted: " + text)
	}
}

// manyUnadmitted is the number of quarantined keys without admission from which on the log says how to
// keep strangers out: anybody can make such keys, and each wrong count is work.
const manyUnadmitted = 8

// quarantined notes that a key was quarantined.
func (j *journal) quarantined(c *core, wrong *run.Result, right uint64) {
	c.cfg.Log.Error().Str("key", wrong.Key).Str("worker", wrong.Worker).Str("kernel", wrong.Kernel).
		Uint64("task", wrong.Task).Uint64("counted", wrong.Count).Uint64("right", right).
		Msg("worker quarantined: it counted wrong. Its key counts for nothing in this run, and what only it has counted is counted again. " +
			"Check that machine; coordinator keys lift and the key ends the quarantine")
	liars := 0
	for _, q := range c.ledger.Quarantined() {
		if q.Unadmitted {
			liars++
		}
	}
	if !wrong.Admitted && liars >= manyUnadmitted && j.limiter.Allow("unadmitted") {
		c.cfg.Log.Error().Int("keys", liars).
			Msg("many keys that are not admitted counted wrong, and each wrong count costs a recount. To keep strangers out, " +
				"give the server keys with coordinator keys init, and the workers keys or the join token; then resume the run")
	}
}

// voidedAll notes that everything of quarantined keys is void.
func (j *journal) voidedAll(c *core) {
	if j.voided > 0 {
		c.cfg.Log.Warn().Uint64("tasks", j.voided).Msg("what only quarantined keys had counted is void: it is counted again")
		j.voided = 0
	}
}

// swept notes what a sweep has found.
func (j *journal) swept(c *core, s *flight.Swept) {
	for _, l := range s.Lost {
		j.lost += uint64(l.Tasks)
		if j.limiter.Allow("lost") {
			c.cfg.Log.Info().Uint64("task", l.First).Uint32("attempt", l.Attempt+1).Uint64("lost_so_far", j.lost).
				Msg("tasks left the queue without a result that counts, publishing them again")
		}
	}
	if len(s.Expired) > 0 && j.limiter.Allow("expired") {
		e := &s.Expired[0]
		c.cfg.Log.Warn().Uint64("task", e.First).Uint32("attempt", e.Attempt).Int("chunks", len(s.Expired)).
			Msg("no result for a long time although the queue has the tasks: publishing them again")
	}
	if s.Away > 0 && j.limiter.Allow("away") {
		c.cfg.Log.Warn().Int("chunks", s.Away).
			Msg("workers have taken chunks from the queue, and none that is connected holds them: publishing them again. If this repeats, " +
				"a worker takes chunks and counts nothing: end it with coordinator keys revoke and its name, or replace the join token; " +
				"where the server asks for no keys, count on one that does")
	}
}

// A worker that holds chunks while others are idle is logged every heldInterval, once it has reported no result
// for heldDelay, and for heldSearches times the longest search so far.
const (
	heldDelay    = time.Minute
	heldSearches = 20
	heldInterval = 5 * time.Minute
)

// held logs which worker keeps others idle.
func (j *journal) held(c *core, now time.Time, idle bool) {
	if !idle || now.Before(j.heldAt) {
		return
	}
	after := max(heldDelay, min(c.flight.LongestSearch(), heldInterval)*heldSearches)
	worker, found := c.cfg.Roster.HeldWithoutResult(c.run, after)
	if !found {
		return
	}
	j.heldAt = now.Add(heldInterval)
	c.cfg.Log.Warn().Str("worker", worker.Name).Str("key", worker.Key).Int("chunks", worker.Chunks).
		Stringer("without_result", now.Sub(worker.Since).Round(time.Second)).
		Msg("workers are idle while one holds chunks and reports no result. If it is not just slow, end it: stop it, or run coordinator keys revoke " +
			"and its name; where the server asks for no keys, count on one that does")
}

// lostWorker notes a lost worker, and the first tasks of the chunks that it searched.
func (j *journal) lostWorker(c *core, worker *run.Heartbeat, searched []uint64) {
	c.cfg.Log.Debug().Str("worker", worker.Worker).Str("key", worker.Key).
		Uints64("held", searched[:min(len(searched), maxLogged)]).Msg("worker lost")
	if c.cfg.OnLost != nil {
		c.cfg.OnLost(worker.Worker)
	}
}

// noWorkersDelay is how long a run has no workers before that is logged.
const noWorkersDelay = 10 * time.Second

// noWorkersIntervals are the times between lines that no worker is connected. The last one is repeated.
var noWorkersIntervals = [...]time.Duration{time.Minute, 5 * time.Minute, 30 * time.Minute, time.Hour}

// noWorkers notes how many workers are connected.
func (j *journal) noWorkers(c *core, now time.Time, workers int) {
	switch {
	case workers > 0:
		j.noWorkersAt, j.noWorkersLines = now.Add(noWorkersDelay), 0
	case !now.Before(j.noWorkersAt):
		j.noWorkersAt = now.Add(noWorkersIntervals[min(j.noWorkersLines, len(noWorkersIntervals)-1)])
		j.noWorkersLines++
		c.cfg.Log.Warn().Msg("no workers connected; start one with: " + c.cfg.Join)
	}
}

// How often it is logged that too few voters are connected, unless their number changes.
const fewVotersInterval = 5 * time.Minute

// fewVoters notes how many voters are connected.
func (j *journal) fewVoters(c *core, now time.Time) {
	t := &c.trust
	switch {
	case t.Redundancy == 1 || len(t.voters) >= t.Redundancy:
		j.fewVotersAt = time.Time{}
	case len(t.voters) != j.voters || !now.Before(j.fewVotersAt):
		j.fewVotersAt, j.voters = now.Add(fewVotersInterval), len(t.voters)
		c.cfg.Log.Warn().Int("voters", len(t.voters)).Int("redundancy", t.Redundancy).Int("unadmitted", len(t.unadmitted)).
			Msg("the run waits for workers with further admitted keys: that many keys must agree on every task. coordinator keys add, the join token or --admitted admits a key")
	}
}

// missedChecks notes, at the end, how many spot checks were not made.
func (j *journal) missedChecks(c *core) {
	if _, missed := c.agreement.Checks(); missed > 0 {
		c.cfg.Log.Info().Uint64("tasks", missed).Msg("some spot checks are left out: no other voter counted the tasks, and the coordinator has spent its share of time")
	}
}
