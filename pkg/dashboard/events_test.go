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

// A new connection gets the run at once, with the times of the lists, and then the latest snapshot
// every second, the times of the lists every two seconds, and at the end the last state, and the end.
func TestEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, Config{}, nil)
		own := s.Open(ownRun, nil)
		own.Update(snapshot(1))
		l := s.listen(ownRun)
		if got := l.await(t, "run"); got["done"] != 1.0 || got["source"] != "coordinator" {
			t.Errorf("at first: %v", got)
		}
		l.await(t, "workers")
		l.await(t, "classes")
		own.Update(snapshot(2))
		begun := time.Now()
		for i := range 10 {
			own.Update(snapshot(3))
			if got := l.await(t, "run"); got["done"] != 3.0 {
				t.Errorf("event %d: %v", i, got)
			}
		}
		if took := time.Since(begun); took < 9*time.Second || took > 11*time.Second {
			t.Errorf("ten events came in %v", took)
		}
		own.Update(complete())
		if got := l.await(t, "run"); got["total"] != "92" || got["known"] != "match" || got["confirmed"] != "published" {
			t.Errorf("in the end: %v", got)
		}
		l.await(t, "end")
		if e, err := l.next(); !errors.Is(err, io.EOF) {
			t.Errorf("after the end: %v, error %v", e, err)
		}
		late := s.listen(ownRun)
		if got := late.await(t, "run"); got["state"] != "complete" {
			t.Errorf("a late connection gets %v", got)
		}
		late.await(t, "end")
	})
}

// Of a run of which nothing is known yet, a connection gets comments until there is a snapshot.
func TestEventsBeforeTheFirstSnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, Config{}, nil)
		own := s.Open(ownRun, nil)
		l := s.listen(ownRun)
		for range 3 {
			if e, err := l.next(); !errors.Is(err, errComment) {
				t.Fatalf("event %v, error %v", e, err)
			}
		}
		own.Update(snapshot(1))
		l.await(t, "run")
		l.await(t, "classes")
	})
}

// A browser that reads nothing delays neither updates nor another browser, and is disconnected after
// ten seconds. One that reads slowly gets the latest state, not those that it has missed.
func TestSlowBrowsers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, Config{}, nil)
		own := s.Open(ownRun, nil)
		own.Update(snapshot(1))
		dead, slow, quick := s.listen(ownRun), s.listen(ownRun), s.listen(ownRun)
		for range 10 {
			slow.await(t, "classes")
			quick.await(t, "classes")
			time.Sleep(2 * time.Second)
		}
		for i := range 6 {
			own.Update(snapshot(uint64(i)))
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
		s := serve(t, Config{}, nil)
		var details atomic.Int64
		own := s.Open(ownRun, func(context.Context) (*run.Detail, error) {
			details.Add(1)
			return &run.Detail{At: time.Now()}, nil
		})
		own.Update(snapshot(1))
		time.Sleep(time.Minute)
		if n := details.Load(); n != 0 {
			t.Errorf("%d details were made for nobody", n)
		}
		const browsers = 40
		var listeners []*listener
		for range browsers {
			l := s.listen(ownRun)
			go func() { _, _ = io.Copy(io.Discard, l.reader) }() // ends with the connection
			listeners = append(listeners, l)
		}
		const span = 20 * time.Second
		frames, last := 0, own.lastFrame()
		for end := time.Now().Add(span); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
			s.get(apiRoot + "runs/" + ownRun + "/workers")
			if f := own.lastFrame(); f != last {
				frames, last = frames+1, f
			}
		}
		if n := details.Load(); n < 8 || n > 13 {
			t.Errorf("%d details in %v", n, span)
		}
		if frames < 18 || frames > 22 {
			t.Errorf("%d frames in %v", frames, span)
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
		idle := serve(t, Config{}, nil)
		idle.Open(ownRun, nil).Update(snapshot(1))
		idle.stop()
		if took := time.Since(begun); took > 0 {
			t.Errorf("it took %v to close a page that nobody looks at", took)
		}
		for _, state := range []run.State{run.Complete, run.Stopped} {
			s := serve(t, Config{}, nil)
			own := s.Open(ownRun, nil)
			own.Update(snapshot(1))
			l, dead := s.listen(ownRun), s.listen(ownRun)
			l.await(t, "classes")
			time.Sleep(300 * time.Millisecond)
			last := complete()
			if state == run.Stopped {
				last = snapshot(4)
				last.State = run.Stopped
			}
			own.Update(last)
			own.SetStatus("it is over")
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
		s := serve(t, Config{}, nil)
		s.Open(ownRun, nil).Update(snapshot(1))
		first := s.listen(ownRun)
		for range maxStreams - 1 {
			l := s.listen(ownRun)
			go func() { _, _ = io.Copy(io.Discard, l.reader) }() // ends with the connection
		}
		if response, text := s.get(apiRoot + "runs/" + ownRun + "/events"); response.StatusCode != http.StatusServiceUnavailable || !strings.Contains(text, errTooBusy.Error()) {
			t.Errorf("one more: %s %s", response.Status, text)
		}
		if got := s.object(apiRoot + "runs/" + ownRun); got["run"] != ownRun {
			t.Errorf("another request: %v", got)
		}
		first.await(t, "run")
		_ = first.body.Close() // it is of no more use
		synctest.Wait()
		s.listen(ownRun).await(t, "run")
	})
}

// Other runs of the server are followed while somebody looks at them, and a while after, each once, and
// not more than the bound.
func TestOtherRunsAreFollowedWhileSomebodyLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &fakeServer{}
		for i := range maxRuns + 1 {
			server.names = append(server.names, "n9-"+string(rune('a'+i)))
		}
		s := serve(t, Config{}, server)
		s.Open(ownRun, nil).Update(snapshot(1))
		if response, _ := s.get(apiRoot + "runs/n9-unknown"); response.StatusCode != http.StatusNotFound || server.follows() != 0 {
			t.Errorf("an unknown run: %s, and %d are followed", response.Status, server.follows())
		}
		one, two := s.listen("n9-a"), s.listen("n9-a")
		if got := one.await(t, "run"); got["run"] != "n9-a" || got["source"] != "watch" || got["done"] != 3.0 {
			t.Errorf("another run: %v", got)
		}
		_ = two.body.Close() // it is of no more use
		for range 60 {
			one.await(t, "run")
		}
		if server.follows() != 1 {
			t.Errorf("%d runs are followed", server.follows())
		}
		_ = one.body.Close() // it is of no more use
		time.Sleep(linger + 2*frameInterval)
		if server.follows() != 0 {
			t.Errorf("%d runs are followed for nobody", server.follows())
		}
		for i, name := range server.names {
			response, text := s.get(apiRoot + "runs/" + name + "/history")
			if want := i < maxRuns; (response.StatusCode == http.StatusOK) != want || !want && !strings.Contains(text, errTooMany.Error()) {
				t.Errorf("run %d: %s %s", i, response.Status, text)
			}
		}
		if n := server.follows(); n != maxRuns {
			t.Errorf("%d runs are followed", n)
		}
		s.stop()
		if n := server.follows(); n != 0 {
			t.Errorf("%d runs are followed after the page", n)
		}
		if server.asked > 20 {
			t.Errorf("the server was asked %d times for its runs", server.asked)
		}
	})
}

// If following a run fails, connections and requests learn why at once, also where nothing is known of the run.
// A later request has the run followed anew.
func TestFollowingFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &fakeServer{names: []string{"n9-a"}, failures: make(chan error)}
		s := serve(t, Config{}, server)
		l := s.listen("n9-a")
		if got := l.await(t, "run"); got["status"] != nil {
			t.Errorf("while the run is followed: %v", got)
		}
		l.await(t, "classes")
		time.Sleep(frameInterval / 2)
		if got := s.object(apiRoot + "runs/n9-a"); got["status"] != nil {
			t.Errorf("while the run is followed: %v", got)
		}
		before, want := time.Now(), "following the run has ended: its record is gone"
		server.failures <- errors.New("its record is gone")
		if got := l.await(t, "run"); got["status"] != want || got["done"] != 3.0 || time.Since(before) > 0 {
			t.Errorf("after %v: %v", time.Since(before), got)
		}
		if got := s.object(apiRoot + "runs/n9-a"); got["status"] != want {
			t.Errorf("to a request: %v", got)
		}
		go func() { _, _ = io.Copy(io.Discard, l.reader) }() // ends with the connection
		time.Sleep(linger)
		if got := s.object(apiRoot + "runs/n9-a"); got["status"] != want || server.follows() != 0 {
			t.Errorf("after %v: %v, and %d runs are followed", linger, got, server.follows())
		}
		time.Sleep(time.Second)
		if got := s.listen("n9-a").await(t, "run"); got["status"] != nil || server.follows() != 1 {
			t.Errorf("followed anew: %v, and %d runs are followed", got, server.follows())
		}
		if n := len(s.streams); n != 1 {
			t.Errorf("%d connections are left", n)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		server := &fakeServer{names: []string{"n9-a"}, failures: make(chan error), silent: true}
		s := serve(t, Config{}, server)
		l := s.listen("n9-a")
		if response, text := s.get(apiRoot + "runs/n9-a"); response.StatusCode != http.StatusServiceUnavailable || !strings.Contains(text, errUnknown.Error()) {
			t.Errorf("at first: %s %s", response.Status, text)
		}
		before := time.Now()
		server.failures <- errors.New("there is no such run")
		e, err := l.next()
		for errors.Is(err, errComment) {
			e, err = l.next()
		}
		if !errors.Is(err, io.EOF) || time.Since(before) > 0 {
			t.Errorf("after %v: %v, error %v", time.Since(before), e, err)
		}
		if response, text := s.get(apiRoot + "runs/n9-a"); response.StatusCode != http.StatusServiceUnavailable || !strings.Contains(text, "has ended: there is no such run") {
			t.Errorf("after that: %s %s", response.Status, text)
		}
	})
	synctest.Test(t, func(t *testing.T) { // a run whose end is known stays
		server := &fakeServer{names: []string{"n9-a"}, failures: make(chan error)}
		s := serve(t, Config{}, server)
		s.listen("n9-a").await(t, "run")
		last := snapshot(4)
		last.State = run.Contradicted
		s.lookKnown("n9-a").Update(last)
		server.failures <- errors.New("the counts contradict each other")
		time.Sleep(2 * linger)
		if got := s.object(apiRoot + "runs/n9-a"); got["state"] != "contradicted" || got["status"] == nil || server.follows() != 0 {
			t.Errorf("after its end: %v, and %d runs are followed", got, server.follows())
		}
	})
}

// TestOwnRunReplacesAFollowedOne: a browser that reconnects to a process that just starts may ask for its
// run before the process has it.
func TestOwnRunReplacesAFollowedOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &fakeServer{names: []string{ownRun}}
		s := serve(t, Config{}, server)
		early := s.listen(ownRun)
		if got := early.await(t, "run"); got["source"] != "watch" {
			t.Errorf("before the process has the run: %v", got)
		}
		s.Open(ownRun, nil).Update(snapshot(1))
		for {
			if e, err := early.next(); e.name == "end" {
				t.Error("the run has ended")
			} else if err != nil && !errors.Is(err, errComment) {
				break // the browser connects again
			}
		}
		synctest.Wait() // until following it has ended
		if n := server.follows(); n != 0 {
			t.Errorf("%d runs are followed", n)
		}
		if got := s.listen(ownRun).await(t, "run"); got["source"] != "coordinator" {
			t.Errorf("after that: %v", got)
		}
		s.stop() // does not wait for the one before
	})
}
