package dashboard

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"time"
)

// apiRoot is the path of the API, with its version.
const apiRoot = "/api/v1/"

func (p *Page) newRoutes() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc(apiRoot+"runs", bounded(p.answers, p.serveRuns))
	for path, write := range map[string]func(*Run) *body{
		"": (*Run).state, "/workers": (*Run).workers, "/classes": (*Run).classes, "/history": (*Run).measured,
	} {
		mux.HandleFunc(apiRoot+"runs/{run}"+path, bounded(p.answers, p.ofRun(func(w http.ResponseWriter, request *http.Request, r *Run) {
			serveBody(w, request, r, write)
		})))
	}
	mux.HandleFunc(apiRoot+"runs/{run}/events", bounded(p.streams, p.ofRun(p.serveEvents)))
	mux.HandleFunc("/api/", func(w http.ResponseWriter, _ *http.Request) { refuse(w, http.StatusNotFound, errNoPath) })
	mux.HandleFunc("/", bounded(p.answers, p.serveAsset))
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
		bounded(p.answers, p.guard.login)(w, request)
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
	h.Set("Content-Security-Policy", contentPolicy("", "'none'"))
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
}

// contentPolicy returns the policy of a page that has this script between its tags, or none, and whose forms may
// be sent there.
func contentPolicy(script, forms string) string {
	if script != "" {
		sum := sha256.Sum256([]byte(script))
		script = " 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return "default-src 'none'; script-src 'self'" + script + "; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
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

// bounded bounds how many requests are answered at a time, by the capacity of a channel.
func bounded(slots chan struct{}, serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, request *http.Request) {
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
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
func serveBody(w http.ResponseWriter, request *http.Request, r *Run, get func(*Run) *body) {
	r.refreshDetail(request.Context(), detailTimeout, 2*detailInterval)
	b := get(r)
	if b == nil {
		known := r.now()
		refuse(w, http.StatusServiceUnavailable, known.whyUnknown())
		return
	}
	b.serve(w, request)
}
