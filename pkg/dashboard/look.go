package dashboard

import (
	"context"
	"errors"
	"slices"
	"time"

	"nqueens/pkg/queens"
	"nqueens/pkg/report"
)

// Errors of look.
var (
	errNoRun    = errors.New("there is no such run")
	errTooMany  = errors.New("too many runs are looked at: try again later")
	errUnknown  = errors.New("nothing is known of the run yet: try again later")
	errTooBusy  = errors.New("too many connections: try again later")
	errNoPath   = errors.New("there is no such path: docs/api.md has all of them")
	errNoMethod = errors.New("only GET requests are answered")
)

// look returns a run to look at, and follows it if nobody has looked at it lately, or if following it failed
// some time ago. The caller calls [Run.leave] once.
func (p *Page) look(ctx context.Context, name string) (*Run, error) {
	if r := p.lookKnown(name); r != nil {
		return r, nil
	}
	if err := queens.ValidateRun(name); err != nil || p.server == nil {
		return nil, errNoRun
	}
	listed, err := p.list.get(ctx, p.server)
	if !slices.ContainsFunc(listed, func(r report.ListedRun) bool { return r.Run == name }) {
		if err != nil {
			return nil, errUnknown
		}
		return nil, errNoRun
	}
	return p.startFollowing(name)
}

func (p *Page) lookKnown(name string) *Run {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.runs[name]
	if r == nil || r.isLost() {
		return nil
	}
	r.enter()
	return r
}

// startFollowing follows a run of the server.
func (p *Page) startFollowing(name string) (*Run, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.runs[name]
	if before != nil && !before.isLost() {
		before.enter()
		return before, nil
	}
	select {
	case <-p.closing:
		return nil, errUnknown
	default:
	}
	if before == nil && len(p.runs) > maxRuns {
		return nil, errTooMany
	}
	r := newRun(name, Watch, p.cfg.Version, nil)
	ctx, stop := context.WithCancel(context.Background())
	r.stop = stop
	r.enter()
	p.runs[name] = r
	if before != nil {
		before.replace()
	}
	p.follows.Go(func() {
		if err := p.server.Follow(ctx, r); err != nil && ctx.Err() == nil {
			r.lose(err)
		}
	})
	return r, nil
}

// forget ends following runs that nobody has looked at for a while.
func (p *Page) forget(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for name, r := range p.runs {
		if r != p.own && r.idleSince(now) > linger {
			r.stop()
			delete(p.runs, name)
		}
	}
}
