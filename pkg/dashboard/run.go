package dashboard

import (
	"context"
	"errors"
	"sync"
	"time"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// Run is a run on a page. Its exported methods are safe for concurrent use, and never block.
type Run struct {
	name    string
	source  Source
	version string
	detail  DetailFunc         // nil if nobody knows more than the snapshots
	stop    context.CancelFunc // ends following; it does nothing for the run of this process

	mu      sync.Mutex // held for moments only
	known   knowledge
	history *run.History // at Unix times
	frame   *frame       // the latest; never nil
	lookers int
	leftAt  time.Time // when the last of them left

	refreshing  sync.Mutex // held while a detail is asked for
	refreshedAt time.Time

	encoding sync.Mutex // held while objects are encoded
	hintedAt time.Time  // when a frame last said that lists may be asked for anew
	bodies   map[string]*body
}

// knowledge is what is known of a run. What it points to never changes.
type knowledge struct {
	latest   *run.Snapshot // nil before the first
	at       time.Time     // of latest
	status   string
	manifest *queens.Manifest // nil while unknown
	work     []float64        // by class, for a run that is not of this process
	details  *run.Detail      // the latest; nil before the first
	lostAt   time.Time        // when following ended with an error; zero before
	replaced bool             // the page has another run of the name
}

// now returns what is known of the run now.
func (r *Run) now() knowledge {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.known
}

func newRun(name string, source Source, version string, detail DetailFunc) *Run {
	return &Run{
		name: name, source: source, version: version, detail: detail, stop: func() {}, leftAt: time.Now(),
		history: run.NewHistory(maxRows), frame: &frame{newer: make(chan struct{})}, bodies: make(map[string]*body),
	}
}

// Name returns the name of the run.
func (r *Run) Name() string { return r.name }

// Update shows a snapshot. Nobody may change it any more. The last snapshot of a run names no workers:
// those of the one before stay.
func (r *Run) Update(s *run.Snapshot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if before := r.known.latest; before != nil && s.State != run.Running && len(s.WorkerList) == 0 {
		last := *s
		last.WorkerList = before.WorkerList
		s = &last
	}
	now := time.Now()
	r.known.latest, r.known.at = s, now
	r.history.Observe(time.Duration(now.UnixNano()), s)
}

// SetStatus says why what is shown may be old, or at an end; empty if the run is live.
func (r *Run) SetStatus(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known.status = queens.Sanitize(text)
}

// lose says at once that following the run has ended, and why.
func (r *Run) lose(why error) {
	r.SetStatus("following the run has ended: " + why.Error())
	now := time.Now()
	r.mu.Lock()
	r.known.lostAt = now
	r.mu.Unlock()
	r.forgetBodies()
	r.advance(now)
}

// isLost reports whether following ended with an error so long ago that the next request has the run followed
// anew. A run whose end is known is not: that is all there is to know.
func (r *Run) isLost() bool {
	known := r.now()
	over := known.latest != nil && known.latest.State.Finished()
	return !over && !known.lostAt.IsZero() && time.Since(known.lostAt) > linger
}

// whyUnknown says why nothing is known of the run.
func (k *knowledge) whyUnknown() error {
	if k.status == "" {
		return errUnknown
	}
	return errors.New(k.status)
}

// SetManifest says what is counted, and the share of each class in the run's estimated work. Nobody
// may change them any more.
func (r *Run) SetManifest(m *queens.Manifest, work []float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known.manifest, r.known.work = m, work
}

// replace ends following the run, and the connections to its events.
func (r *Run) replace() {
	r.stop()
	r.mu.Lock()
	r.known.replaced = true
	r.mu.Unlock()
	r.advance(time.Now())
}

func (r *Run) enter() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lookers++
}

func (r *Run) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lookers--
	r.leftAt = time.Now()
}

// isWatched reports whether somebody looks at the run.
func (r *Run) isWatched() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lookers > 0
}

// idleSince returns for how long nobody has looked at the run.
func (r *Run) idleSince(now time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lookers > 0 {
		return 0
	}
	return now.Sub(r.leftAt)
}

const (
	// detailTimeout is how long to wait for a detail.
	detailTimeout = 2 * time.Second
	// lastDetailTimeout is how long to wait for the detail of a run that has ended.
	lastDetailTimeout = 200 * time.Millisecond
)

// refreshDetail asks for a detail, unless one was asked for lately.
func (r *Run) refreshDetail(ctx context.Context, timeout, lately time.Duration) {
	if r.detail == nil {
		return
	}
	r.refreshing.Lock()
	defer r.refreshing.Unlock()
	if time.Since(r.refreshedAt) < lately {
		return
	}
	ctx, done := context.WithTimeout(ctx, timeout)
	defer done()
	d, err := r.detail(ctx)
	r.refreshedAt = time.Now()
	if err != nil || d == nil {
		return // the one before is shown, with its time
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known.details = d
}
