package bus

import (
	"encoding/hex"
	"errors"
	"sync/atomic"

	"github.com/rs/zerolog"

	"nqueens/pkg/ratelimit"
)

// rejected counts the messages that could not be read, and logs the first of each
// subject, and of each worker of another version: garbage comes in floods.
type rejected struct {
	log     zerolog.Logger
	count   atomic.Uint64
	limiter ratelimit.Limiter
}

// loggedBytes is how much of a rejected message is logged.
const loggedBytes = 16

func newRejected(log zerolog.Logger) *rejected {
	return &rejected{log: log, limiter: ratelimit.Limiter{Interval: ratelimit.Forever, MaxKeys: 1000}}
}

func (r *rejected) add(subject string, data []byte, reason error) {
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
		Str("begins", hex.EncodeToString(data[:min(len(data), loggedBytes)])).
		Msg("rejected a message; more of its kind are counted, not logged")
}
