package progress

import (
	"math"
	"time"

	"nqueens/pkg/run"
)

// Load is what a coordinator sees of a run at a time.
type Load struct {
	// Threads is the number of threads of all workers, and Idle of those that search nothing, for
	// this run or another.
	Threads, Idle int
	// Waiting is the number of chunks in the queue that no worker holds.
	Waiting int
	// AllPublished is set when every task has been published.
	AllPublished bool
	// Full is set if the window has as many chunks as it may have for any number of threads.
	Full bool
	// Unread is set if results wait on the server, or here, for longer than it takes to read them.
	Unread bool
	// Recording is the share of time for which results are being recorded; a [BottleneckMeter] measures it.
	Recording float64
}

const (
	// idleShare is the share of threads that are idle, at least, if a run is not bounded by its
	// search.
	idleShare = 0.1
	// recordingShare is the share of time after which the ledger has no time left.
	recordingShare = 0.8
	// boundTime is how long something bounds a run before that is said.
	boundTime = 10 * time.Second
	// grace is for how long something else may do so in between.
	grace = 2 * time.Second
	// recordingMemory is the time after which what was recorded counts a third: a single slow
	// transaction is none of a slow ledger.
	recordingMemory = 5 * time.Second
)

// Bound returns what bounds the run. It is the search as long as nearly all threads are searching,
// whatever else is slow. It is unknown without threads.
//
// docs/estimates.md says which fleets are bounded by what.
func (l *Load) Bound() run.Bottleneck {
	few := idleShare * float64(l.Threads)
	switch {
	case l.Threads == 0:
		return ""
	case float64(l.Idle) < few:
		return run.BySearch
	case l.Unread || l.Recording >= recordingShare:
		return run.ByLedger
	case l.AllPublished && float64(l.Idle-l.Waiting) >= few: // there is nothing for these threads
		return run.ByTail
	case !l.AllPublished && l.Full && l.Waiting < l.Idle:
		return run.ByWindow
	}
	return run.ByMessages
}

// BottleneckMeter tells what bounds a run, once it has done so for a while. Heartbeats are seconds old,
// and a pause of a second is none.
type BottleneckMeter struct {
	bound  run.Bottleneck
	next   run.Bottleneck // what bounds the run of late
	since  time.Time      // since when
	seenAt time.Time      // when it did last

	recording  float64       // share of time of late
	recorded   time.Duration // spent on recording until measuredAt
	measuredAt time.Time
}

// Measure returns what has bounded the run for ten seconds. What did before is returned until
// something else has. The time is what the coordinator has spent on recording so far.
func (m *BottleneckMeter) Measure(l Load, recorded time.Duration) run.Bottleneck {
	now := time.Now()
	if elapsed := now.Sub(m.measuredAt); !m.measuredAt.IsZero() && elapsed > 0 {
		share := float64(recorded-m.recorded) / float64(elapsed)
		m.recording += (share - m.recording) * -math.Expm1(-float64(elapsed)/float64(recordingMemory))
	}
	m.recorded, m.measuredAt = recorded, now
	l.Recording = m.recording

	b := l.Bound()
	if b != m.next && now.Sub(m.seenAt) >= grace {
		m.next, m.since = b, now
	}
	if b == m.next {
		if m.seenAt = now; now.Sub(m.since) >= boundTime {
			m.bound = b
		}
	}
	return m.bound
}
