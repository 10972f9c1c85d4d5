package natsserver

import (
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"

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

const cannotWrite = "the embedded server can't write to %s: fix that and resume"

// failures are the phrases in the server's log that tell that a store cannot be written,
// and what they mean for the folder %s: the errors with which an operating system refuses
// to write, and what the server (2.15) says when it gives up a stream (filestore.go and
// stream.go, setWriteErr) or all of them (jetstream.go), whatever the reason. It disables
// a stream at the first such error.
var failures = []struct{ phrase, advice string }{
	{syscall.ENOSPC.Error(), "the disk of %s is full: make room and resume"},
	{syscall.EDQUOT.Error(), "the disk quota for %s is used up: make room and resume"},
	{syscall.EROFS.Error(), "the disk of %s is read-only: fix that and resume"},
	{syscall.EIO.Error(), "the disk of %s fails: repair it, or move the folder to another, and resume"},
	{"Critical write error", cannotWrite},
	{"critical write error", cannotWrite},
	{"disabling JetStream", cannotWrite},
	{"will be DISABLED", cannotWrite},
}

// failureAdvice returns what a line of the server's log means and what to do about it, if
// the line tells that a store cannot be written.
func failureAdvice(store, line string) (advice string, failed bool) {
	for _, f := range failures {
		if strings.Contains(line, f.phrase) {
			return fmt.Sprintf(f.advice+" (%s)", store, line), true
		}
	}
	return "", false
}
