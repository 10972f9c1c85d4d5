package coordinator

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"nqueens/pkg/bus"
)

// count lets the worker count all tasks, and waits for the end of the run.
func (s *service) count() {
	s.deliver(s.ask(1000))
	s.disk.next(nil) // the counts
	<-s.total
	s.disk.next(nil) // the mark
	if err := <-s.ended; err != nil {
		s.t.Error(err)
	}
}

// lingers returns how long Linger takes.
func (s *service) lingers(ctx context.Context) time.Duration {
	begin := time.Now()
	s.c.Linger(ctx)
	return time.Since(begin)
}

// After the end of a run, its coordinator answers workers for 5 s: they are told that the run has
// ended.
func TestLinger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startService(t)
		s.count()
		s.disk.gone = context.Canceled // nobody looks at the ledger any more
		done := make(chan time.Duration)
		go func() { done <- s.lingers(t.Context()) }()
		time.Sleep(4 * time.Second)
		replies := s.send(1)
		synctest.Wait()
		if len(replies) != 1 {
			t.Error("a request gets no reply after the end")
		} else if reply, err := bus.DecodeWorkReply(<-replies); err != nil || len(reply.Chunks) > 0 {
			t.Errorf("after the end the reply is %+v, error %v", reply, err)
		}
		if took := <-done; took != lingerTime {
			t.Errorf("it answers for %v", took)
		}
		s.close()
	})
}

// A coordinator answers no longer than its context lasts.
func TestLingerIsCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startService(t)
		s.count()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if took := s.lingers(ctx); took != time.Second {
			t.Errorf("it answers for %v", took)
		}
		s.close()
	})
}

// If nobody has to hear of the end, or the run was only stopped, the coordinator ends at once.
func TestNobodyToTell(t *testing.T) {
	for about, end := range map[string]func(s *service){
		"the worker has left": func(s *service) {
			chunks := s.ask(1000)
			s.ask(0)
			s.deliver(chunks)
			s.disk.next(nil)
			<-s.total
			s.disk.next(nil)
		},
		"the run is stopped": func(s *service) {
			s.ask(1)
			s.stop()
			s.disk.next(nil)
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := startService(t)
			end(s)
			if err := <-s.ended; err != nil {
				t.Errorf("%s: %v", about, err)
			}
			if took := s.lingers(t.Context()); took != 0 {
				t.Errorf("%s: it answers for %v", about, took)
			}
			s.close()
		})
	}
}
