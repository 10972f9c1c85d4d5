package dashboard

import (
	"context"
	"net/http"
	"sync"
	"time"

	"nqueens/pkg/report"
)

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
	entry := report.ListedRun{}
	at := 0
	for i := range listed {
		if listed[i].Run == own.name {
			entry, at = listed[i], i+1
		}
	}
	entry.Snapshot, entry.Status = *known.latest, string(known.latest.State)
	entry.WorkerList = nil
	all := append([]report.ListedRun{}, listed...)
	if at == 0 { // the server has no record of it
		return append([]report.ListedRun{entry}, all...)
	}
	all[at-1] = entry
	return all
}
