//go:build unix

package main_test

import (
	"regexp"
	"syscall"
	"testing"

	"nqueens/pkg/testkit"
)

// Several runs share a server and a worker: none waits until another is done, and the end
// of a cancelled run disturbs no other.
func TestRunsShareAWorker(t *testing.T) {
	long(t)
	cancelled := startScene(t, "14", "--depth", "3")
	share := func(count ...string) *scene {
		other := *cancelled
		other.count(count...)
		return &other
	}
	beside := share("14", "--depth", "3")
	work := startGated(t, beside.server.url, 1)
	work.during(func() {
		beside.progress(20)
		cancelled.progress(20)
		share("10", "--depth", "2").coordinator.ExpectTotal(known(10))
	})
	beside.expectSharing("1 worker", cancelled.run, "--data", beside.coordinator.Flag("--data"))
	beside.expectSharing("1 worker", cancelled.run, "--data", t.TempDir(), "--nats", beside.server.url)
	start(t, "coordinator", "cancel", cancelled.run, "--data", t.TempDir(), "--nats", beside.server.url).ExpectExit(0)
	cancelled.coordinator.ExpectExit(1)
	if cancelled.coordinator.Lines(`"exit":1,.*was cancelled`) != 1 {
		t.Error("the coordinator of the cancelled run did not log why it ended")
	}
	if n := beside.view.messages("NQ_TASKS", "nq.task."+cancelled.run); n != 0 {
		t.Errorf("%d tasks of the cancelled run remain", n)
	}
	const held = 2 // chunks by the worker, which may have counted them since
	if n := beside.view.messages("NQ_RESULTS", "nq.result."+cancelled.run); n > held {
		t.Errorf("%d results of the cancelled run remain", n)
	}
	if n := beside.view.messages("KV_nq_runs", "$KV.nq_runs."+cancelled.run); n != 0 {
		t.Error("the record of the cancelled run remains")
	}
	work.open()
	beside.coordinator.ExpectTotal(known(14))
}

// expectSharing waits until runs says, below the run of the scene, that it shares these workers with
// another run.
func (s *scene) expectSharing(workers, other string, args ...string) {
	s.t.Helper()
	line := regexp.MustCompile("(?m)^" + s.run + " .*\n(?:  .*\n)*  sharing " + workers + " with " + other + "$")
	s.view.eventually("runs says who shares the workers", func() bool {
		return line.MatchString(start(s.t, "coordinator", append([]string{"runs"}, args...)...).ExpectExit(0))
	})
}

// A complete run leaves nothing on the server: no message, no record and no consumer.
func TestCompleteRunLeavesNothing(t *testing.T) {
	t.Parallel()
	s := startScene(t, "12", "--depth", "2")
	worker := startWorker(t, s.server.url)
	s.coordinator.ExpectTotal(known(12))
	worker.Signal(syscall.SIGTERM)
	worker.ExpectExit(0)
	s.leftNothing()
}

// leftNothing checks that nothing of any run remains on the server.
func (s *scene) leftNothing() {
	s.t.Helper()
	for stream := range s.view.js.ListStreams(s.t.Context()).Info() {
		// A worker's acknowledgement of the last task may come after the total.
		s.view.eventually("stream "+stream.Config.Name+" is empty", func() bool { return s.view.messages(stream.Config.Name, ">") == 0 })
		s.view.noConsumers(stream.Config.Name)
	}
}

// noConsumers waits until a stream has no consumers. A busy server may not have removed that of a reader of
// results in time; then it removes it half a minute later.
func (v view) noConsumers(stream string) {
	v.t.Helper()
	handle, err := v.js.Stream(v.t.Context(), stream)
	if err != nil {
		v.t.Fatal(err)
	}
	v.eventually("stream "+stream+" has no consumers", func() bool {
		for range handle.ConsumerNames(v.t.Context()).Name() {
			return false
		}
		return true
	})
}

// A worker in the middle of tasks that nobody needs any more soon counts for another run: after
// their coordinator was stopped, or killed, or the run was cancelled by another process.
func TestWorkersDropObsoleteTasks(t *testing.T) {
	long(t)
	for _, c := range testkit.Sample(t, 1, []struct {
		name string
		end  func(s *scene)
		// resumable is set if the run can continue after that.
		resumable bool
	}{
		{"stopped", (*scene).stop, true},
		{"killed", func(s *scene) { s.coordinator.Kill() }, true},
		{"cancelled", func(s *scene) {
			start(s.t, "coordinator", "cancel", s.run, "--data", s.t.TempDir(), "--nats", s.server.url).ExpectExit(0)
			s.coordinator.ExpectExit(1)
		}, false},
	}) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := startScene(t, "22", "--depth", "1") // tasks of hours
			worker := startWorker(t, s.server.url)
			s.view.eventually("the worker holds two tasks", func() bool { _, held := s.view.tasks(); return held == 2 })
			c.end(s)
			other := *s
			other.count("13")
			other.coordinator.ExpectTotal(known(13))
			if c.resumable {
				s.resume()
				s.view.eventually("the worker holds tasks of the run again", func() bool { _, held := s.view.tasks(); return held > 0 })
				s.stop()
			}
			worker.Signal(syscall.SIGTERM)
			worker.ExpectExit(0)
			if waiting, held := s.view.tasks(); waiting != -1 {
				t.Errorf("%d chunks wait and %d are held after the end of all runs", waiting, held)
			}
		})
	}
}

// stop stops the active coordinator by a signal.
func (s *scene) stop() {
	s.t.Helper()
	s.coordinator.Signal(syscall.SIGINT)
	s.coordinator.ExpectExit(128 + int(syscall.SIGINT))
}
