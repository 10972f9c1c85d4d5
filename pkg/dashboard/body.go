package dashboard

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// body is an encoded object.
type body struct {
	at            time.Time
	plain, zipped []byte
}

// minZipped is the size from which an object is compressed.
const minZipped = 1 << 10

func newBody(object any) *body {
	text, err := json.Marshal(object)
	if err != nil { // the objects have no values without a form in JSON
		panic(err)
	}
	b := &body{at: time.Now(), plain: append(text, '\n')}
	if len(text) >= minZipped {
		b.zipped = zipped(b.plain)
	}
	return b
}

func zipped(text []byte) []byte {
	var to bytes.Buffer
	z, _ := gzip.NewWriterLevel(&to, gzip.BestSpeed) // fails for unknown levels
	_, _ = z.Write(text)                             // a Buffer takes everything
	_ = z.Close()
	return to.Bytes()
}

func (b *body) serve(w http.ResponseWriter, request *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	send(w, request, b.plain, b.zipped)
}

// send answers with a text, compressed if the client takes that and there is such a form.
func send(w http.ResponseWriter, request *http.Request, plain, zipped []byte) {
	text := plain
	if zipped != nil {
		w.Header().Set("Vary", "Accept-Encoding")
		if takesGzip(request) {
			w.Header().Set("Content-Encoding", "gzip")
			text = zipped
		}
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	_, _ = w.Write(text) // fails if the client has gone
}

// takesGzip reports whether a client takes compressed answers.
func takesGzip(request *http.Request) bool {
	for coding := range strings.SplitSeq(request.Header.Get("Accept-Encoding"), ",") {
		name, weight, _ := strings.Cut(strings.ReplaceAll(coding, " ", ""), ";")
		if name == "gzip" && strings.TrimRight(weight, ".0") != "q=" {
			return true
		}
	}
	return false
}

// cached returns the object of a name, and makes it if that of the name is older than maxAge. There is
// no object while nothing is known.
func (r *Run) cached(name string, maxAge time.Duration, object func(known *knowledge) any) *body {
	r.encoding.Lock()
	defer r.encoding.Unlock()
	if b := r.bodies[name]; b != nil && time.Since(b.at) < maxAge {
		return b
	}
	known := r.now()
	o := object(&known)
	if o == nil {
		return nil
	}
	b := newBody(o)
	r.bodies[name] = b
	return b
}

// forgetBodies has the next objects made anew.
func (r *Run) forgetBodies() {
	r.encoding.Lock()
	defer r.encoding.Unlock()
	clear(r.bodies)
}

// state returns the run itself.
func (r *Run) state() *body {
	return r.cached("run", frameInterval, func(known *knowledge) any {
		if known.latest == nil {
			return nil
		}
		return r.object(known)
	})
}

func (r *Run) workers() *body {
	return r.cached("workers", detailInterval, func(known *knowledge) any {
		if known.latest == nil {
			return nil
		}
		return newWorkers(known)
	})
}

func (r *Run) classes() *body {
	return r.cached("classes", detailInterval, func(known *knowledge) any {
		if known.manifest == nil {
			return nil
		}
		return newClasses(known)
	})
}

// measured returns the history.
func (r *Run) measured() *body {
	return r.cached("history", frameInterval, func(*knowledge) any {
		r.mu.Lock()
		defer r.mu.Unlock()
		return newHistory(r.history)
	})
}
