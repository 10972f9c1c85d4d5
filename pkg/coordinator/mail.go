package coordinator

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/queens"
)

// mail runs the window's errands, one at a time, and tells where each task lies.
type mail struct {
	bus    Bus
	log    zerolog.Logger
	jobs   chan job
	placed chan job

	said time.Time // when a fault of the queue was last logged
	lost uint64    // tasks found lost, and
	told time.Time // when that was last logged
}

func newMail(bus Bus, log zerolog.Logger) *mail {
	return &mail{bus: bus, log: log, jobs: make(chan job), placed: make(chan job)}
}

// deliver runs errands until ctx ends.
func (m *mail) deliver(ctx context.Context) {
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

// Faults of the queue: how often to try again, and how often to say so.
const (
	retryEvery = time.Second
	sayEvery   = 30 * time.Second
)

func (m *mail) run(ctx context.Context, j job) job {
	if j.look {
		queued, err := m.bus.Queued(ctx, &j.task, j.place)
		if queued || err != nil {
			return j // it is there, or there is no telling: ask again later
		}
		j.task.Attempt++
		m.tellLost(&j.task)
	}
	for {
		place, err := m.bus.PublishTask(ctx, &j.task)
		if err == nil {
			j.place = place
			return j
		}
		if ctx.Err() != nil {
			return j
		}
		if time.Since(m.said) > sayEvery {
			m.said = time.Now()
			m.log.Warn().Err(err).Uint64("task", j.task.ID).Msg("can't publish tasks, trying again")
		}
		select {
		case <-ctx.Done():
			return j
		case <-time.After(retryEvery):
		}
	}
}

// tellLost logs that a task was lost: the first, and then once in a while how many.
func (m *mail) tellLost(task *queens.Task) {
	m.lost++
	if time.Since(m.told) < sayEvery {
		return
	}
	m.told = time.Now()
	m.log.Info().Uint64("task", task.ID).Uint32("attempt", task.Attempt).Uint64("lost_so_far", m.lost).
		Msg("tasks left the queue without a result, publishing them again")
}
