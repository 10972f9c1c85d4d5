package dashboard

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"nqueens/pkg/httpserver"
)

// apiRoot is the path of the API, with its version.
const apiRoot = "/api/v1/run"

func (p *Page) newRoutes() *http.ServeMux {
	mux := http.NewServeMux()
	for path, object := range map[string]func(*knowledge) any{
		"": p.object, "/workers": newWorkers, "/classes": newClasses, "/history": p.newHistory,
	} {
		mux.HandleFunc(apiRoot+path, bounded(p.answers, func(w http.ResponseWriter, request *http.Request) {
			p.refreshDetail(request.Context(), detailTimeout, 2*detailInterval)
			if b := p.cached(path, object); b != nil {
				b.serve(w, request)
			} else if status := p.now().status; status != "" {
				refuse(w, http.StatusServiceUnavailable, errors.New(status))
			} else {
				refuse(w, http.StatusServiceUnavailable, errUnknown)
			}
		}))
	}
	mux.HandleFunc(apiRoot+"/events", bounded(p.streams, p.serveEvents))
	mux.HandleFunc("/api/", func(w http.ResponseWriter, _ *http.Request) { refuse(w, http.StatusNotFound, errNoPath) })
	mux.HandleFunc("/", bounded(p.answers, serveAsset))
	return mux
}

// ServeHTTP implements [http.Handler].
func (p *Page) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	setHeaders(w.Header())
	if !p.guard.required && !httpserver.IsForThisMachine(request) { // asked for by another name
		refuse(w, http.StatusForbidden, errHost)
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
	if !p.guard.admits(request) && !isOpen(request.URL.Path) {
		refuseStranger(w, request)
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
	w.Header().Set("Content-Type", jsonType)
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
