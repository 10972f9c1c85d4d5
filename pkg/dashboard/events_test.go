package dashboard

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"nqueens/pkg/run"
)

// A new connection gets the run at once, and then the latest snapshot every second, and at the end the last state,
// and the end.
func TestEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, Config{})
		s.Update(snapshot(1))
		l := s.listen()
		if got := l.await(t, "run"); got["done"] != 1.0 || got["source"] != "coordinator" {
			t.Errorf("at first: %v", got)
		}
		s.Update(snapshot(2))
		begun := time.Now()
		for i := range 10 {
			s.Update(snapshot(3))
			if got := l.await(t, "run"); got["done"] != 3.0 {
				t.Errorf("event %d: %v", i, got)
			}
		}
		if took := time.Since(begun); took < 9*time.Second || took > 11*time.Second {
			t.Errorf("ten events came in %v", took)
		}
		s.Update(complete())
		if got := l.await(t, "run"); got["total"] != "92" || got["known"] != "match" || got["confirmed"] != "published" {
			t.Errorf("in the end: %v", got)
		}
		l.await(t, "end")
		if e, err := l.next(); !errors.Is(err, io.EOF) {
			t.Errorf("after the end: %v, error %v", e, err)
		}
		late := s.listen()
		if got := late.await(t, "run"); got["state"] != "complete" {
			t.Errorf("a late connection gets %v", got)
		}
		late.await(t, "end")
	})
}

// Of a run of which nothing is known yet, a connection gets comments until there is a snapshot.
func TestEventsBeforeTheFirstSnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, Config{})
		l := s.listen()
		for range 3 {
			if e, err := l.next(); !errors.Is(err, errComment) {
				t.Fatalf("event %v, error %v", e, err)
			}
		}
		s.Update(snapshot(1))
		l.await(t, "run")
	})
}

// A browser that reads nothing delays neither updates nor another browser, and is disconnected after
// ten seconds. One that reads slowly gets the latest state, not those that it has missed.
func TestSlowBrowsers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, Config{})
		s.Update(snapshot(1))
		dead, slow, quick := s.listen(), s.listen(), s.listen()
		for range 10 {
			slow.await(t, "run")
			quick.await(t, "run")
			time.Sleep(2 * time.Second)
		}
		for i := range 6 {
			s.Update(snapshot(uint64(i)))
			before := time.Now()
			for old := 0; quick.await(t, "run")["done"] != float64(i); old++ {
				if old == 2 { // that was written before, or at the same time
					t.Fatalf("the quick browser does not get state %d", i)
				}
			}
			if took := time.Since(before); took > frameInterval {
				t.Errorf("state %d came after %v", i, took)
			}
		}
		missed := 0
		for got := slow.await(t, "run"); got["done"] != 5.0; got = slow.await(t, "run") {
			missed++
		}
		if missed > 3 { // those that were written before it stopped to read
			t.Errorf("the slow browser got %d old states", missed)
		}
		if _, err := io.ReadAll(dead.reader); err == nil {
			t.Error("the dead browser was not disconnected")
		}
		if n := len(s.streams); n != 2 {
			t.Errorf("%d connections are left", n)
		}
	})
}

// Any number of browsers costs one detail every two seconds, one encoding a second, and nothing when
// nobody looks.
func TestEverythingIsComputedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, Config{})
		var details atomic.Int64
		s.SetDetail(func(context.Context) (*run.Detail, error) {
			details.Add(1)
			return &run.Detail{At: time.Now()}, nil
		})
		s.Update(snapshot(1))
		time.Sleep(time.Minute)
		if n := details.Load(); n != 0 {
			t.Errorf("%d details were made for nobody", n)
		}
		const browsers = 40
		var listeners []*listener
		for range browsers {
			l := s.listen()
			go func() { _, _ = io.Copy(io.Discard, l.reader) }() // ends with the connection
			listeners = append(listeners, l)
		}
		const span = 20 * time.Second
		latest := func() *body {
			s.encoding.Lock()
			defer s.encoding.Unlock()
			return s.bodies[""]
		}
		encodings, last := 0, latest()
		for end := time.Now().Add(span); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
			s.get(apiRoot + "/workers")
			if f := latest(); f != last {
				encodings, last = encodings+1, f
			}
		}
		if n := details.Load(); n < 8 || n > 13 {
			t.Errorf("%d details in %v", n, span)
		}
		if encodings < 18 || encodings > 22 {
			t.Errorf("%d encodings in %v", encodings, span)
		}
		for _, l := range listeners {
			_ = l.body.Close() // it is of no more use
		}
		synctest.Wait()
		before := details.Load()
		time.Sleep(time.Minute)
		if n := details.Load() - before; n > 1 {
			t.Errorf("%d details were made after the last browser had left", n)
		}
	})
}

// A page that closes sends the last state to those who read, even if a browser reads nothing, within a
// second. Without browsers it closes at once.
func TestLastStateIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		idle := serve(t, Config{})
		idle.Update(snapshot(1))
		idle.stop()
		if took := time.Since(begun); took > 0 {
			t.Errorf("it took %v to close a page that nobody looks at", took)
		}
		for _, state := range []run.State{run.Complete, run.Stopped} {
			s := serve(t, Config{})
			s.Update(snapshot(1))
			l, dead := s.listen(), s.listen()
			l.await(t, "run")
			time.Sleep(300 * time.Millisecond)
			last := complete()
			if state == run.Stopped {
				last = snapshot(4)
				last.State = run.Stopped
			}
			s.Update(last)
			s.SetStatus("it is over")
			read := make(chan []sent, 1)
			go func() {
				var events []sent
				for e, err := l.next(); err == nil || errors.Is(err, errComment); e, err = l.next() {
					if err == nil {
						events = append(events, e)
					}
				}
				read <- events
			}()
			before := time.Now()
			s.stop()
			if took := time.Since(before); took > time.Second {
				t.Errorf("%s: it took %v to close", state, took)
			}
			events := <-read
			if len(events) == 0 {
				t.Fatalf("%s: no events", state)
			}
			names := ""
			for _, e := range events {
				names += e.name + " "
			}
			if !strings.Contains(events[0].data, `"state":"`+string(state)+`"`) || !strings.Contains(events[0].data, "it is over") ||
				strings.Contains(names, "end") != (state == run.Complete) {
				t.Errorf("%s: the events are %v", state, events)
			}
			_ = dead.body.Close() // it is of no more use
		}
	})
}

// More browsers than the bound are refused, and take no place from those that are connected.
func TestTooManyBrowsers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, Config{})
		s.Update(snapshot(1))
		first := s.listen()
		for range maxStreams - 1 {
			l := s.listen()
			go func() { _, _ = io.Copy(io.Discard, l.reader) }() // ends with the connection
		}
		if response, text := s.get(apiRoot + "/events"); response.StatusCode != http.StatusServiceUnavailable || !strings.Contains(text, errTooBusy.Error()) {
			t.Errorf("one more: %s %s", response.Status, text)
		}
		if got := s.object(apiRoot); got["run"] != ownRun {
			t.Errorf("another request: %v", got)
		}
		first.await(t, "run")
		_ = first.body.Close() // it is of no more use
		synctest.Wait()
		s.listen().await(t, "run")
	})
}
