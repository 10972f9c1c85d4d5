package page

import (
	"sync"
	"time"
)

// browsers remembers which browsers have asked for the page lately and have not seen the end of the
// run.
type browsers struct {
	mu    sync.Mutex
	asked map[string]time.Time // by address
}

const (
	lately      = 3 * time.Second
	maxBrowsers = 256
)

// saw notes that a browser got the page, and whether the run had ended by then.
func (b *browsers) saw(address string, now time.Time, ended bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forget(now)
	delete(b.asked, address)
	if !ended && len(b.asked) < maxBrowsers {
		b.asked[address] = now
	}
}

// waiting reports whether a browser that asked lately has not seen the end.
func (b *browsers) waiting(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forget(now)
	return len(b.asked) > 0
}

func (b *browsers) forget(now time.Time) {
	for address, at := range b.asked {
		if now.Sub(at) > lately {
			delete(b.asked, address)
		}
	}
}
