package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// Signal is the cause of a context that SIGINT, as by Ctrl-C, SIGTERM or SIGHUP has ended.
type Signal struct{ syscall.Signal }

func (s Signal) Error() string { return "stopped by a signal: " + s.String() }

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
