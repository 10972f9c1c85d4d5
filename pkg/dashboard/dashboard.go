// Package dashboard serves a live page of one run to browsers, and the JSON API behind it, which
// docs/api.md describes; or a page that lists runs, with their reports. It gets snapshots of the run pushed, asks for more only while somebody
// looks, and computes and encodes everything once for all browsers. It is not the server that listens,
// see package httpserver, and it knows no services and no bus: it computes nothing of a run, and changes
// nothing there.
//
// What always holds, each with its test:
//
//  1. [Page.Update] never waits for a browser: TestSlowBrowsers.
//  2. A browser that reads slowly, or not at all, misses events, and delays no other one: TestSlowBrowsers.
//  3. Everything is encoded once for all browsers, at most once a second: TestEverythingIsComputedOnce.
//  4. Details are asked for only while somebody looks, at most every two seconds: the same.
//  5. Connections, rows of a history and sizes of requests are bounded:
//     TestTooManyBrowsers, TestHistory, TestToken.
//  6. Without a token the page answers only requests whose Host is this machine: TestHosts.
//  7. With a token nothing of a run is sent to those who do not have it: TestToken.
//  8. The last state of a run is sent before the page closes, which takes at most a second:
//     TestLastStateIsSent.
//  9. Texts from outside are data in JSON objects, never part of a page or of a header: TestObjects.
package dashboard

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// Source says where a page has its run from.
type Source string

// The sources.
const (
	Coordinator Source = "coordinator" // the process that coordinates the run
	Watch       Source = "watch"       // the messages of the run
)

// Config configures a [Page].
type Config struct {
	Source  Source
	Version string // of the program
	// Token is what a browser or script needs; empty for a page that only this machine reaches.
	Token string
	Runs  *Runs // what a page of all runs shows, in place of the page of one; nil for that
}

// Page is a page of a run. It implements [http.Handler]. Its methods are safe for concurrent use, and those
// that change what is shown never block.
type Page struct {
	cfg     Config
	guard   guard
	routes  *http.ServeMux
	streams chan struct{} // one element for each connection to events
	answers chan struct{} // one element for each other request that is being answered
	closing chan struct{} // closed when no more events follow
	begun   time.Time     // all events are sent at whole seconds since then

	mu      sync.Mutex // held for moments only
	known   knowledge
	detail  DetailFunc   // nil if nobody knows more than the snapshots
	history *run.History // at times that coordinators have worked on the run
	recent  []run.Sample // of the last hour, each a moment

	refreshing  sync.Mutex // held while a detail is asked for
	refreshedAt time.Time

	encoding sync.Mutex       // held while objects are encoded
	bodies   map[string]*body // by path
}

// knowledge is what is known of the run. What it points to never changes.
type knowledge struct {
	latest   *run.Snapshot // nil before the first
	at       time.Time     // of latest
	status   string
	manifest *queens.Manifest // nil while unknown
	solution []int            // columns of the queens of one solution; nil if none is known
	shares   []float64        // of a task of each class in the estimated work; nil where the details have more
	details  *run.Detail      // the latest; nil before the first
}

// DetailFunc returns what [run.Detail] says of a run. Nobody may change what it returns.
type DetailFunc func(ctx context.Context) (*run.Detail, error)

// Bounds of a page.
const (
	maxStreams = 256 // connections to events
	maxAnswers = 64  // other requests at a time
	maxRows    = 280 // of the history before the last hour
)

// The history has the last hour in rows of a few seconds, whatever the length of the run.
const recentSpan, recentInterval = time.Hour, 5 * time.Second

// New returns a page. It answers requests and sends events at once; [Page.Run] asks for details.
func New(cfg Config) *Page {
	p := &Page{
		cfg: cfg, guard: newGuard(cfg.Token), history: run.NewHistory(maxRows), bodies: make(map[string]*body),
		closing: make(chan struct{}), begun: time.Now(),
		streams: make(chan struct{}, maxStreams), answers: make(chan struct{}, maxAnswers),
	}
	if p.routes = p.newRoutes(); cfg.Runs != nil {
		p.routes = p.newRunsRoutes(cfg.Runs)
	}
	return p
}

// SetManifest says what is counted, and which share of the run's estimated work a task of each class has; nil if a
// [DetailFunc] tells more. The columns of the queens of a solution are shown once the run is complete; nil for none.
// Nobody may change them any more.
func (p *Page) SetManifest(m *queens.Manifest, shares []float64, solution []int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known.manifest, p.known.shares, p.known.solution = m, shares, solution
}

// SetHistory says how the run went before the first snapshot.
func (p *Page) SetHistory(h *run.History) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.history = h.Clone(maxRows)
}

// SetDetail says who knows more than the snapshots.
func (p *Page) SetDetail(detail DetailFunc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.detail = detail
}

// Update shows a snapshot. Nobody may change it any more. The last snapshot of a run names no workers:
// those of the one before stay.
func (p *Page) Update(s *run.Snapshot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if before := p.known.latest; before != nil && s.State != run.Running && len(s.WorkerList) == 0 {
		last := *s
		last.WorkerList = before.WorkerList
		s = &last
	}
	now := time.Now()
	p.known.latest, p.known.at = s, now
	if s.State != run.Running { // its rate is the mean of the run
		return
	}
	at := s.Elapsed.Duration
	p.history.Observe(at, s)
	if n := len(p.recent); n == 0 || at-p.recent[n-1].From >= recentInterval {
		old := slices.IndexFunc(p.recent, func(row run.Sample) bool { return at-row.From <= recentSpan })
		p.recent = append(p.recent[max(old, 0):], run.Sample{
			From: at, Rate: s.Rate, WorkDone: float64(s.WorkDone), Threads: float64(s.Threads), Workers: float64(s.Workers),
		})
	}
}

// SetStatus says why what is shown may be old, or at an end; empty if the run is live.
func (p *Page) SetStatus(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known.status = queens.Sanitize(text)
}

// now returns what is known of the run now.
func (p *Page) now() knowledge {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.known
}

const (
	// frameInterval is the time between events: an object is encoded once in each.
	frameInterval = time.Second
	// detailInterval is the least time between two details.
	detailInterval = 2 * time.Second
	// detailTimeout is how long to wait for a detail, and lastDetailTimeout for that of a run that has ended.
	detailTimeout, lastDetailTimeout = 2 * time.Second, 200 * time.Millisecond
	// drainTimeout is how long a page that closes waits for browsers to read the last event, and
	// lastRequests how long it then answers them: they ask for the lists of the end.
	drainTimeout, lastRequests = 600 * time.Millisecond, 400 * time.Millisecond
)

// Run keeps the details new until ctx ends. Then the last events are sent, and it waits up to a second for those
// who read them.
func (p *Page) Run(ctx context.Context) {
	tick := time.NewTicker(detailInterval)
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-tick.C:
			if p.isWatched() {
				p.refreshDetail(ctx, detailTimeout, detailInterval*3/4)
			}
		}
	}
	if !p.isWatched() {
		close(p.closing)
		return
	}
	p.refreshDetail(context.WithoutCancel(ctx), lastDetailTimeout, 0)
	p.encoding.Lock()
	clear(p.bodies) // those of before
	p.encoding.Unlock()
	close(p.closing)
	for deadline := time.Now().Add(drainTimeout); p.isWatched() && time.Now().Before(deadline); {
		time.Sleep(drainTimeout / 30)
	}
	time.Sleep(lastRequests)
}

// isWatched reports whether somebody reads events.
func (p *Page) isWatched() bool { return len(p.streams) > 0 }

// refreshDetail asks for a detail, unless one was asked for lately.
func (p *Page) refreshDetail(ctx context.Context, timeout, lately time.Duration) {
	p.mu.Lock()
	detail := p.detail
	p.mu.Unlock()
	if detail == nil {
		return
	}
	p.refreshing.Lock()
	defer p.refreshing.Unlock()
	if time.Since(p.refreshedAt) < lately {
		return
	}
	ctx, done := context.WithTimeout(ctx, timeout)
	defer done()
	d, err := detail(ctx)
	p.refreshedAt = time.Now()
	if err != nil || d == nil {
		return // the one before is shown, with its time
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known.details = d
}

// Errors of requests.
var (
	errUnknown  = errors.New("nothing is known of the run yet: try again later")
	errTooBusy  = errors.New("too many connections: try again later")
	errNoPath   = errors.New("there is no such path: docs/api.md has all of them")
	errNoMethod = errors.New("only GET requests are answered")
)
