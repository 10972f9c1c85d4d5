//go:build unix

package main_test

import (
	"fmt"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"
)

// Of two coordinators on one machine, the second learns who has the run, and leaves.
func TestSecondCoordinatorHere(t *testing.T) {
	t.Parallel()
	s := startScene(t, "12", "--depth", "2")
	data := s.coordinator.Flag("--data")
	for _, args := range [][]string{{"resume", s.run}, {"resume"}, {"count", "12", "--depth", "2"}} {
		second := start(t, "coordinator", append(args, "--data", data, "--nats", s.server.url)...)
		if out := second.ExpectExit(1); out != "" {
			t.Errorf("%q printed %q", args, out)
		}
		if second.Lines(fmt.Sprintf("in use.* by process %d on", s.coordinator.Cmd.Process.Pid)) != 1 {
			t.Errorf("%q did not say who has the run", args)
		}
	}
	startWorker(t, s.server.url)
	s.coordinator.ExpectTotal(known(12))
}

// Of two coordinators on two machines, the newer has the run. The other says so, leaves
// with exit 4, and takes nothing away.
func TestSecondCoordinatorElsewhere(t *testing.T) {
	t.Parallel()
	s := startScene(t, "15", "--depth", "3")
	worker := startWorker(t, s.server.url)
	s.progress(100)
	worker.Signal(syscall.SIGSTOP)
	first := s.coordinator
	s.coordinator = start(t, "coordinator", "resume", s.run, "--take-over", "--data", t.TempDir(), "--nats", s.server.url)
	s.coordinator.Await(`("reconciled)`)
	if out := first.ExpectExit(4); out != "" {
		t.Errorf("the first printed %q", out)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	if first.Lines(`"exit":4,.*another coordinator has taken it over: run `+s.run+` is that of `+host+`, process \d+, epoch 2 after 1`) != 1 {
		t.Error("the first did not say to whom it lost the run")
	}
	s.view.eventually("the tasks of the second are there", func() bool { waiting, _ := s.view.tasks(); return waiting >= 32 })
	worker.Signal(syscall.SIGCONT)
	s.coordinator.ExpectTotal(known(15))
	s.leftNothing()
}

// Several runs share a server and a worker: none waits until another is done, and one
// that is cancelled disturbs no other.
func TestRunsShareAWorker(t *testing.T) {
	t.Parallel()
	long := startScene(t, "16", "--depth", "3")
	share := func(count ...string) *scene {
		other := *long
		other.count(count...)
		return &other
	}
	cancelled := share("16", "--depth", "3")
	startWorker(t, long.server.url)
	long.progress(20)
	cancelled.progress(20)
	for _, n := range []int{12, 14} {
		share(fmt.Sprint(n), "--depth", "2").coordinator.ExpectTotal(known(n))
	}
	before := long.done()
	cancelled.progress(1) // it is at work still
	start(t, "coordinator", "cancel", cancelled.run, "--data", t.TempDir(), "--nats", long.server.url).ExpectExit(0)
	cancelled.coordinator.ExpectExit(1)
	if cancelled.coordinator.Lines(`"exit":1,.*was cancelled`) != 1 {
		t.Error("the coordinator of the cancelled run did not say why it ended")
	}
	if n := long.view.messages("NQ_TASKS", "nq.task."+cancelled.run); n != 0 {
		t.Errorf("%d tasks of the cancelled run stay", n)
	}
	const held = 2 // by the worker: it may have counted them since
	if n := cancelled.done(); n > held {
		t.Errorf("%d results of the cancelled run stay", n)
	}
	if n := long.view.messages("KV_nq_runs", "$KV.nq_runs."+cancelled.run); n != 0 {
		t.Error("the record of the cancelled run stays")
	}
	if n := long.done(); n < before {
		t.Errorf("the other run has %d results, and had %d", n, before)
	}
	startWorker(t, long.server.url, "--kernel", "auto")
	long.coordinator.ExpectTotal(known(16))
}

// A run that is complete leaves nothing on the server: no message, no record, and no
// consumer but that of the workers.
func TestCompleteRunLeavesNothing(t *testing.T) {
	t.Parallel()
	s := startScene(t, "12", "--depth", "2")
	worker := startWorker(t, s.server.url)
	s.coordinator.ExpectTotal(known(12))
	worker.Signal(syscall.SIGTERM)
	worker.ExpectExit(0)
	s.leftNothing()
}

// leftNothing checks that nothing of any run is on the server.
func (s *scene) leftNothing() {
	s.t.Helper()
	consumers := map[string][]string{"NQ_TASKS": {"workers"}}
	for stream := range s.view.js.ListStreams(s.t.Context()).Info() {
		if stream.State.Msgs != 0 {
			s.t.Errorf("%d messages stay in stream %s", stream.State.Msgs, stream.Config.Name)
		}
		handle, err := s.view.js.Stream(s.t.Context(), stream.Config.Name)
		if err != nil {
			s.t.Fatal(err)
		}
		var names []string
		for name := range handle.ConsumerNames(s.t.Context()).Name() {
			names = append(names, name)
		}
		if !slices.Equal(names, consumers[stream.Config.Name]) {
			s.t.Errorf("the consumers %q stay with stream %s", names, stream.Config.Name)
		}
	}
}

// A second signal ends a coordinator at once that waits for a server, and what it had
// is there to go on with.
func TestSecondSignalToCoordinator(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			s := startScene(t, "14", "--depth", "3")
			worker := startWorker(t, s.server.url)
			s.progress(20)
			worker.Kill()
			s.server.Signal(syscall.SIGSTOP) // so that the coordinator can't clean up
			s.coordinator.Signal(signal)
			s.coordinator.Await(`("run ended")`)
			told := time.Now()
			s.coordinator.Signal(signal)
			s.coordinator.ExpectExit(128 + int(signal))
			if waited := time.Since(told); waited > time.Second {
				t.Errorf("it ended %v after the second signal", waited)
			}
			s.server.Signal(syscall.SIGCONT)
			s.resume()
			startWorker(t, s.server.url)
			s.coordinator.ExpectTotal(known(14))
		})
	}
}
