// Package dashboard serves a live page of a run to browsers, and the JSON API behind it, which
// docs/api.md describes. It gets snapshots of the run pushed, asks for more only while somebody
// looks, and computes and encodes everything once for all browsers. It is not the server that listens,
// see package httpserver, and it knows no services and no bus: it computes nothing of a run, and changes
// nothing there.
//
// What always holds, each with its test:
//
//  1. [Run.Update] never waits for a browser: TestSlowBrowsers.
//  2. A browser that reads slowly, or not at all, misses events, and delays no other one: TestSlowBrowsers.
//  3. Events and lists are encoded once for all browsers, at most once a second: TestEverythingIsComputedOnce.
//  4. Details are asked for only while somebody looks, at most every two seconds: the same.
//  5. Other runs of the server are followed only while somebody looks at them:
//     TestOtherRunsAreFollowedWhileSomebodyLooks.
//     One that this process then has itself is followed no more: TestOwnRunReplacesAFollowedOne.
//     If following fails, the page says so at once, and follows the run anew on a later request:
//     TestFollowingFails.
//  6. Connections, followed runs, rows of a history and sizes of requests are bounded:
//     TestTooManyBrowsers, TestHistory, TestToken.
//  7. Without a token the page answers only requests whose Host is this machine: TestHosts.
//  8. With a token nothing of a run is sent to those who do not have it: TestToken.
//  9. The last state of a run is sent before the page closes, which takes at most a second:
//     TestLastStateIsSent.
//  10. Texts from outside are data in JSON objects, never part of a page or of a header: TestObjects.
package dashboard

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"nqueens/pkg/report"
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
	Source  Source // of the run of this process
	Version string // of the program
	// Token is what a browser or script needs; empty for a page that only this machine reaches.
	Token string
}

// Server has the runs of a NATS server. Its methods are safe for concurrent use.
type Server interface {
	// Runs returns the runs of the server, the newest first.
	Runs(ctx context.Context) ([]report.ListedRun, error)
	// Follow updates a run of the server until ctx ends, or the run does.
	Follow(ctx context.Context, r *Run) error
}

// Validate returns the first thing wrong with the configuration.
func (c *Config) Validate() error {
	if c.Source != Coordinator && c.Source != Watch {
		return errors.New("a page without a source")
	}
	return nil
}

// Page is a page of the run of this process, and of other runs of its server. It implements
// [http.Handler].
type Page struct {
	cfg     Config
	server  Server // nil for no other runs
	guard   guard
	streams chan struct{} // one element for each connection to events
	answers chan struct{} // one element for each other request that is being answered
	routes  *http.ServeMux
	list    runList

	mu      sync.Mutex
	own     *Run
	runs    map[string]*Run // by name, own too
	open    int             // connections to events
	closing chan struct{}   // closed when no more events follow
	drained chan struct{}   // closed after that when there are no more connections to events
	follows sync.WaitGroup  // calls of Follow
}

// Bounds of a page.
const (
	maxStreams = 256 // connections to events
	maxAnswers = 64  // other requests at a time
	maxRuns    = 16  // that are followed at a time
)

// New returns a page. It answers requests at once, and follows runs while [Page.Run] runs.
func New(cfg Config) (*Page, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	p := &Page{
		cfg: cfg, guard: newGuard(cfg.Token), runs: make(map[string]*Run),
		closing: make(chan struct{}), drained: make(chan struct{}),
		streams: make(chan struct{}, maxStreams), answers: make(chan struct{}, maxAnswers),
	}
	p.routes = p.newRoutes()
	return p, nil
}

// SetServer has the page show other runs. It is called before [Page.Run], or never.
func (p *Page) SetServer(s Server) { p.server = s }

// DetailFunc returns what [run.Detail] says of a run. Nobody may change what it returns.
type DetailFunc func(ctx context.Context) (*run.Detail, error)

// Open returns the run of this process, whose updates the page shows. It is called once. A browser may
// have looked at the run before that, so that it is followed: it connects again, to the one returned.
func (p *Page) Open(name string, detail DetailFunc) *Run {
	r := newRun(name, p.cfg.Source, p.cfg.Version, detail)
	p.mu.Lock()
	before := p.runs[name]
	p.own, p.runs[name] = r, r
	p.mu.Unlock()
	if before != nil {
		before.replace()
	}
	return r
}

const (
	// frameInterval is the time between events.
	frameInterval = time.Second
	// detailInterval is the least time between two details.
	detailInterval = 2 * time.Second
	// linger is how long a run is still followed that nobody looks at any more, and how long one is not followed
	// anew after that has failed.
	linger = 15 * time.Second
	// drainTimeout is how long a page that closes waits for browsers to read the last event, and
	// lastRequests how long it then answers them: they ask for the lists of the end.
	drainTimeout, lastRequests = 600 * time.Millisecond, 400 * time.Millisecond
)

// Run sends events until ctx ends. Then it sends the last ones, and waits up to a second for those
// who read them.
func (p *Page) Run(ctx context.Context) {
	var loops sync.WaitGroup
	loops.Go(func() { p.everySecond(ctx) })
	loops.Go(func() { p.keepDetails(ctx) })
	loops.Wait()
	for _, r := range p.allRuns() {
		if r.isWatched() {
			r.refreshDetail(context.WithoutCancel(ctx), lastDetailTimeout, 0)
			r.forgetBodies()
			r.advance(time.Now())
		}
	}
	p.close()
	for _, r := range p.allRuns() {
		r.stop()
	}
	p.follows.Wait()
}

// close ends the connections to events, after each has sent the last state.
func (p *Page) close() {
	p.mu.Lock()
	close(p.closing)
	connected := p.open > 0
	if !connected {
		close(p.drained)
	}
	p.mu.Unlock()
	select {
	case <-p.drained:
	case <-time.After(drainTimeout):
	}
	if connected {
		time.Sleep(lastRequests)
	}
}

// join counts a connection to events, unless the page closes.
func (p *Page) join() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.closing:
		return false
	default:
		p.open++
		return true
	}
}

// part counts a connection to events that has ended.
func (p *Page) part() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open--
	select {
	case <-p.closing:
		if p.open == 0 {
			close(p.drained)
		}
	default:
	}
}

func (p *Page) everySecond(ctx context.Context) {
	tick := time.NewTicker(frameInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			for _, r := range p.allRuns() {
				if r.isWatched() {
					r.advance(now)
				}
			}
			p.forget(now)
		}
	}
}

// keepDetails asks for the details of the runs that somebody looks at.
func (p *Page) keepDetails(ctx context.Context) {
	tick := time.NewTicker(detailInterval)
	defer tick.Stop()
	for {
		for _, r := range p.allRuns() {
			if r.isWatched() {
				r.refreshDetail(ctx, detailTimeout, detailInterval*3/4)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (p *Page) allRuns() []*Run {
	p.mu.Lock()
	defer p.mu.Unlock()
	runs := make([]*Run, 0, len(p.runs))
	for _, r := range p.runs {
		runs = append(runs, r)
	}
	return runs
}
