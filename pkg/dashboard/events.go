package dashboard

import (
	"net/http"
	"time"
)

const (
	// writeTimeout is how long a browser may read nothing before it is disconnected.
	writeTimeout = 10 * time.Second
	// keepAlive is the time between comments on a connection without events.
	keepAlive = 15 * time.Second
)

// serveEvents sends the events of the run until the client goes, the run ends or the page closes.
func (p *Page) serveEvents(w http.ResponseWriter, request *http.Request) {
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
	p.refreshDetail(request.Context(), detailTimeout, detailInterval)
	var last *body
	for closing := false; ; {
		var texts [][]byte
		b := p.cached("", p.object)
		if b != nil && b != last {
			texts = [][]byte{[]byte("event: run\ndata: "), b.plain, []byte("\n")}
			if b.ends {
				texts = append(texts, []byte("event: end\ndata: {}\n\n"))
			}
		}
		switch {
		case s.wroteAt.IsZero():
			texts = append(texts, []byte(": follows\n\n"))
		case len(texts) == 0 && time.Since(s.wroteAt) >= keepAlive:
			texts = [][]byte{[]byte(": alive\n\n")}
		}
		if len(texts) > 0 && !s.write(texts...) || closing || b != nil && b.ends {
			return
		}
		last = b
		select {
		case <-request.Context().Done():
			return
		case <-p.closing:
			closing = true
		case <-time.After(frameInterval - time.Since(p.begun)%frameInterval):
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
		if err == nil {
			_, err = s.to.Write(text)
		}
	}
	return err == nil && s.control.Flush() == nil
}
