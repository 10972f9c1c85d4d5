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

// queueState is what the fetcher knows of a live run and its queue.
type queueState struct {
	run     string
	state   int
	since   time.Time // the state
	retryAt time.Time // no attempt before; zero if there is no need to wait
	retry   backoff.Backoff
	missing int // chunks to take now, if it is the run's turn

	// From the last announcement: when it came, and chunks in the queue.
	heardAt time.Time
	waiting int
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
	// announcement says that it is not.
	emptyFor = 5 * time.Second
	// parkedFor is how old a parked pull is when an announcement that says that chunks are waiting makes
	// it suspect: it may have got lost.
	parkedFor = 2 * time.Second
)

// fetchLoop takes chunks from the queues until ctx ends. Then it returns those that no search
// has begun.
func (w *Worker) fetchLoop(ctx context.Context) {
	f := &fetcher{Worker: w, queues: make(map[string]*queueState)}
	for ctx.Err() == nil {
		wait := f.fill(ctx)
		select {
		case <-ctx.Done():
		case <-w.wakeFetch:
		case <-time.After(wait):
		case loan := <-w.queue.Parked():
			f.arrived(loan)
		}
	}
	w.releaseReady()
	w.queue.Close()
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
		normal, low := f.refresh()
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
		return f.nextAttempt()
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
func (f *fetcher) takeFirst(ctx context.Context, queues []*queueState) (result int) {
	for _, q := range queues {
		switch {
		case !q.due() || !f.isAlive(q.run): // the requests before may have taken long
		case q.missing == 0:
			return enough // it is this run's turn, later
		case f.take(ctx, q):
			return taken
		}
	}
	return nothing
}

// take takes chunks from one run. It reports whether there were any.
func (f *fetcher) take(ctx context.Context, q *queueState) bool {
	ctx, cancel := context.WithTimeout(ctx, takeTimeout)
	defer cancel()
	loans, err := f.queue.Take(ctx, q.run, q.missing)
	f.accept(loans...)
	now := time.Now()
	switch {
	case len(loans) > 0:
		q.found()
		return true
	case err != nil:
		if ctx.Err() == nil {
			f.cfg.Log.Debug().Err(err).Str("run", q.run).Msg("can't take chunks, trying again")
		}
		if q.state == empty {
			q.state = open // it is not known any more
		}
		q.retryAt = now.Add(q.retry.Pause())
	case q.state == parked:
		q.retryAt = now.Add(q.retry.Pause()) // the announcement was wrong: another worker was faster
	default:
		q.state, q.since, q.retryAt = empty, now, time.Time{}
		f.noneWaiting(q.run)
	}
	return false
}

// park leaves a pull at each of the runs, which had nothing. It renews the pulls that have ended.
func (f *fetcher) park(queues []*queueState) {
	for _, q := range queues {
		if q.state == open || q.missing == 0 {
			continue
		}
		if q.state == empty {
			q.state, q.since, q.retryAt = parked, time.Now(), time.Time{}
		}
		f.queue.Park(q.run)
	}
}

// found notes that the queue had a chunk, or may have one.
func (q *queueState) found() {
	q.state, q.since, q.retryAt = open, time.Now(), time.Time{}
	q.retry.Reset()
}

// due reports whether to ask a queue now. Where a pull is parked it also chooses the time: an announcement
// reaches all workers at once, and they must not all ask at once.
func (q *queueState) due() bool {
	now := time.Now()
	switch q.state {
	case empty:
		return q.waiting > 0 && q.heardAt.After(q.since) || now.Sub(q.since) >= emptyFor
	case parked:
		if q.waiting == 0 || q.heardAt.Sub(q.since) < parkedFor {
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
func (f *fetcher) nextAttempt() time.Duration {
	next := time.Duration(math.MaxInt64)
	for _, q := range f.queues {
		if left := time.Until(q.retryAt); left > 0 {
			next = min(next, left)
		}
		if q.state == empty {
			next = min(next, max(0, time.Until(q.since.Add(emptyFor))))
		}
	}
	return next
}

// refresh returns the queues of the live runs of weight over 0, and of those of weight 0, each in their turn.
// There are none while there is no connection or the worker pauses. It forgets those of other runs.
func (f *fetcher) refresh() (normal, low []*queueState) {
	f.mu.Lock()
	defer f.mu.Unlock()
	last := f.queues
	f.queues = make(map[string]*queueState, len(last))
	if !f.connected || f.stopping || f.paused != "" {
		return nil, nil
	}
	list := func(names []string) (queues []*queueState) {
		for _, name := range names {
			k, q := f.runs[name], last[name]
			if q == nil {
				q = &queueState{run: name, since: time.Now(), retry: backoff.Backoff{Least: time.Second, Most: 30 * time.Second}}
			}
			q.missing, q.heardAt, q.waiting = f.missing(name, k), k.heardAt, k.announcement.Waiting
			f.queues[name] = q
			queues = append(queues, q)
		}
		return queues
	}
	names, lowNames := f.shares.order(time.Now())
	return list(names), list(lowNames)
}

func (w *Worker) isAlive(name string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.shares[name] != nil
}

// noneWaiting notes that a run's queue is empty.
func (w *Worker) noneWaiting(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if sh := w.shares[name]; sh != nil {
		sh.empty = true
		w.runs[name].queued = 0
	}
}
