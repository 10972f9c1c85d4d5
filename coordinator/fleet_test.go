//go:build unix

package main_test

import (
	"syscall"
	"testing"

	"nqueens/pkg/testkit"
)

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
