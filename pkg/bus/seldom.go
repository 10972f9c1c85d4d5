package bus

import (
	"sync"
	"time"
)

const (
	// sayEvery is how often something that lasts is logged.
	sayEvery = 30 * time.Second
	// maxTexts bounds the memory that texts from outside can take.
	maxTexts = 100
)

// seldom lets through what is to be logged once in a while, each text for itself.
// It is safe for concurrent use; the zero value lets the first through.
type seldom struct {
	mu   sync.Mutex
	last map[string]time.Time
}

// due reports whether to log that text now.
func (s *seldom) due(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, said := s.last[text]
	if said && time.Since(last) < sayEvery || !said && len(s.last) >= maxTexts {
		return false
	}
	if s.last == nil {
		s.last = make(map[string]time.Time)
	}
	s.last[text] = time.Now()
	return true
}
