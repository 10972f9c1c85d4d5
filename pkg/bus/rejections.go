package bus

import (
	"encoding/hex"
	"errors"
	"sync"

	"github.com/rs/zerolog"
)

// rejections counts messages that could not be read, and logs the first of each
// subject, and of each worker of another version: garbage comes in floods.
type rejections struct {
	log zerolog.Logger

	mu      sync.Mutex
	count   uint64
	subject map[string]struct{}
}

// maxSubjects bounds the memory that foreign subjects can take.
const maxSubjects = 1000

// shownBytes is how much of a refused message goes to the log.
const shownBytes = 16

func (r *rejections) add(subject string, data []byte, reason error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count++
	key := subject
	var version versionError
	if errors.As(reason, &version) {
		key += " version " + version.worker
	}
	if _, seen := r.subject[key]; seen || len(r.subject) >= maxSubjects {
		return
	}
	if r.subject == nil {
		r.subject = make(map[string]struct{})
	}
	r.subject[key] = struct{}{}
	event := r.log.Warn().Err(reason)
	if version.worker != "" {
		event.Str("worker", version.worker)
	}
	event.Str("subject", subject).Int("bytes", len(data)).
		Str("begins", hex.EncodeToString(data[:min(len(data), shownBytes)])).
		Msg("refused a message; more of its kind are counted, not logged")
}

func (r *rejections) total() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count
}
