package natsserver

import (
	"fmt"
	"regexp"
	"sync/atomic"

	"github.com/rs/zerolog"

	"nqueens/pkg/ratelimit"
)

// serverLog passes on the server's log. It keeps the first fatal error, and the first
// failure to write the store: the server reports them nowhere else.
type serverLog struct {
	log     zerolog.Logger
	limiter ratelimit.Limiter // by message, or by kind of those about clients: a full disk is an error with each message
	store   string            // the server's folder

	fatal atomic.Pointer[string] // such as a port in use

	failed chan string // what the first failure means and what to do
}

func newServerLog(log zerolog.Logger, store string) *serverLog {
	return &serverLog{log: log.With().Str("from", "nats-server").Logger(), store: store, failed: make(chan string, 1)}
}

// Fatalf keeps the first fatal error.
func (l *serverLog) Fatalf(format string, v ...any) {
	message := fmt.Sprintf(format, v...)
	l.fatal.CompareAndSwap(nil, &message)
}

// Errorf logs an error of the server.
func (l *serverLog) Errorf(format string, v ...any) {
	l.report(zerolog.ErrorLevel, fmt.Sprintf(format, v...))
}

// Warnf logs a warning of the server.
func (l *serverLog) Warnf(format string, v ...any) {
	l.report(zerolog.WarnLevel, fmt.Sprintf(format, v...))
}

// aboutClient matches the begin of a line about the connection of a client, which names the client: no two are the
// same. The rest may be text of the client, which may be anybody: it tells nothing about the store.
var aboutClient = regexp.MustCompile(`^\S+ - [a-z]+:\d+ - `)

// refusal matches the kind of an error of a client that the server refuses.
var refusal = regexp.MustCompile(`handshake error|authentication error`)

// report logs a message unless it, or one of its kind about a client, was logged a moment ago, and detects a failure.
func (l *serverLog) report(level zerolog.Level, message string) {
	key := message
	if aboutClient.MatchString(message) {
		if key = refusal.FindString(message); key != "" {
			level = zerolog.WarnLevel
		}
	} else if advice, failed := failureAdvice(l.store, message); failed {
		select {
		case l.failed <- advice:
		default: // there was an earlier one
		}
	}
	if l.limiter.Allow(key) {
		l.log.WithLevel(level).Msg(message)
	}
}

// Noticef logs a notice for debugging: the server writes many at start.
func (l *serverLog) Noticef(format string, v ...any) { l.log.Debug().Msgf(format, v...) }

// Debugf logs the server's debug output.
func (l *serverLog) Debugf(format string, v ...any) { l.log.Debug().Msgf(format, v...) }

// Tracef drops the server's protocol trace.
func (l *serverLog) Tracef(string, ...any) {}
