package dashboard

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// frame is what all connections to the events of a run send at a time. The next frame replaces it: a
// connection that has not sent it by then never does.
type frame struct {
	at    time.Time
	first []byte        // events for a new connection
	next  []byte        // events for the others
	ends  bool          // nothing follows
	newer chan struct{} // closed when there is a newer frame
}

// hintInterval is the least time between events that say that lists may be asked for anew.
const hintInterval = 2 * time.Second

// advance makes a new frame for all connections.
func (r *Run) advance(now time.Time) {
	r.encoding.Lock()
	defer r.encoding.Unlock()
	f := r.newFrame(now)
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.frame.newer)
	r.frame = f
}

// newFrame returns a frame. The caller holds the lock for encoding.
func (r *Run) newFrame(now time.Time) *frame {
	f := &frame{at: now, newer: make(chan struct{})}
	known := r.now()
	if known.replaced {
		f.ends = true // without the event that says so: clients connect again
		return f
	}
	if known.latest == nil {
		f.ends = !known.lostAt.IsZero() // the answers to other requests say why
		return f
	}
	f.next = event("run", r.object(&known))
	f.first = slices.Concat(f.next, event("workers", hint{known.listsAt()}), event("classes", hint{known.listsAt()}))
	if now.Sub(r.hintedAt) >= hintInterval {
		r.hintedAt, f.next = now, f.first
	}
	if f.ends = known.latest.State.Finished(); f.ends {
		f.first = append(f.first, event("end", struct{}{})...)
		f.next = f.first
	}
	return f
}

// hint is the JSON object of an event that says that a list may be asked for anew.
type hint struct {
	At time.Time `json:"at"`
}

// listsAt returns when the lists were measured.
func (k *knowledge) listsAt() time.Time {
	if k.details != nil {
		return k.details.At.UTC()
	}
	return k.at.UTC()
}

// event returns a server-sent event with a JSON object.
func event(name string, object any) []byte {
	text, err := json.Marshal(object)
	if err != nil { // the objects have no values without a form in JSON
		panic(err)
	}
	return fmt.Appendf(nil, "event: %s\ndata: %s\n\n", name, text)
}

// currentFrame returns a frame that is not older than a second.
func (r *Run) currentFrame() *frame {
	if f := r.lastFrame(); time.Since(f.at) <= frameInterval {
		return f
	}
	r.advance(time.Now())
	return r.lastFrame()
}

func (r *Run) lastFrame() *frame {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.frame
}

const (
	// writeTimeout is how long a browser may read nothing before it is disconnected.
	writeTimeout = 10 * time.Second
	// keepAlive is the time between comments on a connection without events.
	keepAlive = 15 * time.Second
)

// serveEvents sends the events of a run until the client goes, the run ends or the page closes.
func (p *Page) serveEvents(w http.ResponseWriter, request *http.Request, r *Run) {
	if !p.join() {
		refuse(w, http.StatusServiceUnavailable, errUnknown)
		return
	}
	defer p.part()
	s := stream{to: w, control: http.NewResponseController(w)}
	if s.control.SetReadDeadline(time.Time{}) != nil { // that of the request would end the connection
		refuse(w, http.StatusInternalServerError, errUnknown)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // for a proxy in between
	if request.Method == http.MethodHead {
		return
	}
	r.refreshDetail(request.Context(), detailTimeout, detailInterval)
	f := r.currentFrame()
	if !s.write(f.first, []byte(": follows\n\n")) {
		return
	}
	for started, closing := len(f.first) > 0, false; !f.ends && !closing; {
		select {
		case <-request.Context().Done():
			return
		case <-f.newer:
		case <-p.closing:
			closing = true
		case <-time.After(keepAlive):
		}
		last := f
		f = r.lastFrame()
		var text []byte
		switch {
		case !started:
			text = f.first
		case f != last:
			text = f.next
		}
		started = started || len(text) > 0
		if len(text) == 0 && time.Since(s.wroteAt) >= keepAlive {
			text = []byte(": alive\n\n")
		}
		if len(text) > 0 && !s.write(text) {
			return
		}
	}
}

// stream is a connection to events.
type stream struct {
	to      http.ResponseWriter
	control *http.ResponseController
	wroteAt time.Time
}

// write sends texts. It reports whether the client reads.
func (s *stream) write(texts ...[]byte) bool {
	s.wroteAt = time.Now()
	err := s.control.SetWriteDeadline(s.wroteAt.Add(writeTimeout))
	for _, text := range texts {
		if err == nil && len(text) > 0 {
			_, err = s.to.Write(text)
		}
	}
	return err == nil && s.control.Flush() == nil
}
