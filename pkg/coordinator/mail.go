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

// mail runs the window's errands, some at a time, and tells where each task lies.
type mail struct {
	bus    Bus
	log    zerolog.Logger
	jobs   chan job
	placed chan job

	limiter ratelimit.Limiter
	lost    atomic.Uint64 // tasks found lost
}

// errand says what the mail is to do with a task.
type errand int

const (
	// publish it.
	publish errand = iota
	// look whether it lies at its place, and publish it with the next attempt if not.
	look
	// withdraw it from its place: nobody is to get it any more.
	withdraw
)

// job is an errand for the mail.
type job struct {
	errand    errand
	task      queens.Task
	place     uint64
	published bool // by the mail
}

// carriers is the number of errands under way at once: the road to the server and
// back is longer than what is to be done at either end.
const carriers = 16

func newMail(bus Bus, log zerolog.Logger) *mail {
	return &mail{bus: bus, log: log, jobs: make(chan job), placed: make(chan job)}
}

// deliver runs errands until ctx ends.
func (m *mail) deliver(ctx context.Context) error {
	var group errgroup.Group
	for range carriers {
		group.Go(func() error { m.carry(ctx); return nil })
	}
	return group.Wait()
}

func (m *mail) carry(ctx context.Context) {
	for {
		select {
		case j := <-m.jobs:
			j = m.run(ctx, j)
			select {
			case m.placed <- j:
			case <-ctx.Done():
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// retryEvery is how often to try again after a fault of the queue.
const retryEvery = time.Second

func (m *mail) run(ctx context.Context, j job) job {
	switch j.errand {
	case look:
		queued, err := m.bus.HasTask(ctx, &j.task, j.place)
		if queued || err != nil {
			return j // it is there, or there is no telling: ask again later
		}
		j.task.Attempt++
		m.tellLost(&j.task)
		m.publish(ctx, &j)
	case publish:
		m.publish(ctx, &j)
	case withdraw:
		m.insist(ctx, &j, "can't take a task off the queue, trying again", func() error {
			return m.bus.DeleteTask(ctx, &j.task, j.place)
		})
	}
	return j
}

func (m *mail) publish(ctx context.Context, j *job) {
	m.insist(ctx, j, "can't publish tasks, trying again", func() error {
		place, err := m.bus.PublishTask(ctx, &j.task)
		if err == nil {
			j.place, j.published = place, true
		}
		return err
	})
}

// insist tries until it is done, or ctx ends.
func (m *mail) insist(ctx context.Context, j *job, complaint string, try func() error) {
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
		case <-time.After(retryEvery):
		}
	}
}

// tellLost logs that a task was lost: the first, and then once in a while how many.
func (m *mail) tellLost(task *queens.Task) {
	lost := m.lost.Add(1)
	if m.limiter.Allow("lost") {
		m.log.Info().Uint64("task", task.ID).Uint32("attempt", task.Attempt).Uint64("lost_so_far", lost).
			Msg("tasks left the queue without a result, publishing them again")
	}
}
