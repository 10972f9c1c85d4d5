package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"slices"
	"syscall"
)

// Signal is the cause of a context that SIGINT, as by Ctrl-C, SIGTERM or SIGHUP has ended.
type Signal struct{ Number syscall.Signal }

func (s Signal) Error() string {
	if s.Number == syscall.SIGINT {
		return "interrupted"
	}
	return "terminated"
}

// isOnlySignal reports whether an error says nothing but that a signal has ended the program, which the sender of the signal
// knows.
func isOnlySignal(err error) bool {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return !slices.ContainsFunc(joined.Unwrap(), func(err error) bool { return !isOnlySignal(err) })
	}
	if wrapped := errors.Unwrap(err); wrapped != nil {
		return isOnlySignal(wrapped)
	}
	_, ok := err.(Signal) //nolint:errorlint // it wraps nothing
	return ok
}

// withSignals returns a context that the first SIGINT, SIGTERM or SIGHUP ends, with a [Signal] as its cause. The second ends
// the process at once, with its exit code, also after stop. If SIGHUP is ignored at the start, as under nohup, it stays so.
func withSignals(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signal.Ignore(syscall.SIGPIPE) // a closed pipe is an error of the write
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
	go func() {
		cancel(Signal{(<-signals).(syscall.Signal)})
		os.Exit(exitSignal + int((<-signals).(syscall.Signal)))
	}()
	return ctx, func() { cancel(nil) }
}
