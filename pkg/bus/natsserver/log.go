package natsserver

import (
	"fmt"
	"sync"

	"github.com/rs/zerolog"

	"nqueens/pkg/ratelimit"
)

// serverLog passes the server's log on. It keeps the first fatal error and the first
// failure to write the store: the server reports those to its log alone.
type serverLog struct {
	log     zerolog.Logger
	limiter ratelimit.Limiter // by text: a full disk is an error with each message
	failed  chan struct{}     // closed when there is a failure

	mu    sync.Mutex
	first error
	cause string // of the failure, in the server's words
}

func newServerLog(log zerolog.Logger) *serverLog {
	return &serverLog{log: log, failed: make(chan struct{})}
}

// fatal returns the first fatal error: a port in use, a store that can't be made.
func (l *serverLog) fatal() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.first
}

// failure returns the server's words for why it can't write its store.
func (l *serverLog) failure() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cause
}

// watch keeps the first text that tells of a failure.
func (l *serverLog) watch(text string) {
	if !tellsFailure(text) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cause == "" {
		l.cause = text
		close(l.failed)
	}
}

// Fatalf keeps the first fatal error.
func (l *serverLog) Fatalf(format string, v ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.first == nil {
		l.first = fmt.Errorf(format, v...)
	}
}

const source = "nats-server"

// Errorf logs an error of the server.
func (l *serverLog) Errorf(format string, v ...any) {
	text := fmt.Sprintf(format, v...)
	l.watch(text)
	if l.limiter.Allow(text) {
		l.log.Error().Str("from", source).Msg(text)
	}
}

// Warnf logs a warning of the server.
func (l *serverLog) Warnf(format string, v ...any) {
	text := fmt.Sprintf(format, v...)
	l.watch(text)
	if l.limiter.Allow(text) {
		l.log.Warn().Str("from", source).Msg(text)
	}
}

// Noticef logs what the server announces; it announces much at start.
func (l *serverLog) Noticef(format string, v ...any) {
	l.log.Debug().Str("from", source).Msgf(format, v...)
}

// Debugf logs the server's debug output.
func (l *serverLog) Debugf(format string, v ...any) {
	l.log.Debug().Str("from", source).Msgf(format, v...)
}

// Tracef drops the server's protocol trace.
func (l *serverLog) Tracef(string, ...any) {}
