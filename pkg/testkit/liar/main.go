// Command liar is a worker that lies: each of its searchers adds one to every fourth count. With
// it, tests show that wrong counts of a worker do not make a total wrong. It has the worker's flags
// for servers, and --machine, --threads and --kernel.
package main

import (
	"cmp"
	"context"
	"os"
	"sync/atomic"

	"github.com/rs/zerolog"
	"github.com/spf13/pflag"

	"nqueens/pkg/bus"
	"nqueens/pkg/kernel"
	"nqueens/pkg/queens"
	"nqueens/pkg/worker"
)

func main() {
	log := zerolog.New(os.Stderr).With().Timestamp().Logger()
	var server bus.Flags
	flags := pflag.NewFlagSet("liar", pflag.ExitOnError)
	server.Register(flags)
	machine := flags.String("machine", "liar", "")
	threads := flags.Int("threads", 1, "")
	every := flags.Int("every", 4, "")
	name := flags.String("kernel", kernel.Auto, "")
	_ = flags.Parse(os.Args[1:]) // it exits if that fails
	options, err1 := server.Connection("nqueens liar")
	k, err2 := kernel.Choose(*name)
	if err := cmp.Or(err1, err2); err != nil {
		log.Fatal().Err(err).Send()
	}
	honest := k.New
	k.New = func() (kernel.Counter, error) {
		c, err := honest()
		return &liar{Counter: c, every: *every}, err
	}
	options.Wait, options.Log = true, log
	b, err := bus.Connect(context.Background(), options)
	if err == nil {
		on := queens.Machine{User: cmp.Or(options.User, queens.WorkerUser), Name: *machine}
		cfg := worker.Config{
			Process: worker.NewProcess(on), Version: "devel", Kernel: k, Threads: *threads, Log: log,
		}
		cfg.SelfTest = func(context.Context) error { return nil } // it would find the lies
		err = worker.New(cfg, b).Run(context.Background())
	}
	log.Fatal().Err(err).Msg("the worker ended")
}

// liar adds one to one count of each so many.
type liar struct {
	kernel.Counter
	counts, every int
}

func (l *liar) Count(
	ctx context.Context, b *queens.Board, prefixes []queens.Prefix, pulse *atomic.Uint64,
) (uint64, error) {
	count, err := l.Counter.Count(ctx, b, prefixes, pulse)
	l.counts++
	if err == nil && l.counts%l.every == 0 {
		count++
	}
	return count, err
}
