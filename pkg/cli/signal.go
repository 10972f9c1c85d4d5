package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// Signal is the cause of a context that a signal ended.
type Signal struct{ Number syscall.Signal }

func (s Signal) Error() string {
	return "stopped by signal: " + s.Number.String()
}

// withSignals returns a context that the first interrupt or SIGTERM ends, with a [Signal]
// as its cause. The second ends the process at once, with its exit code, also after stop.
func withSignals(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signal.Ignore(syscall.SIGPIPE) // a closed pipe is an error of the write
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		cancel(Signal{(<-signals).(syscall.Signal)})
		os.Exit(exitSignal + int((<-signals).(syscall.Signal)))
	}()
	return ctx, func() { cancel(nil) }
}
