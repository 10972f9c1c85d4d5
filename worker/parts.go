package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"nqueens/pkg/humanize"
	"nqueens/pkg/kernel"
	"nqueens/pkg/page"
	"nqueens/pkg/worker"
)

// part is what a process searches with beside others: a device, or the threads of the processor.
// For coordinators, each part is a worker of its own.
type part struct {
	kernel  kernel.Kernel
	threads int
	device  bool
	worker  *worker.Worker // nil while the part is left out or has ended; the team's mutex guards it
}

// searchers returns how many searchers the parts have together. A device has one.
func searchers(parts []part) (sum int) {
	for _, p := range parts {
		if p.device {
			sum++
		} else {
			sum += p.threads
		}
	}
	return sum
}

// Times between the tries of a device that has failed: each is twice the one before.
const (
	firstRetry   = 10 * time.Second
	longestRetry = 10 * time.Minute
)

// partsTimeout is how long a process that should end waits for its parts. A driver that hangs may
// keep one for ever.
const partsTimeout = 10 * time.Second

// team runs parts at the same time. A device that fails is left out, and tried again while another
// part works.
type team struct {
	parts  []part
	config worker.Config // of all parts; the team sets Process, Kernel, Threads and Problem

	mu        sync.Mutex
	transport transport        // nil before the first server
	working   int              // parts that are not left out and have not ended
	workers   []*worker.Worker // all so far
}

// transport is the connection of the parts to coordinators.
type transport interface {
	worker.Transport
	Problem() string // why there is no connection, or ""
	Connected() bool
}

// connect lets all parts of the next run use a connection.
func (t *team) connect(to transport) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.transport, t.config.Problem = to, to.Problem
}

// test runs the self-tests of all parts at once: see [kernel.SelfTest]. It returns the error of
// each part. err says why the process can't start: the processor fails, or all parts do.
func (t *team) test(ctx context.Context) (failed []error, err error) {
	failed = make([]error, len(t.parts))
	var tests sync.WaitGroup
	for i := range t.parts {
		tests.Go(func() { failed[i] = kernel.SelfTest(ctx, t.parts[i].kernel) })
	}
	tests.Wait()
	works := false
	for i, err := range failed {
		if err != nil && !t.parts[i].device {
			return failed, err
		}
		works = works || err == nil
	}
	if !works {
		return failed, errors.Join(failed...)
	}
	return failed, nil
}

// run runs the parts until ctx ends, or none works any more. It may be called again then. The
// parameter failed has the errors of test. run returns the errors of the parts that have not ended
// because they were idle or because ctx has ended.
func (t *team) run(ctx context.Context, failed []error) (err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	t.mu.Lock()
	t.working = 0
	for i := range t.parts {
		if failed[i] == nil {
			t.working++
		}
	}
	t.mu.Unlock()
	ends := make(chan error, len(t.parts))
	for i := range t.parts {
		go func() {
			err := t.keep(ctx, &t.parts[i], failed[i])
			if err != nil || !t.works() {
				stop()
			}
			ends <- err
		}()
	}
	stopped := ctx.Done()
	var late <-chan time.Time
	for left := len(t.parts); left > 0; {
		select {
		case ended := <-ends:
			left--
			err = errors.Join(err, ended)
		case <-stopped:
			stopped, late = nil, time.After(partsTimeout)
		case <-late:
			return errors.Join(err,
				fmt.Errorf("%s did not answer and was left behind: its driver hangs",
					humanize.Plural(left, "device")))
		}
	}
	return err
}

// keep runs a part until ctx ends or the part has been idle for long enough. A device that fails is
// tried again, unless it has counted wrongly. err is the error of its self-test. keep returns the
// error of the processor, or that of a device if no other part works.
func (t *team) keep(ctx context.Context, p *part, err error) error {
	for wait := firstRetry; ; wait = min(2*wait, longestRetry) {
		if err == nil {
			began := time.Now()
			err = t.search(ctx, p)
			others := t.change(-1) > 0
			if err == nil || !p.device || !others || ctx.Err() != nil {
				return err
			}
			if time.Since(began) > longestRetry {
				wait = firstRetry
			}
		}
		log := t.config.Log.With().Str("kernel", p.kernel.Name).Err(err).Logger()
		if errors.Is(err, kernel.ErrBroken) {
			log.Error().Msg("device " + p.kernel.Name +
				" counts wrongly: it is left out until this worker is started again")
			return nil
		}
		log.Warn().Dur("retry",
			wait).Msg(fmt.Sprintf("device %s has failed: it is left out, and tried again in %v",
			p.kernel.Name, wait))
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
		err = kernel.SelfTest(ctx, p.kernel)
		if ctx.Err() != nil {
			return nil
		}
		if err == nil {
			t.change(+1)
			t.config.Log.Info().Str("kernel", p.kernel.Name).Msg("device " + p.kernel.Name + " works again")
		}
	}
}

// search runs a worker for a part.
func (t *team) search(ctx context.Context, p *part) error {
	w, config := t.newWorker(p)
	text := fmt.Sprintf("worker on %s starts: %s, kernel %s",
		cmp.Or(config.Host, config.Process.Machine.Name), humanize.Plural(p.threads, "thread"),
		p.kernel.Name)
	config.Log.Info().Str("version", config.Version).Str("machine",
		config.Process.Machine.Name).Str("process", config.Process.Name).
		Str("kernel", p.kernel.Name).Int("threads", p.threads).Str(humanize.LogField,
		text).Msg("worker starts")
	err := w.Run(ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	p.worker = nil
	return err
}

// newWorker returns a worker for a part. The first one has the name of the process.
func (t *team) newWorker(p *part) (*worker.Worker, worker.Config) {
	t.mu.Lock()
	defer t.mu.Unlock()
	config := t.config
	config.Kernel, config.Threads = p.kernel, p.threads
	config.SelfTest = func(context.Context) error { return nil } // the team has tested the part
	if len(t.parts) > 1 {
		config.Label = p.kernel.Name
	}
	if len(t.workers) > 0 {
		config.Process = worker.NewProcess(config.Process.Machine)
	}
	w := worker.New(config, t.transport)
	p.worker = w
	t.workers = append(t.workers, w)
	return w, config
}

// change adds to the number of parts that work, and returns the sum.
func (t *team) change(by int) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.working += by
	return t.working
}

func (t *team) works() bool { return t.change(0) > 0 }

// status returns what the page of the process shows: sums over all parts, and for what each part
// waits.
func (t *team) status() page.Worker {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := page.Worker{
		Machine: cmp.Or(t.config.Host, t.config.Process.Machine.Name),
		Process: t.config.Process.Name, Version: t.config.Version,
		Connected: t.transport != nil && t.transport.Connected(),
	}
	for i, p := range t.parts {
		s.Threads += p.threads
		if i > 0 {
			s.Kernel += ","
		}
		s.Kernel += p.kernel.Name
		if p.worker == nil {
			continue
		}
		if wait := p.worker.Waits(p.worker.Stats()); wait != nil {
			s.Waits = append(s.Waits, page.Wait{Kernel: p.kernel.Name, Wait: *wait})
		}
	}
	for _, w := range t.workers {
		stats := w.Stats()
		s.Busy, s.Tasks = s.Busy+stats.Busy, s.Tasks+stats.Tasks
	}
	return s
}
