package audit

import (
	"sync"
	"time"
)

// Progress is how far a recount is. Other goroutines may read it at any time.
type Progress struct {
	mu       sync.Mutex
	done, of uint64
	started  time.Time
	limit    time.Duration
}

func (p *Progress) start(of uint64, limit time.Duration) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.of, p.started, p.limit = of, time.Now(), limit
}

func (p *Progress) set(done uint64) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done = done
}

// Get returns how many tasks of how many are counted again, and about how long the rest takes:
// 0 if that is not known. of is 0 before the recount begins.
func (p *Progress) Get() (done, of uint64, left time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	elapsed := time.Since(p.started)
	if p.done > 0 {
		left = time.Duration(float64(elapsed) / float64(p.done) * float64(p.of-p.done))
	}
	if p.limit > 0 {
		rest := max(p.limit-elapsed, 0)
		if p.done == 0 || rest < left {
			left = rest
		}
	}
	return p.done, p.of, left
}
