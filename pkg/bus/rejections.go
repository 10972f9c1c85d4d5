package bus

import (
	"encoding/hex"
	"errors"
	"sync/atomic"

	"github.com/rs/zerolog"

	"nqueens/pkg/ratelimit"
)

// rejections counts messages that could not be read, and logs the first of each
// subject, and of each worker of another version: garbage comes in floods.
type rejections struct {
	log zerolog.Logger

	count   atomic.Uint64
	limiter ratelimit.Limiter
}

// newRejections returns a log of each subject's first message, of 1000 subjects at most.
func newRejections(log zerolog.Logger) *rejections {
	return &rejections{log: log, limiter: ratelimit.Limiter{Interval: ratelimit.Forever, MaxKeys: 1000}}
}

// shownBytes is how much of a refused message goes to the log.
const shownBytes = 16

func (r *rejections) add(subject string, data []byte, reason error) {
	r.count.Add(1)
	key := subject
	var version versionError
	if errors.As(reason, &version) {
		key += " version " + version.worker
	}
	if !r.limiter.Allow(key) {
		return
	}
	event := r.log.Warn().Err(reason)
	if version.worker != "" {
		event.Str("worker", version.worker)
	}
	event.Str("subject", subject).Int("bytes", len(data)).
		Str("begins", hex.EncodeToString(data[:min(len(data), shownBytes)])).
		Msg("refused a message; more of its kind are counted, not logged")
}
