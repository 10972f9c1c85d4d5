package coordinator

import (
	"time"
)

// nextRequest returns the next request for the dispatcher, and whether there is one.
func (w *window) nextRequest() (request, bool) {
	for len(w.retryQueue) > 0 && w.isVoid(&w.retryQueue[0]) {
		w.retryQueue = w.retryQueue[1:]
	}
	w.retryTurn = len(w.retryQueue) > 0 && (w.retryTurn || w.next == nil)
	switch {
	case w.retryTurn:
		return w.retryQueue[0], true
	case w.next != nil:
		return w.request(w.next, opPublish), true
	}
	return request{}, false
}

// isVoid reports whether the tasks of a queued request were accepted in the meantime.
func (w *window) isVoid(r *request) bool { return !r.orphan && w.chunks[r.chunk] == nil }

// sent notes that the dispatcher has taken the request that nextRequest returned last.
func (w *window) sent() {
	if w.retryTurn {
		w.retryQueue = w.retryQueue[1:]
	} else {
		w.next = nil
	}
	w.retryTurn = !w.retryTurn
}

func (w *window) request(c *inflightChunk, what op) request {
	return request{op: what, chunk: c.id, first: c.first, message: c.message, streamSeq: c.streamSeq}
}

// enqueue queues a request for a chunk.
func (w *window) enqueue(c *inflightChunk, what op) {
	c.busy = true
	w.retryQueue = append(w.retryQueue, w.request(c, what))
}

// completed takes back a request that the dispatcher has executed.
func (w *window) completed(r request) {
	c := w.chunks[r.chunk]
	if r.published && c == nil { // accepted in the meantime: spare a worker the search
		w.retryQueue = append(w.retryQueue, request{op: opDelete, orphan: true, chunk: r.chunk, first: r.first, streamSeq: r.streamSeq})
	}
	if c == nil || r.orphan {
		return
	}
	now := time.Now()
	c.busy = false
	switch r.op {
	case opPublish:
		if c.attempt > 1 && !c.isCopy {
			w.republished += uint64(c.open)
		}
		if w.keep {
			c.kept, c.board = r.message.Tasks, r.message.Board
		}
		c.prefix = r.message.Tasks[0][0]
		c.message, c.streamSeq = nil, r.streamSeq
		c.checkAt = now.Add(w.cfg.CheckAfter)
		c.expiresAt = now.Add(w.timeout(c))
	case opCheck:
		c.checkAt = now.Add(w.cfg.CheckAfter)
		if r.missing {
			// Its result may be on the way: a worker stores the result, then acknowledges.
			c.missingAt, c.checkAt = r.at, now.Add(w.sweepInterval()/2)
		}
		if c.away = r.taken; c.away && w.idle && c.withdraw == stays {
			w.withdrawAway(c)
			return
		}
	case opDelete:
		c.streamSeq = 0
		w.republish(c, c.withdraw)
		if c.withdraw == whole {
			w.slow[c.id] = c
		}
		return
	}
	if c.withdraw != stays {
		w.enqueue(c, opDelete)
	}
}
