package coordinator

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"nqueens/pkg/queens"
	"nqueens/pkg/ratelimit"
)

// dispatcher runs the window's errands, some at a time, and tells where each task lies.
type dispatcher struct {
	tasks     Tasks
	log       zerolog.Logger
	requests  chan request
	completed chan request

	limiter ratelimit.Limiter
	lost    atomic.Uint64 // tasks found lost
}

// op says what the mail is to do with a task.
type op int

const (
	// opPublish it.
	opPublish op = iota
	// opCheck whether it lies at its place, and publish it with the next attempt if not.
	opCheck
	// opDelete it from its place: nobody is to get it any more.
	opDelete
)

// request is an errand for the mail.
type request struct {
	op        op
	task      queens.Task
	streamSeq uint64
	published bool // by the mail
}

// dispatchWorkers is the number of errands under way at once: the road to the server and
// back is longer than what is to be done at either end.
const dispatchWorkers = 16

func newDispatcher(tasks Tasks, log zerolog.Logger) *dispatcher {
	return &dispatcher{tasks: tasks, log: log, requests: make(chan request), completed: make(chan request)}
}

// execute runs errands until ctx ends.
func (m *dispatcher) run(ctx context.Context) error {
	var group errgroup.Group
	for range dispatchWorkers {
		group.Go(func() error { m.work(ctx); return nil })
	}
	return group.Wait()
}

func (m *dispatcher) work(ctx context.Context) {
	for {
		select {
		case j := <-m.requests:
			j = m.execute(ctx, j)
			select {
			case m.completed <- j:
			case <-ctx.Done():
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// retryInterval is how often to try again after a fault of the queue.
const retryInterval = time.Second

func (m *dispatcher) execute(ctx context.Context, j request) request {
	switch j.op {
	case opCheck:
		queued, err := m.tasks.Has(ctx, &j.task, j.streamSeq)
		if queued || err != nil {
			return j // it is there, or there is no telling: ask again later
		}
		j.task.Attempt++
		m.logLost(&j.task)
		m.publish(ctx, &j)
	case opPublish:
		m.publish(ctx, &j)
	case opDelete:
		m.retry(ctx, &j, "can't take a task off the queue, trying again", func() error {
			return m.tasks.Delete(ctx, &j.task, j.streamSeq)
		})
	}
	return j
}

func (m *dispatcher) publish(ctx context.Context, j *request) {
	m.retry(ctx, j, "can't publish tasks, trying again", func() error {
		place, err := m.tasks.Publish(ctx, &j.task)
		if err == nil {
			j.streamSeq, j.published = place, true
		}
		return err
	})
}

// retry tries until it is done, or ctx ends.
func (m *dispatcher) retry(ctx context.Context, j *request, complaint string, try func() error) {
	for {
		err := try()
		if err == nil || ctx.Err() != nil {
			return
		}
		if m.limiter.Allow("fault") {
			m.log.Warn().Err(err).Uint64("task", j.task.ID).Msg(complaint)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(retryInterval):
		}
	}
}

// logLost logs that a task was lost: the first, and then once in a while how many.
func (m *dispatcher) logLost(task *queens.Task) {
	lost := m.lost.Add(1)
	if m.limiter.Allow("lost") {
		m.log.Info().Uint64("task", task.ID).Uint32("attempt", task.Attempt).Uint64("lost_so_far", lost).
			Msg("tasks left the queue without a result, publishing them again")
	}
}
