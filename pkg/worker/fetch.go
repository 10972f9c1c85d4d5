package worker

import (
	"context"
	"math"
	"time"

	"nqueens/pkg/backoff"
	"nqueens/pkg/run"
)

// fetcher takes chunks: from which run, how many and when. It belongs to one goroutine.
//
// It asks for more when fewer than half of the chunks are ready that should be, in turn by
// [shares]. Once no run of a class has anything, it parks a pull at each, and sends nothing more:
// the next chunk comes by itself.
type fetcher struct {
	*Worker
	queues map[string]*queueState // of live runs
}

// queueState is what the fetcher knows of a run's queue.
type queueState struct {
	state   int
	since   time.Time // the state
	retryAt time.Time // no attempt before; zero if there is no need to wait
	retry   backoff.Backoff
	// consumer is the number of the consumer that is asked, or -1 before it is known.
	consumer int
}

// The states of a queue.
const (
	open   = iota // it may have chunks
	empty         // nothing was waiting
	parked        // nothing was waiting, and a pull is parked there
)

const (
	// takeTimeout bounds one request, so that a lost answer does not stop the others.
	takeTimeout = 5 * time.Second
	// maxTake bounds the chunks of one request.
	maxTake = 256
	// emptyFor is how long a worker that has other work trusts that a queue is empty, if no
	// beat says that it is not.
	emptyFor = 5 * time.Second
	// parkedFor is how old a parked pull is when a beat that says that chunks are waiting makes
	// it suspect: it may have got lost.
	parkedFor = 2 * time.Second
)

// fetchLoop takes chunks from the queues until ctx ends. Then it returns those that no search
// has begun.
func (w *Worker) fetchLoop(ctx context.Context) {
	f := &fetcher{Worker: w, queues: make(map[string]*queueState)}
	arrivals := w.queue.Parked()
	for ctx.Err() == nil {
		timer := time.NewTimer(f.fill(ctx))
		select {
		case <-ctx.Done():
		case <-w.wakeFetch:
		case <-timer.C:
		case loan, more := <-arrivals:
			if more {
				f.arrived(loan)
			} else {
				arrivals = nil
			}
		}
		timer.Stop()
	}
	w.releaseReady()
	w.queue.Close()
	for {
		select {
		case loan, more := <-arrivals:
			if more {
				w.accept(loan)
				continue
			}
		default:
		}
		return
	}
}

// arrived handles a chunk that a parked pull has brought: more may be waiting behind it.
func (f *fetcher) arrived(loan run.Loan) {
	if q := f.queues[loan.Chunk.Run]; q != nil {
		q.found()
	}
	f.accept(loan)
}

// fill takes chunks until enough are ready or nothing is waiting. It returns how long to wait
// before the next attempt, unless something happens before.
func (f *fetcher) fill(ctx context.Context) time.Duration {
	for ctx.Err() == nil {
		normal, low := f.candidates()
		f.keepQueues(normal, low)
		if result := f.takeFirst(ctx, normal); result == taken {
			continue
		} else if result == enough {
			return math.MaxInt64
		}
		f.park(normal)
		if result := f.takeFirst(ctx, low); result == taken {
			continue
		} else if result == nothing {
			f.park(low)
		}
		return f.nextAttempt(normal, low)
	}
	return 0
}

// The results of takeFirst.
const (
	enough = iota // chunks are ready
	taken
	nothing // is waiting
)

// takeFirst takes chunks from the first of the runs that has any.
func (f *fetcher) takeFirst(ctx context.Context, runs []candidate) (result int) {
	for i := range runs {
		c := &runs[i]
		switch q := f.queues[c.name]; {
		case !q.due(c):
		case c.missing == 0:
			return enough // it is this run's turn, later
		case f.take(ctx, c, q):
			return taken
		}
	}
	return nothing
}

// take takes chunks from one run. It reports whether there were any.
func (f *fetcher) take(ctx context.Context, c *candidate, q *queueState) bool {
	ctx, cancel := context.WithTimeout(ctx, takeTimeout)
	defer cancel()
	loans, err := f.queue.Take(ctx, c.name, c.missing)
	f.accept(loans...)
	now := time.Now()
	switch {
	case len(loans) > 0:
		q.found()
		return true
	case err != nil:
		if ctx.Err() == nil {
			f.cfg.Log.Debug().Err(err).Str("run", c.name).Msg("can't take chunks, trying again")
		}
		if q.state == empty {
			q.state = open // it is not known any more
		}
		q.retryAt = now.Add(q.retry.Pause())
	case q.state == parked:
		q.retryAt = now.Add(q.retry.Pause()) // the beat was wrong: another worker was faster
	default:
		q.state, q.since, q.retryAt = empty, now, time.Time{}
		f.noneWaiting(c.name)
	}
	return false
}

// park leaves a pull at each of the runs, which had nothing. It renews the pulls that have ended.
func (f *fetcher) park(runs []candidate) {
	for i := range runs {
		c := &runs[i]
		q := f.queues[c.name]
		if q.state == open || c.missing == 0 {
			continue
		}
		if q.state == empty {
			q.state, q.since, q.retryAt = parked, time.Now(), time.Time{}
		}
		f.queue.Park(c.name)
	}
}

// found notes that the queue had a chunk, or may have one.
func (q *queueState) found() {
	q.state, q.since, q.retryAt = open, time.Now(), time.Time{}
	q.retry.Reset()
}

// due reports whether to ask a queue now. Where a pull is parked it also chooses the time: a beat
// reaches all workers at once, and they must not all ask at once.
func (q *queueState) due(c *candidate) bool {
	now := time.Now()
	switch q.state {
	case empty:
		return c.waiting > 0 && c.heardAt.After(q.since) || now.Sub(q.since) >= emptyFor
	case parked:
		if c.waiting == 0 || c.heardAt.Sub(q.since) < parkedFor {
			q.retryAt = time.Time{}
			return false
		}
		if q.retryAt.IsZero() {
			q.retryAt = now.Add(q.retry.Pause())
		}
	}
	return !now.Before(q.retryAt)
}

// nextAttempt returns how long it is until a queue may be due without another event.
func (f *fetcher) nextAttempt(lists ...[]candidate) time.Duration {
	next := time.Duration(math.MaxInt64)
	for _, list := range lists {
		for i := range list {
			q := f.queues[list[i].name]
			if left := time.Until(q.retryAt); left > 0 {
				next = min(next, left)
			}
			if q.state == empty {
				next = min(next, max(0, time.Until(q.since.Add(emptyFor))))
			}
		}
	}
	return next
}

// keepQueues makes the states of new runs, and forgets those of runs that are not alive.
func (f *fetcher) keepQueues(lists ...[]candidate) {
	last := f.queues
	f.queues = make(map[string]*queueState, len(last))
	for _, list := range lists {
		for i := range list {
			name := list[i].name
			q := last[name]
			if q == nil {
				q = &queueState{consumer: -1, since: time.Now(), retry: backoff.Backoff{Least: time.Second, Most: 30 * time.Second}}
			}
			if q.consumer != list[i].consumer { // nothing is known of the new one
				q.consumer = list[i].consumer
				f.queue.UseConsumer(name, q.consumer)
				q.found()
			}
			f.queues[name] = q
		}
	}
}
