package dashboard

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"html/template"
	"io"
	"math/big"
	"net/http"
	"sync"
	"time"

	"nqueens/pkg/humanize"
	"nqueens/pkg/queens"
	"nqueens/pkg/report"
	"nqueens/pkg/run"
)

// Runs has the runs of this machine for a page that lists them. Its functions are safe for concurrent use.
type Runs struct {
	// List returns the runs, the newest first.
	List func() ([]report.ListedRun, error)
	// Report writes the report of a run that has ended, as one HTML page. The error is [ErrNoReport] where there is none.
	Report func(ctx context.Context, w io.Writer, name string) error
}

// ErrNoReport says that there is no run of a name that has ended.
var ErrNoReport = errors.New("there is no such run that has ended")

var (
	//go:embed runs.html
	runsHTML     string
	runsTemplate = template.Must(template.New("runs").Funcs(template.FuncMap{
		"ended": func(r *report.ListedRun) bool {
			return run.State(r.Status) == run.Complete || run.State(r.Status) == run.Contradicted
		},
		"total": func(d *run.Decimal) string { return humanize.Big((*big.Int)(d)) },
		"time":  func(at time.Time) string { return at.UTC().Format("2006-01-02 15:04 UTC") },
		"took":  func(s run.Seconds) string { return humanize.Duration(s.Duration) },
		"done":  func(r *report.ListedRun) string { return humanize.Percent(float64(r.WorkDone), false) },
	}).Parse(runsHTML))
)

// reportPolicy is that of a report, whose style is between its tags, and which loads nothing.
const reportPolicy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

// newRunsRoutes returns the paths of a page of runs.
func (p *Page) newRunsRoutes(runs *Runs) *http.ServeMux {
	var one sync.Mutex // a report may take all of a ledger into memory
	mux := http.NewServeMux()
	mux.HandleFunc("/{$}", bounded(p.answers, func(w http.ResponseWriter, request *http.Request) {
		all, err := runs.List()
		if err != nil {
			refuse(w, http.StatusServiceUnavailable, err)
			return
		}
		var text bytes.Buffer
		if err := runsTemplate.Execute(&text, struct {
			Runs    []report.ListedRun
			Version string
		}{all, p.cfg.Version}); err != nil {
			panic(err) // the template fits its data, and a Buffer takes everything
		}
		newBody(mediaTypes[".html"], text.Bytes()).serve(w, request)
	}))
	mux.HandleFunc("/runs/{run}", bounded(p.answers, func(w http.ResponseWriter, request *http.Request) {
		name := request.PathValue("run")
		if queens.ValidateRun(name) != nil { // it may be the path of another folder
			refuse(w, http.StatusNotFound, ErrNoReport)
			return
		}
		one.Lock()
		defer one.Unlock()
		var text bytes.Buffer
		switch err := runs.Report(request.Context(), &text, name); {
		case errors.Is(err, ErrNoReport):
			refuse(w, http.StatusNotFound, err)
			return
		case err != nil:
			refuse(w, http.StatusServiceUnavailable, err)
			return
		}
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout)) // else that from before holds
		w.Header().Set("Content-Security-Policy", reportPolicy)
		newBody(mediaTypes[".html"], text.Bytes()).serve(w, request)
	}))
	mux.HandleFunc("/api/", func(w http.ResponseWriter, _ *http.Request) { refuse(w, http.StatusNotFound, errNoPath) })
	mux.HandleFunc("/", bounded(p.answers, serveAsset))
	return mux
}
