package dashboard

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"nqueens/pkg/report"
)

// apiRoot is the path of the API, with its version.
const apiRoot = "/api/v1/"

func (p *Page) newRoutes() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc(apiRoot+"runs", p.bounded(p.serveRuns))
	for path, write := range map[string]func(*Run) *body{
		"": (*Run).state, "/workers": (*Run).workers, "/classes": (*Run).classes, "/history": (*Run).measured,
	} {
		mux.HandleFunc(apiRoot+"runs/{run}"+path, p.bounded(p.ofRun(func(w http.ResponseWriter, request *http.Request, r *Run) {
			p.serveBody(w, request, r, write)
		})))
	}
	mux.HandleFunc(apiRoot+"runs/{run}/events", p.ofRun(p.serveEvents))
	mux.HandleFunc("/api/", func(w http.ResponseWriter, _ *http.Request) { refuse(w, http.StatusNotFound, errNoPath) })
	mux.HandleFunc("/", p.bounded(p.serveAsset))
	return mux
}

// ServeHTTP implements [http.Handler].
func (p *Page) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	setHeaders(w.Header())
	if err := p.guard.checkHost(request); err != nil {
		refuse(w, http.StatusForbidden, err)
		return
	}
	if request.URL.Path == loginPath {
		p.bounded(p.guard.login)(w, request)
		return
	}
	if request.Method != http.MethodGet && request.Method != http.MethodHead {
		w.Header().Set("Allow", http.MethodGet)
		refuse(w, http.StatusMethodNotAllowed, errNoMethod)
		return
	}
	if status := p.guard.check(request); status != http.StatusOK && !isOpen(request.URL.Path) {
		p.refuseStranger(w, request, status)
		return
	}
	p.routes.ServeHTTP(w, request)
}

// setHeaders sets what all answers have. A page may load its own files, and nothing else.
func setHeaders(h http.Header) {
	h.Set("Content-Security-Policy", contentPolicy("'none'"))
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
}

// contentPolicy returns the policy of a page whose forms may be sent there.
func contentPolicy(forms string) string {
	return "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
		"frame-ancestors 'none'; base-uri 'none'; form-action " + forms
}

// refuse answers with an error.
func refuse(w http.ResponseWriter, status int, err error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(struct { // fails if the client has gone
		Error string `json:"error"`
	}{err.Error()})
}

// bounded bounds how many requests are answered at a time.
func (p *Page) bounded(serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, request *http.Request) {
		select {
		case p.answers <- struct{}{}:
			defer func() { <-p.answers }()
		default:
			refuse(w, http.StatusServiceUnavailable, errTooBusy)
			return
		}
		// The default of the server is for a few bytes.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout)) // else that one holds
		serve(w, request)
	}
}

// ofRun passes on the run that a request is about.
func (p *Page) ofRun(serve func(http.ResponseWriter, *http.Request, *Run)) http.HandlerFunc {
	return func(w http.ResponseWriter, request *http.Request) {
		r, err := p.look(request.Context(), request.PathValue("run"))
		switch {
		case errors.Is(err, errNoRun):
			refuse(w, http.StatusNotFound, err)
		case err != nil:
			refuse(w, http.StatusServiceUnavailable, err)
		default:
			defer r.leave()
			serve(w, request, r)
		}
	}
}

// serveBody answers with an object of a run.
func (p *Page) serveBody(w http.ResponseWriter, request *http.Request, r *Run, get func(*Run) *body) {
	r.refreshDetail(request.Context(), detailTimeout, 2*detailInterval)
	b := get(r)
	if b == nil {
		refuse(w, http.StatusServiceUnavailable, errUnknown)
		return
	}
	b.serve(w, request)
}

func (p *Page) serveRuns(w http.ResponseWriter, request *http.Request) {
	object := runsJSON{Source: p.cfg.Source, Runs: []report.ListedRun{}}
	if p.server != nil {
		if listed, _ := p.list.get(request.Context(), p.server); len(listed) > 0 { // without the server, those from before
			object.Runs = listed
		}
	}
	p.mu.Lock()
	own := p.own
	p.mu.Unlock()
	if own != nil {
		object.Run = own.name
		object.Runs = withOwn(object.Runs, own)
	}
	newBody(object).serve(w, request)
}

// runList is the list of the runs of the server. Its zero value is ready to use.
type runList struct {
	mu   sync.Mutex
	at   time.Time
	runs []report.ListedRun
	err  error
}

const (
	// listInterval is the least time between two requests to the server for its runs.
	listInterval = 2 * time.Second
	// listTimeout is how long to wait for them.
	listTimeout = 3 * time.Second
)

// get returns the runs of the server, of a moment ago. With an error it returns those from before.
func (l *runList) get(ctx context.Context, server Server) ([]report.ListedRun, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.at) < listInterval {
		return l.runs, l.err
	}
	ctx, done := context.WithTimeout(ctx, listTimeout)
	defer done()
	runs, err := server.Runs(ctx)
	if err == nil {
		l.runs = runs
	}
	l.at, l.err = time.Now(), err
	return l.runs, err
}

// withOwn returns a list in which the run of this process is as its latest snapshot says.
func withOwn(listed []report.ListedRun, own *Run) []report.ListedRun {
	known := own.now()
	if known.latest == nil {
		return listed
	}
	p := &known.latest.Progress
	entry := report.ListedRun{Run: own.name}
	at := 0
	for i := range listed {
		if listed[i].Run == own.name {
			entry, at = listed[i], i+1
		}
	}
	entry.N, entry.Symmetry, entry.State, entry.Done, entry.Tasks = p.N, p.Symmetry, string(p.State), p.Done, p.Tasks
	entry.Pace, entry.Workers, entry.Sharing = report.NewPace(p.Pace()), p.WorkerCount, p.SharedWith
	if known.manifest != nil {
		entry.Placed = known.manifest.Placed
	}
	if p.Total != nil {
		entry.Confirmed = new(report.NewConfirmed(&p.Confirmation, true))
	}
	all := append([]report.ListedRun{}, listed...)
	if at == 0 { // the server has no record of it
		return append([]report.ListedRun{entry}, all...)
	}
	all[at-1] = entry
	return all
}

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
		return r.history.object()
	})
}
