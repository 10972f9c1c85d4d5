package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// Signal is the cause of a context that a signal has ended: see [endings].
type Signal struct{ syscall.Signal }

func (s Signal) Error() string { return "stopped by a signal: " + s.String() }

// withSignals returns a context that the first of the signals in endings ends, with a [Signal] as
// its cause. A second signal ends the process at once, with the exit code of that signal, also
// after stop. If SIGHUP is ignored at the start, as under nohup, it stays ignored.
func withSignals(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signal.Ignore(syscall.SIGPIPE) // a write to a closed pipe returns an error
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, endings...)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
	go func() {
		cancel(Signal{(<-signals).(syscall.Signal)})
		os.Exit(exitSignal + int((<-signals).(syscall.Signal)))
	}()
	return ctx, func() { cancel(nil) }
}
