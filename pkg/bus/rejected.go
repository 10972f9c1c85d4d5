package bus

import (
	"encoding/hex"
	"errors"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/ratelimit"
)

// rejected counts the messages that could not be read, and logs the first of each
// subject, and of each worker of another version, and the number of all from time to time: garbage comes in
// floods.
type rejected struct {
	log     zerolog.Logger
	count   atomic.Uint64
	limiter ratelimit.Limiter
	summary ratelimit.Limiter // of the lines with the number
}

// summaryInterval is the least time between two lines with the number of rejected messages.
const summaryInterval = time.Minute

// loggedBytes is how much of a rejected message is logged.
const loggedBytes = 16

func newRejected(log zerolog.Logger) *rejected {
	r := &rejected{log: log, limiter: ratelimit.Limiter{Interval: ratelimit.Forever, MaxKeys: 1000}}
	r.summary.Interval = summaryInterval
	r.summary.Allow("") // the first line with the number comes after an interval
	return r
}

func (r *rejected) add(subject string, data []byte, reason error) {
	count := r.count.Add(1)
	key := subject
	var version versionError
	if errors.As(reason, &version) {
		key += " version " + version.worker
	}
	if !r.limiter.Allow(key) {
		if r.summary.Allow("") {
			r.log.Warn().Uint64("messages", count).Str("subject", subject).
				Msg("more messages can't be read and are rejected; the number is that of all since the start")
		}
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
