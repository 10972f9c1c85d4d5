package page

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"html/template"
	"io"
	"net/http"
	"strconv"
	"time"

	"nqueens/pkg/progress"
	"nqueens/pkg/queens"
)

//go:embed page.html style.css script.js
var files embed.FS

var templates = template.Must(template.New("").Funcs(functions).ParseFS(files, "page.html"))

// Config says what a page shows. Its functions are called for requests, from any goroutine, and
// must return soon.
type Config struct {
	Address  string                  // host:port; port 0 selects a free one
	Version  string                  // of the program
	Snapshot func() *queens.Snapshot // the latest, also after the run has ended; nil before the first
	History  func() []progress.Point // the progress of the run over time: see [progress.History]
	// Workers returns a page of the present workers with higher numbers than the given one. It also
	// says from which number to go on, 0 at the end. It fails if nothing answers until ctx ends.
	Workers func(ctx context.Context, number uint64) ([]queens.Worker, uint64, error)
	Linger  time.Duration // least time that the page stays after the end of the run
}

// Listen opens an address for a coordinator, and answers:
//
//	/               the page
//	/fragment       the part of the page that a browser with scripts fetches each second
//	/snapshot.json  the snapshot; 503 before the first
//	/workers.json   a page of the list of all workers; 503 if no coordinator answers
//	/metrics        numbers of the snapshot for Prometheus
//	/healthz        200, or 503 if the run counts and its last snapshot is older than 30 s
func Listen(cfg Config) (*Server, error) {
	s := &Server{browsers: browsers{asked: map[string]time.Time{}}, linger: cfg.Linger}
	routes := http.NewServeMux()
	for path, name := range map[string]string{"/{$}": "page", "/fragment": "fragment"} {
		routes.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
			s.draw(w, r, &cfg, name)
		})
	}
	for _, name := range []string{"style.css", "script.js"} {
		routes.HandleFunc("GET /"+name, func(w http.ResponseWriter, r *http.Request) {
			http.ServeFileFS(w, r, files, name)
		})
	}
	routes.HandleFunc("GET /favicon.ico", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
	})
	routes.HandleFunc("GET /snapshot.json", func(w http.ResponseWriter, _ *http.Request) {
		snapshot := cfg.Snapshot()
		body, err := json.Marshal(snapshot)
		if snapshot == nil || err != nil {
			http.Error(w, "the run is not planned yet: ask again", http.StatusServiceUnavailable)
			return
		}
		text(w, "application/json", string(body)+"\n")
	})
	routes.HandleFunc("GET /workers.json", func(w http.ResponseWriter, r *http.Request) {
		list(w, r, &cfg)
	})
	routes.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		text(w, metricsType, runMetrics(cfg.Snapshot(), cfg.Version))
	})
	routes.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		if s := cfg.Snapshot(); s != nil && s.State == queens.Running && time.Since(s.At) > stuckAfter {
			last := s.At.UTC().Format(time.RFC3339)
			http.Error(w, "the coordinator has made no snapshot since "+last, http.StatusServiceUnavailable)
			return
		}
		text(w, "text/plain", "ok\n")
	})
	return s, s.listen(cfg.Address, routes)
}

const (
	stuckAfter = 30 * time.Second // /healthz fails if the snapshot is older
	// the page says that the coordinator is silent if the snapshot is older
	silentAfter = 4 * time.Second
)

// draw answers a request with the template of the given name.
func (s *Server) draw(w http.ResponseWriter, r *http.Request, cfg *Config, name string) {
	now := time.Now()
	v := &view{Snapshot: cfg.Snapshot(), Served: true, Version: cfg.Version, now: now}
	if v.Snapshot != nil {
		v.Chart = newChart(cfg.History())
	}
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, name, v); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	text(w, "text/html", b.String())
	s.browsers.saw(r.RemoteAddr, now, v.Ended())
}

// list answers a request for a page of the list of all workers.
func list(w http.ResponseWriter, r *http.Request, cfg *Config) {
	number := uint64(0)
	if after := r.FormValue("after"); after != "" {
		var err error
		if number, err = strconv.ParseUint(after, 10, 64); err != nil {
			http.Error(w, "after must be the number next of the page before", http.StatusBadRequest)
			return
		}
	}
	ctx, cancel := context.WithTimeout(r.Context(), requestTimeout/2)
	defer cancel()
	page := struct {
		Workers []queens.Worker `json:"workers"`
		Next    uint64          `json:"next,omitempty"`
	}{Workers: []queens.Worker{}}
	workers, next, err := cfg.Workers(ctx, number)
	if err != nil {
		http.Error(w, "no coordinator answers: "+err.Error(), http.StatusServiceUnavailable)
		return
	}
	page.Workers, page.Next = append(page.Workers, workers...), next
	body, err := json.Marshal(page)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	text(w, "application/json", string(body)+"\n")
}

// Write writes the page of a run as one file that needs no other file.
func Write(w io.Writer, s *queens.Snapshot, history []progress.Point, version string) error {
	style, _ := files.ReadFile("style.css") // it is embedded
	v := &view{Snapshot: s, Chart: newChart(history), Version: version, Style: template.CSS(style),
		now: s.At}
	return templates.ExecuteTemplate(w, "page", v)
}
