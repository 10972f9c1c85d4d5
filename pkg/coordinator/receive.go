package coordinator

import (
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/bus"
	"nqueens/pkg/coordinator/core"
	"nqueens/pkg/queens"
)

const (
	// room bounds the bytes of the messages that are out of the mailbox and that the core has not got
	// yet. A message counts for at least leastRoom, so there are at most 128 of them.
	room      = 16 << 20
	leastRoom = 128 << 10
	// warnings bounds the log lines per minute about messages that can't be read.
	warnings = 10
)

// serve begins to take messages.
func (s *Coordinator) serve(run string) error {
	hear := func(a queens.Announcement) {
		if a.Run == run {
			s.inputs.put(func(now time.Duration) { s.core.HeardOther(now, a) })
		}
	}
	for _, subscribe := range []func() (stop func(), err error){
		func() (func(), error) { return s.Wire.Announcements(hear) },
		func() (func(), error) { return s.Wire.ServeWork(run, s.take) },
		func() (func(), error) { return s.Wire.ServeStatus(run, s.latest.Load) },
	} {
		stop, err := subscribe()
		if err != nil {
			return err
		}
		s.stops = append(s.stops, stop)
	}
	return nil
}

// warner returns a logger for messages that anybody can send: it drops all but a few lines a
// minute.
func warner(log zerolog.Logger) zerolog.Logger {
	return log.Sample(&zerolog.BurstSampler{Burst: warnings, Period: time.Minute})
}

// take takes a message of a worker. It never waits.
func (s *Coordinator) take(m bus.Message) {
	s.mail.put(time.Since(s.start), core.Message{From: m.From, IsDelivery: bus.IsDelivery(m.Data),
		Bytes: len(m.Data), Content: m})
}

// read takes messages out of the mailbox when there is room to handle them, until the coordinator
// is closed.
func (s *Coordinator) read() {
	for {
		// room for any message: the mailbox decides only when it is there
		if s.room.Acquire(s.ctx, bus.MaxFromWorker) != nil {
			return
		}
		m, open := s.mail.next(s.ctx, s.start)
		if !open {
			return
		}
		message := m.Content.(bus.Message)
		takes := min(max(int64(len(message.Data)), leastRoom), bus.MaxFromWorker)
		s.room.Release(bus.MaxFromWorker - takes)
		s.jobs.put(func(at *station) {
			s.receive(at, message, func() { s.room.Release(takes) })
		})
	}
}

// receive decodes and checks a message, and gives it to the loop. It calls done when the message
// takes no room any more.
func (s *Coordinator) receive(at *station, m bus.Message, done func()) {
	message, err := bus.DecodeFromWorker(m.Data)
	switch {
	case err != nil:
		done()
		s.warn.Warn().Err(err).Str("machine", m.From.Machine.Name).Str("process", m.From.Name).
			Msg("a message of a worker can't be read, and the worker takes no part")
	case message.Request != nil:
		request := at.request(m.From, *message.Request, remote(m.Reply))
		s.inputs.put(func(now time.Duration) { done(); s.core.WorkRequested(now, request) })
	default:
		delivery := at.delivery(m.From, *message.Delivery, remote(m.Reply))
		s.inputs.put(func(now time.Duration) { done(); s.core.Delivered(now, delivery) })
	}
}

// work does jobs until the coordinator is closed.
func (s *Coordinator) work() {
	at := newStation(s.State.Header(), s.Index)
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-s.jobs.ready:
			for _, job := range s.jobs.take(1) {
				job(at)
			}
		}
	}
}
